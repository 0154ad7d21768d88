"""Manifests over HTTP: pulled and pushed by tag or digest, deleted."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from vertex_emulator.container_registry import names
from vertex_emulator.container_registry.authority import Authority
from vertex_emulator.container_registry.catalog import Registry
from vertex_emulator.container_registry.errors import manifest_invalid, manifest_unknown
from vertex_emulator.container_registry.manifests import MAX_MANIFEST, media_type_of
from vertex_emulator.http.messages import Request, Response


class ManifestsApi:
    """The handlers below /v2/NAME/manifests/."""

    def __init__(self, registry: Registry, authority: Authority) -> None:
        self._registry = registry
        self._authority = authority

    def get(self, _: Request, match: re.Match[str]) -> Response:
        """Also HEAD."""
        repository = self._authority.canonical(match["name"])
        reference = _sought(repository, match)
        found = self._registry.manifest(repository, reference)
        if found is None:
            raise manifest_unknown(repository, reference)
        headers = {"Docker-Content-Digest": found.digest, "ETag": f'"{found.digest}"'}
        return Response(200, found.content, found.media_type, headers)

    def put(self, request: Request, match: re.Match[str]) -> Response:
        repository = self._authority.canonical(match["name"])
        reference = names.check_reference(unquote(match["reference"]))
        self._authority.check_writable(repository)
        content = _read(request)
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
        """A tag alone, or by digest the manifest with all its tags."""
        repository = self._authority.canonical(match["name"])
        self._authority.check_removable(repository)
        reference = _sought(repository, match)
        if names.is_digest(reference):
            for each in self._registry.store.tags_of(repository, reference):
                self._authority.check_movable(repository, each)
            gone = self._registry.delete_manifest(repository, reference)
        else:
            self._authority.check_movable(repository, reference)
            gone = self._registry.delete_tag(repository, reference)
        if not gone:
            raise manifest_unknown(repository, reference)
        return Response(202)


def _sought(repository: str, match: re.Match[str]) -> str:
    """A reference that something may have.

    Raises `RegistryError` 404 for what can be no tag, as the specification's conformance suite asks of pulls,
    and 400 for a malformed digest.
    """
    reference = unquote(match["reference"])
    if names.is_digest(reference):
        return names.check_digest(reference)
    if not names.is_tag(reference):
        raise manifest_unknown(repository, reference[:200])
    return reference


def _read(request: Request) -> bytes:
    """The body. Raises `RegistryError` 413."""
    parts: list[bytes] = []
    left = MAX_MANIFEST
    while data := request.body.read(min(left + 1, 65536)):
        left -= len(data)
        if left < 0:
            raise manifest_invalid(
                f"The manifest is longer than {MAX_MANIFEST} bytes, the most that is taken.", status=413
            )
        parts.append(data)
    return b"".join(parts)
