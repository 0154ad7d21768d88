"""The endpoints for manifests, tags, referrers and the list of repositories."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote, unquote, urlencode, urlsplit

from vertex_emulator.server.http.google_paths import name_at
from vertex_emulator.server.http.messages import Request, Response, json_response
from vertex_emulator.services.container_registry import names
from vertex_emulator.services.container_registry.authority import Authority
from vertex_emulator.services.container_registry.errors import (
    RegistryError,
    manifest_invalid,
    manifest_unknown,
    name_unknown,
)
from vertex_emulator.services.container_registry.manifests import MAX_MANIFEST, OCI_INDEX, media_type_of
from vertex_emulator.services.container_registry.registry import Registry
from vertex_emulator.services.container_registry.store import StoredManifest


class ManifestsApi:
    """The handlers below /v2/NAME/manifests/."""

    def __init__(self, registry: Registry, authority: Authority) -> None:
        self._registry = registry
        self._authority = authority

    def get(self, _: Request, match: re.Match[str]) -> Response:
        """Handle GET and HEAD of a manifest."""
        repository = self._authority.canonical(match["name"])
        reference = _reference(repository, match)
        stored = self._registry.manifest(repository, reference)
        if stored is None:
            raise manifest_unknown(repository, reference)
        headers = {"Docker-Content-Digest": stored.digest, "ETag": f'"{stored.digest}"'}
        return Response(200, stored.content, stored.media_type, headers)

    def put(self, request: Request, match: re.Match[str]) -> Response:
        repository = self._authority.canonical(match["name"])
        reference = names.check_reference(unquote(match["reference"]))
        self._authority.check_writable(repository)
        content = _read_body(request)
        stored = self._registry.put_manifest(
            repository,
            reference,
            media_type_of(request.headers.get("content-type"), content),
            content,
            allowed=lambda: self._authority.check_writable(repository),
            moving=lambda tag, _: self._authority.check_movable(repository, tag),
        )
        headers = {
            "Location": f"/v2/{match['name']}/manifests/{quote(stored.digest, safe=':')}",
            "Docker-Content-Digest": stored.digest,
        }
        if stored.subject is not None:
            headers["OCI-Subject"] = stored.subject
        return Response(201, headers=headers)

    def delete(self, _: Request, match: re.Match[str]) -> Response:
        """Delete a tag, or by digest a manifest with all its tags."""
        repository = self._authority.canonical(match["name"])
        self._authority.check_removable(repository)
        reference = _reference(repository, match)
        if names.is_digest(reference):
            for each in self._registry.store.tags_of(repository, reference):
                self._authority.check_movable(repository, each)
            deleted = self._registry.delete_manifest(repository, reference)
        else:
            self._authority.check_movable(repository, reference)
            deleted = self._registry.delete_tag(repository, reference)
        if not deleted:
            raise manifest_unknown(repository, reference)
        return Response(202)


def _reference(repository: str, match: re.Match[str]) -> str:
    """Return the reference of a request that reads or deletes.

    Raises `RegistryError` 404 for an invalid tag, as the specification's conformance suite expects of pulls,
    and 400 for an invalid digest.
    """
    reference = unquote(match["reference"])
    if names.is_digest(reference):
        return names.check_digest(reference)
    if not names.is_tag(reference):
        raise manifest_unknown(repository, reference[:200])
    return reference


def _read_body(request: Request) -> bytes:
    """Read the body. Raises `RegistryError` 413."""
    parts: list[bytes] = []
    left = MAX_MANIFEST
    while data := request.body.read(min(left + 1, 65536)):
        left -= len(data)
        if left < 0:
            raise manifest_invalid(
                f"The manifest is longer than the limit of {MAX_MANIFEST} bytes.", status=413
            )
        parts.append(data)
    return b"".join(parts)


MOST_LISTED = 10_000
"""Limit for the tags or repositories of one response."""

MOST_REFERRERS = 500
"""Limit for the referrers of one response, which keeps it below the manifest size that clients accept."""

_JSON = "application/json"


class DiscoveryApi:
    """The handlers of lists."""

    def __init__(self, registry: Registry, authority: Authority) -> None:
        self._store = registry.store
        self._authority = authority

    def tags(self, request: Request, match: re.Match[str]) -> Response:
        repository = self._authority.canonical(match["name"])
        number = _number(request)
        page = [
            each.tag
            for each in self._store.tags(repository, after=request.parameter("last"), limit=number + 1)
        ]
        if not page and not self._store.is_known(repository):
            raise name_unknown(repository, f"There is no repository {repository}. Push an image to it first.")
        shown = name_at(_host(request), match["name"]) or match["name"]
        answer = {"name": shown, "tags": page[:number]}
        return _page(answer, f"/v2/{match['name']}/tags/list", page, number)

    def repositories(self, request: Request, _: re.Match[str]) -> Response:
        """List the repositories of the host that the client has asked."""
        number, after = _number(request), request.parameter("last") or ""
        host = _host(request)
        names = (name_at(host, each) for each in self._store.repositories())
        page_names = sorted(name for name in names if name is not None and name > after)[: number + 1]
        return _page({"repositories": page_names[:number]}, "/v2/_catalog", page_names, number)

    def referrers(self, request: Request, match: re.Match[str]) -> Response:
        subject = names.check_digest(unquote(match["digest"]))
        repository = self._authority.canonical(match["name"])
        kind = request.parameter("artifactType") or None
        manifests = self._store.referrers(
            repository,
            subject,
            artifact_type=kind,
            after=request.parameter("last") or "",
            limit=MOST_REFERRERS + 1,
        )
        headers = {} if kind is None else {"OCI-Filters-Applied": "artifactType"}
        if len(manifests) > MOST_REFERRERS:
            query = {
                "last": manifests[MOST_REFERRERS - 1].digest,
                **({} if kind is None else {"artifactType": kind}),
            }
            headers["Link"] = _next(f"/v2/{match['name']}/referrers/{subject}", query)
        index = {
            "schemaVersion": 2,
            "mediaType": OCI_INDEX,
            "manifests": [_descriptor(each) for each in manifests[:MOST_REFERRERS]],
        }
        return Response(200, json_response(index).body, OCI_INDEX, headers)


def _descriptor(stored: StoredManifest) -> dict[str, Any]:
    descriptor: dict[str, Any] = {
        "mediaType": stored.media_type,
        "digest": stored.digest,
        "size": len(stored.content),
    }
    if stored.artifact_type:
        descriptor["artifactType"] = stored.artifact_type
    if stored.annotations:
        descriptor["annotations"] = dict(stored.annotations)
    return descriptor


def _host(request: Request) -> str:
    return urlsplit(request.base_url).hostname or ""


def _number(request: Request) -> int:
    """Return the requested page size. Raises `RegistryError` 400."""
    given = request.parameter("n")
    if given is None:
        return MOST_LISTED
    if not (given.isascii() and given.isdigit() and len(given) <= 18):
        raise RegistryError(
            400,
            "PAGINATION_NUMBER_INVALID",
            f"n must be a number, not {given[:50]!r}.",
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
