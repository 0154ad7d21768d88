"""The part of a machine's metadata server that Google's libraries and tools read.

The project is part of the address (see `addresses`). Source of the paths, of the rules for headers, folders
and formats: Compute Engine documentation, "About VM metadata" and "View and query VM metadata". gsutil reads
folders, google-auth and gcloud read single values.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import unquote, urlencode

from vertex_emulator.kernel.projects import project_number
from vertex_emulator.server.http.messages import HttpError, Request, Response, Route

LIFETIME_SECONDS = 3600
"""The lifetime in the response. A token is in fact valid until a start of the emulator renews it."""

_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
_UNIVERSE = "googleapis.com"
_FLAVOR = {"Metadata-Flavor": "Google"}
_MACHINE = "vertex-training-emulator"
_REGION = "us-central1"
_ZONE = f"{_REGION}-a"
_FORMATS = ("json", "text")


@dataclass(frozen=True)
class _Apart:
    """A value that neither the folder's list nor its recursive form has."""

    value: _Value


_Value: TypeAlias = "str | Sequence[str] | Mapping[str, object] | _Apart"
"""Text, a list of lines, a folder, or a value apart. A mapping apart is a JSON document."""


def email(project: str) -> str:
    """Return the email address of the service account that programs run as."""
    return f"{project_number(project)}-compute@developer.gserviceaccount.com"


def metadata_routes(token: str) -> list[Route]:
    """Return the routes; `token` is the access token in the response."""

    def handle(request: Request, match: re.Match[str]) -> Response:
        _check(request)
        return _answer(request, _tree(unquote(match[1]), token), match[2] or "/")

    return [Route("GET", r"/([^/]+)(/.*)?", handle)]


def _tree(project: str, token: str) -> Mapping[str, object]:
    """Return the content of the server for a project, whose folders are mappings."""
    number, address = project_number(project), email(project)
    account = {
        "aliases": ["default"],
        "email": address,
        "scopes": list(_SCOPES),
        "token": _Apart({"access_token": token, "expires_in": LIFETIME_SECONDS, "token_type": "Bearer"}),
    }
    instance = {
        "attributes": {},
        "description": "",
        "hostname": f"{_MACHINE}.{_ZONE}.c.{project}.internal",
        "id": str(int(hashlib.sha256(project.encode()).hexdigest()[:15], 16)),
        "maintenance-event": "NONE",
        "name": _MACHINE,
        "preempted": "FALSE",
        "region": f"projects/{number}/regions/{_REGION}",
        "service-accounts": {"default": account, address: account},
        "tags": [],
        "zone": f"projects/{number}/zones/{_ZONE}",
    }
    found = {
        "instance": instance,
        "project": {"attributes": {}, "numeric-project-id": number, "project-id": project},
        # Older libraries ask with an underscore.
        "universe": {"universe-domain": _UNIVERSE, "universe_domain": _Apart(_UNIVERSE)},
    }
    return {"computeMetadata": {"v1": found}}


def _answer(request: Request, tree: Mapping[str, object], path: str) -> Response:
    found: object = tree
    for part in filter(None, map(unquote, path.split("/"))):
        if not isinstance(found, Mapping) or (value := _child(found, part)) is None:
            raise HttpError(404, "", f"The metadata server of the emulator has no {path}.", headers=_FLAVOR)
        found = value
    if not isinstance(found, Mapping):
        if path.endswith("/"):
            raise HttpError(404, "", f"{path.rstrip('/')} is not a folder.", headers=_FLAVOR)
        return _response(request, found.value if isinstance(found, _Apart) else found)
    if not path.endswith("/"):
        query = urlencode([(name, value) for name, values in request.query.items() for value in values])
        location = f"{request.base_url}{request.path}/{f'?{query}' if query else ''}"
        return Response(301, b"", "text/html", {**_FLAVOR, "Location": location})
    if (request.parameter("recursive") or "").lower() == "true":
        if request.parameter("alt") == "text":
            return _text("".join(f"{line}\n" for line in _flat(found)))
        return _json(_recursive(found))
    if request.parameter("alt") == "json":
        return _json(list(_names(found)))
    return _text("".join(f"{name}\n" for name in _names(found)))


def _child(folder: Mapping[str, object], name: str) -> object | None:
    """Return what a folder has by a name. Every address of an account stands for the only one."""
    found = folder.get(name)
    return folder.get("default") if found is None and "default" in folder and "@" in name else found


def _names(folder: Mapping[str, object]) -> Iterator[str]:
    """Yield the names in a folder, as the list of it has them."""
    for name, value in folder.items():
        if isinstance(value, Mapping):
            yield f"{name}/"
        elif not isinstance(value, _Apart) or isinstance(value.value, Mapping):
            yield name


def _recursive(folder: Mapping[str, object]) -> dict[str, object]:
    """Return a folder as JSON, whose names are in camel case; names of accounts stay as they are."""
    return {
        name if "@" in name else re.sub("-([a-z])", lambda found: found[1].upper(), name): (
            _recursive(value) if isinstance(value, Mapping) else value
        )
        for name, value in folder.items()
        if not isinstance(value, _Apart)
    }


def _flat(folder: Mapping[str, object], above: str = "") -> Iterator[str]:
    """Yield a line for each value below a folder: its path and the value."""
    for name, value in folder.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}/")
        elif isinstance(value, str):
            yield f"{above}{name} {value}"
        elif not isinstance(value, _Apart) and isinstance(value, Sequence):
            yield from (f"{above}{name} {each}" for each in value)


def _response(request: Request, value: object) -> Response:
    wanted = request.parameter("alt")
    if wanted is not None and wanted not in _FORMATS:
        raise HttpError(400, "", f"alt is {wanted!r}, but must be json or text.", headers=_FLAVOR)
    if wanted == "json" or isinstance(value, Mapping):
        return _json(value)
    if isinstance(value, str):
        return _text(value)
    return _text("".join(f"{each}\n" for each in value) if isinstance(value, Sequence) else "")


def _json(value: object) -> Response:
    return Response(200, json.dumps(value).encode(), "application/json", _FLAVOR)


def _text(text: str) -> Response:
    return Response(200, text.encode(), "application/text", _FLAVOR)


def _check(request: Request) -> None:
    """Check the headers, so that a program that fetches an address for another party is rejected."""
    if request.headers.get("metadata-flavor") != "Google":
        raise HttpError(403, "", "The header 'Metadata-Flavor: Google' is missing.")
    if "x-forwarded-for" in request.headers:
        raise HttpError(403, "", "The request was forwarded: it has the header X-Forwarded-For.")
