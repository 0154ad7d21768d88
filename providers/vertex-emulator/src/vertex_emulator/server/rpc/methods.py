"""Google's methods over HTTP: routes from HTTP rules, messages from JSON and back, and Google's errors.

A service binds a method's full name to a function from the request message to the response message. A method
without a function answers UNIMPLEMENTED with its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias
from urllib.parse import unquote

from google.protobuf import json_format

from vertex_emulator.server.http.messages import (
    ANY_METHOD,
    NOT_SUPPORTED,
    HttpError,
    Request,
    Response,
    Route,
    json_response,
    not_supported,
)
from vertex_emulator.server.rpc import descriptors, payload
from vertex_emulator.server.rpc.descriptors import DynamicMessage, HttpRule, Method
from vertex_emulator.server.rpc.refusals import refusal

HTTP_STATUS: Mapping[str, int] = {
    "CANCELLED": 499,
    "UNKNOWN": 500,
    "INVALID_ARGUMENT": 400,
    "DEADLINE_EXCEEDED": 504,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "PERMISSION_DENIED": 403,
    "RESOURCE_EXHAUSTED": 429,
    "FAILED_PRECONDITION": 400,
    "ABORTED": 409,
    "OUT_OF_RANGE": 400,
    "UNIMPLEMENTED": NOT_SUPPORTED,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "UNAUTHENTICATED": 401,
}
"""The HTTP status of each canonical code (google.rpc.Code)."""

_SYSTEM_PARAMETERS = frozenset(
    {
        "alt",
        "access_token",
        "callback",
        "fields",
        "key",
        "oauth_token",
        "prettyPrint",
        "quotaUser",
        "uploadType",
        "upload_protocol",
    }
)
_VARIABLE = re.compile(r"\{([^=}]+)(?:=([^}]*))?\}")
_SEGMENT = r"[^/]+"
_LAST_SEGMENT = r"(?:[^/:]|:(?![A-Za-z]+$))+"
"""The last segment of a path that ends in an identifier, such as `sha256:12ab`, but not in a verb, such as
`repository:setIamPolicy`.
"""
_SLASH = re.compile("%2f", re.IGNORECASE)
_LOCATION = "projects/*/locations/*"
VERTEX_RESOURCES = (  # service, message, collection
    ("JobService", "CustomJob", "customJobs"),
    ("JobService", "HyperparameterTuningJob", "hyperparameterTuningJobs"),
    ("PipelineService", "TrainingPipeline", "trainingPipelines"),
    ("PersistentResourceService", "PersistentResource", "persistentResources"),
    ("ModelService", "Model", "models"),
    ("DatasetService", "Dataset", "datasets"),
    ("TensorboardService", "Tensorboard", "tensorboards"),
    ("MetadataService", "MetadataStore", "metadataStores"),
    ("EndpointService", "Endpoint", "endpoints"),
    ("NotebookService", "NotebookRuntimeTemplate", "notebookRuntimeTemplates"),
)
"""Vertex AI's resources of a location: each has operations, and permissions named by its collection."""
_OPERATIONS_OF = (_LOCATION, *(f"{_LOCATION}/{collection}/*" for _, _, collection in VERTEX_RESOURCES))
OPERATION_RULES: Mapping[str, tuple[HttpRule, ...]] = {
    "GetOperation": tuple(
        HttpRule(verb="GET", uri=f"/v1/{{name={at}/operations/*}}") for at in _OPERATIONS_OF
    ),
    "DeleteOperation": tuple(
        HttpRule(verb="DELETE", uri=f"/v1/{{name={at}/operations/*}}") for at in _OPERATIONS_OF
    ),
    "CancelOperation": tuple(
        HttpRule(verb="POST", uri=f"/v1/{{name={at}/operations/*}}:cancel") for at in _OPERATIONS_OF
    ),
    "WaitOperation": tuple(
        HttpRule(verb="POST", uri=f"/v1/{{name={at}/operations/*}}:wait") for at in _OPERATIONS_OF
    ),
    "ListOperations": tuple(
        HttpRule(verb="GET", uri=f"/v1/{{name={at}}}/operations") for at in _OPERATIONS_OF
    ),
}
"""Vertex AI's HTTP rules for operations, which are in its configuration rather than in its messages.

Methods of generated clients call operations below /ui, and their futures below /v1. Artifact Registry's
rules, which are for a location only, are a part of these.
"""
LOCATION_RULES: Mapping[str, tuple[HttpRule, ...]] = {
    "ListLocations": tuple(
        HttpRule(verb="GET", uri=f"/{version}/{{name=projects/*}}/locations") for version in ("v1", "v1beta2")
    ),
    "GetLocation": tuple(
        HttpRule(verb="GET", uri=f"/{version}/{{name={_LOCATION}}}") for version in ("v1", "v1beta2")
    ),
}
"""Artifact Registry's HTTP rules for locations; gcloud lists locations with the older version."""
_BETA = "v1beta1"
_WITH_BETA = (f"{descriptors.VERTEX_AI}.", f"{descriptors.OPERATIONS}.")
"""The services that also answer under the beta version, with the messages of v1."""
_RULES = {
    **{f"{descriptors.OPERATIONS}.{name}": rules for name, rules in OPERATION_RULES.items()},
    **{f"{descriptors.LOCATIONS}.{name}": rules for name, rules in LOCATION_RULES.items()},
}


