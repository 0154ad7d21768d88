"""Requests of clients, recorded by a real HTTP server on this machine, and normalised.

Two clients spell the same request differently: enums by number or name, 64-bit integers as text,
names in camel or snake case, durations "3600s" or "3600.000s". `Sent.normal` reads a body as the service
does, with the API's own message, and rejects unknown fields.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from google.auth.credentials import AnonymousCredentials
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from pulumi_vertex_training.cloud.endpoint import Endpoint
from support.scripted_service import Answer, Asked, Service

MASKS = ("updateMask", "update_mask", "readMask", "read_mask")
_NOT_SAID = ("$alt", "alt", "$prettyPrint", "prettyPrint")
"""Parameters of the answer's format, which do not belong to the request."""


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A recorded request. Query values are lists; those of a mask are its paths in snake case, sorted."""

    method: str
    path: str
    query: Mapping[str, list[str]] = field(default_factory=dict)
    body: Any = None

    def normal(self, message: type[Any], *, inside: Mapping[str, type[Any]] | None = None) -> Sent:
        """Return the request with its body read as a message of Google's client.

        `inside` names free-form fields (`google.protobuf.Value`), in snake case, that hold a message of
        their own: `{"training_task_inputs": CustomJobSpec}`.
        """
        return Sent(
            method=self.method,
            path=self.path,
            query=self.query,
            body=normal_body(message, self.body, inside=inside),
        )


def normal_body(
    message: type[Any], body: Mapping[str, Any], *, inside: Mapping[str, type[Any]] | None = None
) -> dict[str, Any]:
    """Return a JSON body with the API's names in snake case, enums by name, and without zero values.

    Raises `google.protobuf.json_format.ParseError` for fields that the API's message does not have.
    """
    parsed = json_format.ParseDict(dict(body), message.pb(message()))
    normal: dict[str, Any] = json_format.MessageToDict(parsed, preserving_proto_field_name=True)
    for name, kind in (inside or {}).items():
        if name in normal:
            normal[name] = normal_body(kind, normal[name])
    return normal


class Recorder:
    """A server that records requests and answers a create with the request's body and a name.

    `answer` replaces the answers; use it as a context manager.
    """

    def __init__(self, answer: Callable[[Asked], Answer] | None = None) -> None:
        self._service = Service()
        self._service.script(answer or created)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self._service.close()

    @property
    def url(self) -> str:
        return self._service.url

    def client(self, kind: Callable[..., Any]) -> Any:
        """Return a generated client of Google, which sends its requests to this server."""
        options = {"api_endpoint": self.url}
        return kind(transport="rest", credentials=AnonymousCredentials(), client_options=options)

    @property
    def sent(self) -> list[Sent]:
        """The requests since the last `take`, in order."""
        return [_sent(asked) for asked in self._service.asked]

    def take(self) -> list[Sent]:
        """Return the requests since the last call."""
        taken = self.sent
        self._service.asked.clear()
        return taken

    def one(self) -> Sent:
        """Return the only request since the last call; fail if there is not exactly one."""
        (only,) = self.take()
        return only

    def google(self, *, project: str = "my-project", location: str = "us-central1") -> Endpoint:
        """Return the endpoint of Google Cloud for our gateways, at this address."""
        return Endpoint(
            kind="google",
            project=project,
            location=location,
            url=self.url,
            storage_url=self.url,
            token="the-token",
        )


def created(asked: Asked) -> Answer:
    """Answer a create with its body, a name and a state, a delete with a done operation, others with {}."""
    resource = asked.path.removeprefix("/v1/").removeprefix("/v1beta1/")
    if asked.method == "DELETE":
        parent = "/".join(resource.split("/")[:4])
        empty = {"@type": "type.googleapis.com/google.protobuf.Empty"}
        return Answer(document={"name": f"{parent}/operations/99", "done": True, "response": empty})
    if asked.method != "POST" or not asked.body:
        return Answer(document={})
    state = "PIPELINE_STATE_PENDING" if resource.endswith("/trainingPipelines") else "JOB_STATE_PENDING"
    return Answer(document={**asked.body, "name": f"{resource}/2970106362064797696", "state": state})


def all_fields(message: type[Any], *, leave_out: Collection[str] = ()) -> set[str]:
    """Return the path of each field of a message of the installed client, down to the last one: "a.b.c".

    Maps, messages of `google.protobuf` and `google.rpc`, and a message within one of its own type count as
    one field.
    """
    return set(_fields(message.pb(message()).DESCRIPTOR, "", frozenset(leave_out)))


def fields_in(message: type[Any], body: Mapping[str, Any]) -> set[str]:
    """Return the paths, as in `all_fields`, of the fields that a body sets."""
    return set(_present(message.pb(message()).DESCRIPTOR, normal_body(message, body), ""))


def enum_names(message: type[Any], path: str) -> set[str]:
    """Return the names of an enum's values, without the unspecified one."""
    descriptor = message.pb(message()).DESCRIPTOR
    *parents, last = path.split(".")
    for name in parents:
        descriptor = descriptor.fields_by_name[name].message_type
    return {value.name for value in descriptor.fields_by_name[last].enum_type.values if value.number}


def _sent(asked: Asked) -> Sent:
    query = {name: values for name, values in asked.query.items() if name not in _NOT_SAID}
    for name in MASKS:
        if name in query:
            query[name] = sorted(_snake(path) for text in query[name] for path in text.split(","))
    return Sent(method=asked.method, path=asked.path, query=query, body=asked.body)


def _snake(path: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in path)


def _is_one(field_: FieldDescriptor, around: tuple[Descriptor, ...]) -> bool:
    kind = field_.message_type
    return (
        kind is None
        or kind in around
        or kind.GetOptions().map_entry
        or kind.full_name.startswith(("google.protobuf.", "google.rpc."))
    )


def _fields(
    descriptor: Descriptor, path: str, leave_out: frozenset[str], around: tuple[Descriptor, ...] = ()
) -> Iterator[str]:
    around = (*around, descriptor)
    for field_ in descriptor.fields:
        below = f"{path}{field_.name}"
        if below in leave_out:
            continue
        if _is_one(field_, around):
            yield below
        else:
            yield from _fields(field_.message_type, f"{below}.", leave_out, around)


def _present(
    descriptor: Descriptor, body: Mapping[str, Any], path: str, around: tuple[Descriptor, ...] = ()
) -> Iterator[str]:
    around = (*around, descriptor)
    for name, value in body.items():
        field_ = descriptor.fields_by_name[name]
        if _is_one(field_, around):
            yield f"{path}{name}"
            continue
        for each in value if isinstance(value, list) else [value]:
            yield from _present(field_.message_type, each, f"{path}{name}.", around)
