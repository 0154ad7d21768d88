"""What there is: tags, repositories, and the manifests that refer to one."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote, urlencode

from vertex_emulator.container_registry import names
from vertex_emulator.container_registry.authority import Authority
from vertex_emulator.container_registry.catalog import Registry
from vertex_emulator.container_registry.errors import RegistryError, name_unknown
from vertex_emulator.container_registry.manifests import OCI_INDEX
from vertex_emulator.container_registry.store import StoredManifest
from vertex_emulator.http.messages import Request, Response, json_response

MOST_LISTED = 10_000
"""Tags or repositories in one answer."""

MOST_REFERRERS = 500
"""Referrers in one answer, so that it stays shorter than clients read of a manifest."""

_JSON = "application/json"


class DiscoveryApi:
    """The handlers of lists."""

    def __init__(self, registry: Registry, authority: Authority) -> None:
        self._store = registry.store
        self._authority = authority

    def tags(self, request: Request, match: re.Match[str]) -> Response:
        repository = self._authority.canonical(match["name"])
        number = _number(request)
        found = [
            each.tag
            for each in self._store.tags(repository, after=request.parameter("last"), limit=number + 1)
        ]
        if not found and not self._store.is_known(repository):
            raise name_unknown(repository, f"There is no repository {repository}. Push an image to it first.")
        answer = {"name": match["name"], "tags": found[:number]}
        return _page(answer, f"/v2/{match['name']}/tags/list", found, number)

    def repositories(self, request: Request, _: re.Match[str]) -> Response:
        number = _number(request)
        found = self._store.repositories(after=request.parameter("last") or "", limit=number + 1)
        return _page({"repositories": found[:number]}, "/v2/_catalog", found, number)

    def referrers(self, request: Request, match: re.Match[str]) -> Response:
        subject = names.check_digest(unquote(match["digest"]))
        repository = self._authority.canonical(match["name"])
        kind = request.parameter("artifactType") or None
        found = self._store.referrers(
            repository,
            subject,
            artifact_type=kind,
            after=request.parameter("last") or "",
            limit=MOST_REFERRERS + 1,
        )
        headers = {} if kind is None else {"OCI-Filters-Applied": "artifactType"}
        if len(found) > MOST_REFERRERS:
            query = {
                "last": found[MOST_REFERRERS - 1].digest,
                **({} if kind is None else {"artifactType": kind}),
            }
            headers["Link"] = _next(f"/v2/{match['name']}/referrers/{subject}", query)
        index = {
            "schemaVersion": 2,
            "mediaType": OCI_INDEX,
            "manifests": [_descriptor(each) for each in found[:MOST_REFERRERS]],
        }
        return Response(200, json_response(index).body, OCI_INDEX, headers)


def _descriptor(stored: StoredManifest) -> dict[str, Any]:
    found: dict[str, Any] = {
        "mediaType": stored.media_type,
        "digest": stored.digest,
        "size": len(stored.content),
    }
    if stored.artifact_type:
        found["artifactType"] = stored.artifact_type
    if stored.annotations:
        found["annotations"] = dict(stored.annotations)
    return found


def _number(request: Request) -> int:
    """How many are wanted. Raises `RegistryError` 400."""
    given = request.parameter("n")
    if given is None:
        return MOST_LISTED
    if not (given.isascii() and given.isdigit() and len(given) <= 18):
        raise RegistryError(
            400,
            "PAGINATION_NUMBER_INVALID",
            f"n has to be a number, not {given[:50]!r}.",
            detail={"n": given},
        )
    return min(int(given), MOST_LISTED)


def _page(answer: dict[str, Any], path: str, found: list[str], number: int) -> Response:
    headers = {}
    if 0 < number < len(found):
        headers["Link"] = _next(path, {"last": found[number - 1], "n": number})
    return Response(200, json_response(answer).body, _JSON, headers)


def _next(path: str, query: dict[str, Any]) -> str:
    return f'<{path}?{urlencode(query)}>; rel="next"'