@dataclass(frozen=True)
class WithHeaders:
    """A binding that also gets the request's headers."""

    call: Callable[[DynamicMessage, Mapping[str, str]], DynamicMessage]


@dataclass(frozen=True)
class Streaming:
    """The binding of a method with streams, which exists over gRPC only.

    `call` gets the first request, and returns the responses. A response of None means that nothing is
    new, and that the server asks again a little later.
    """

    call: Callable[[DynamicMessage], Iterator[DynamicMessage | None]]


Unary: TypeAlias = Callable[[DynamicMessage], DynamicMessage]

Binding: TypeAlias = Unary | WithHeaders

GrpcBinding: TypeAlias = Binding | Streaming


@dataclass(frozen=True)
class Violation:
    """One invalid field of a request (google.rpc.BadRequest.FieldViolation)."""

    field: str
    description: str


class RpcError(Exception):
    """The error of a call: the name of a canonical code, a message, and the invalid fields."""

    def __init__(self, code: str, message: str, violations: Sequence[Violation] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.violations = tuple(violations)

    def renamed(self, rename: Callable[[str], str]) -> RpcError:
        """Return the error with other names of fields, in its message too."""
        violations = [Violation(rename(each.field), rename(each.description)) for each in self.violations]
        return RpcError(self.code, rename(self.message), violations)

    def http_error(self) -> HttpError:
        """Return the error as an HTTP response."""
        details: tuple[Mapping[str, Any], ...] = ()
        if self.violations:
            fields = [{"field": each.field, "description": each.description} for each in self.violations]
            details = ({"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": fields},)
        return HttpError(HTTP_STATUS[self.code], self.code, self.message, details=details)


def invalid_fields(violations: Sequence[Violation]) -> RpcError:
    """Return the error for requests with invalid fields, in the service's format."""
    listed = "".join(
        f"{number}.Field: {each.field}; Message: {each.description}\t"
        for number, each in enumerate(violations, start=1)
    )
    return RpcError("INVALID_ARGUMENT", f"List of found errors:\t{listed}", violations)


def routes(services: Sequence[str], bindings: Mapping[str, Binding]) -> list[Route]:
    """Return the routes of all methods of the services. A method without a binding answers UNIMPLEMENTED.

    Raises `ValueError` for a binding of an unknown method.
    """
    return routes_of([method for service in services for method in _methods(service)], bindings)


def routes_of(methods: Sequence[Method], bindings: Mapping[str, Binding]) -> list[Route]:
    """Return the routes of methods, as `routes` does."""
    if unknown := sorted(set(bindings) - {method.name for method in methods}):
        raise ValueError(f"unknown methods: {', '.join(unknown)}")
    found: list[Route] = []
    for method in methods:
        binding = bindings.get(method.name)
        for rule in method.rules:
            pattern, names = _compiled(rule.uri)
            if method.name.startswith(_WITH_BETA):
                versions = (
                    f"v1|{_BETA}|ui"
                    if method.name.startswith(f"{descriptors.OPERATIONS}.")
                    else f"v1|{_BETA}"
                )
                pattern = f"/(?:{versions})/{pattern.removeprefix('/v1/')}"
            call = ".".join(method.name.split(".")[-2:])
            found.append(Route(rule.verb, pattern, _handler(method, rule, names, binding), call))
    return found


def unknown_methods() -> list[Route]:
    """Return the routes that answer UNIMPLEMENTED to all other paths. They must come after all services."""
    return [Route(ANY_METHOD, r"/(?:v1|v1beta1|v1beta2|ui)/.*", _no_method)]


def _methods(service: str) -> Iterable[Method]:
    for method in descriptors.methods(service):
        rules = _RULES.get(method.name, method.rules)
        yield Method(name=method.name, request=method.request, rules=rules)


@cache  # several emulators may run in one process, as in a suite of tests
def _compiled(uri: str) -> tuple[str, tuple[str, ...]]:
    """Compile a path template to a regular expression for the raw path, with the field of each group."""
    pattern, position, names = "", 0, []
    for variable in _VARIABLE.finditer(uri):
        segments = [_segment(each) for each in (variable.group(2) or "*").split("/")]
        if variable.end() == len(uri) and segments[-1] == _SEGMENT:
            segments[-1] = _LAST_SEGMENT
        pattern += f"{re.escape(uri[position : variable.start()])}({'/'.join(segments)})"
        names.append(variable.group(1))
        position = variable.end()
    return pattern + re.escape(uri[position:]), tuple(names)


def _segment(text: str) -> str:
    return {"*": _SEGMENT, "**": ".+"}.get(text) or re.escape(text)


def _handler(
    method: Method, rule: HttpRule, names: Sequence[str], binding: Binding | None
) -> Callable[[Request, re.Match[str]], Response]:
    def handle(request: Request, match: re.Match[str]) -> Response:
        if binding is None:
            raise not_supported(refusal(method.name))
        try:
            message = _message(method, rule, request, dict(zip(names, match.groups(), strict=True)))
            if isinstance(binding, WithHeaders):
                answer = binding.call(message, request.headers)
            else:
                answer = binding(message)
        except payload.PayloadError as error:
            violations = [Violation(field, text) for field, text in error.problems]
            text = "\n".join(violation.description for violation in violations)
            raise RpcError("INVALID_ARGUMENT", text, violations).http_error() from None
        except RpcError as error:
            raise error.http_error() from error
        document = json_format.MessageToDict(
            answer, use_integers_for_enums=_wants_numbers(request), descriptor_pool=descriptors.pool()
        )
        return json_response(_as_beta(document) if request.path.startswith(f"/{_BETA}/") else document)

    return handle


def _as_beta(value: object) -> Any:
    """Return the response with the beta version's type names, in operations; the fields are the same."""
    if isinstance(value, dict):
        return {
            name: item.replace(f"{descriptors.VERTEX_AI}.", f"{descriptors.VERTEX_AI}beta1.")
            if name == "@type"
            else _as_beta(item)
            for name, item in value.items()
        }
    return [_as_beta(item) for item in value] if isinstance(value, list) else value


def _message(
    method: Method, rule: HttpRule, request: Request, variables: Mapping[str, str]
) -> DynamicMessage:
    message = descriptors.message_class(method.request)()
    if rule.body == "*":
        payload.read(request.body.json(), message)
    elif rule.body:
        part = getattr(message, rule.body)
        part.SetInParent()
        payload.read(request.body.json(), part, path=rule.body)
    for name, values in request.query.items():
        if not name.startswith("$") and name not in _SYSTEM_PARAMETERS:
            for value in values:
                payload.set_parameter(message, name, value)
    for name, value in variables.items():
        payload.set_parameter(message, name, _decoded(value))
    return message


def _decoded(path: str) -> str:
    """Decode a path variable, except for slashes inside its segments (google.api.HttpRule)."""
    return "%2F".join(unquote(part) for part in _SLASH.split(path))


def _wants_numbers(request: Request) -> bool:
    """Return whether the client wants enums as numbers, as Google's REST clients do."""
    wanted = request.parameter("$alt") or request.parameter("alt") or "json"
    kind, _, options = wanted.partition(";")
    if kind != "json":
        raise HttpError(
            400, "", f"The emulator answers in JSON only, not {wanted!r}. Leave the parameter alt out."
        )
    return "enum-encoding=int" in options


def _no_method(request: Request, _: re.Match[str]) -> Response:
    raise not_supported(refusal(f"{request.method} {unquote(request.path)}"))
