"""Repositories of container images, their images, and one image: each list a page at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.container_registry import client
from pulumi_vertex_training.cloud.container_registry.descriptors import json_object, parts_of
from pulumi_vertex_training.cloud.container_registry.image_names import ImageName, parse
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import UnexpectedAnswer
from pulumi_vertex_training.cloud.translation import translated
from pulumi_vertex_training.ui.source.owner import Owner, owner_of
from pulumi_vertex_training.ui.source.storage.sizes import in_words

SHOWN = 100
"""Repositories or images of one page."""

_MOST_PLATFORMS = 50
_SHORT_DIGEST = 12


@dataclass(frozen=True, kw_only=True)
class Repository:
    """A repository with the resource that declares it. `format` is its artifacts': "docker"."""

    name: str
    format: str
    size: int
    created: str
    owner: Owner

    @property
    def short_name(self) -> str:
        """The repository's id."""
        return self.name.rpartition("/")[2]

    @property
    def has_images(self) -> bool:
        """True for a repository of container images."""
        return self.format == "docker"

    @property
    def size_in_words(self) -> str:
        return in_words(self.size)


@dataclass(frozen=True, kw_only=True)
class ImageRow:
    """An image by its digest. `path` is its name in the repository."""

    uri: str
    path: str
    digest: str
    tags: tuple[str, ...]
    size: int
    uploaded: str

    @property
    def short_digest(self) -> str:
        """The beginning of the digest, which people compare."""
        return self.digest.removeprefix("sha256:")[:_SHORT_DIGEST]

    @property
    def size_in_words(self) -> str:
        return in_words(self.size)


@dataclass(frozen=True, kw_only=True)
class Repositories:
    """A page of repositories; `more` is the token of the next page, "" for the last one."""

    rows: tuple[Repository, ...]
    more: str


@dataclass(frozen=True, kw_only=True)
class Images:
    """A page of the images of a repository, the newest first."""

    repository: str
    rows: tuple[ImageRow, ...]
    more: str


@dataclass(frozen=True, kw_only=True)
class Part:
    """An image of an index by its platform, or a layer of an image."""

    name: str
    digest: str
    size: int

    @property
    def size_in_words(self) -> str:
        return in_words(self.size)


@dataclass(frozen=True, kw_only=True)
class Image:
    """An image. An index has `platforms`, each an image; any other image has one platform and `layers`.

    `repository` is the id. `facts` are lines of its configuration. Of its variables only the names are there.
    """

    uri: str
    repository: str
    digest: str
    media_type: str
    tags: tuple[str, ...]
    platforms: tuple[Part, ...] = ()
    layers: tuple[Part, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()

    @property
    def size(self) -> int:
        """The sum of the layers, without the configuration; 0 for an index."""
        return sum(layer.size for layer in self.layers)

    @property
    def size_in_words(self) -> str:
        return in_words(self.size)

    def at(self, digest: str) -> str:
        """Return the address of another image of the same name."""
        return f"{self.uri.partition('@')[0]}@{digest}"


def repositories(endpoint: Endpoint, *, page: str = "") -> Repositories:
    """Return a page of the repositories of the endpoint's location. Raises CloudError."""
    address = f"{endpoint.artifact_registry_url}/v1/{endpoint.parent}/repositories"
    with translated(endpoint, "list the repositories"):
        answer = rest.call(endpoint, "GET", address, query={"pageSize": SHOWN, "pageToken": page or None})
    return Repositories(
        rows=tuple(
            Repository(
                name=str(wire.get("name", "")),
                format=str(wire.get("format", "")).lower(),
                size=int(wire.get("sizeBytes") or 0),
                created=str(wire.get("createTime", "")),
                owner=owner_of(wire.get("labels") or {}),
            )
            for wire in answer.get("repositories", ())
        ),
        more=str(answer.get("nextPageToken") or ""),
    )


def images(endpoint: Endpoint, repository: str, *, page: str = "") -> Images:
    """Return a page of the images of a repository of the endpoint's location, by its id. Raises NotFound."""
    name = quote(repository, safe="")
    address = f"{endpoint.artifact_registry_url}/v1/{endpoint.parent}/repositories/{name}/dockerImages"
    with translated(endpoint, f"list the images of {repository}"):
        answer = rest.call(endpoint, "GET", address, query={"pageSize": SHOWN, "pageToken": page or None})
    rows = [_row(wire, repository) for wire in answer.get("dockerImages", ())]
    rows.sort(key=lambda row: row.uploaded, reverse=True)
    return Images(repository=repository, rows=tuple(rows), more=str(answer.get("nextPageToken") or ""))


def image(endpoint: Endpoint, uri: str) -> Image:
    """Return an image by its address with a digest or tag.

    Raises ValueError for an address that is not in a repository of the endpoint's project and location: the
    dashboard asks no other registry. Raises NotFound, UnexpectedAnswer.
    """
    name = parse(uri)
    host, above = f"{endpoint.location}-docker.pkg.dev", endpoint.project.replace(":", "/") + "/"
    repository, _, path = name.path.removeprefix(above).partition("/")
    if name.host != host or not name.path.startswith(above) or not path:
        raise ValueError(f"{uri!r} is not an image of project {endpoint.project}, {endpoint.location}")
    manifest = client.manifest(endpoint, name)
    made = name.at(manifest.digest)
    try:
        document = json_object(manifest.content, "the manifest")
        tags = _tags(endpoint, repository, path, made)
        if manifest.is_index:
            return Image(
                uri=str(made),
                repository=repository,
                digest=manifest.digest,
                media_type=manifest.media_type,
                tags=tags,
                platforms=tuple(_platforms(document)),
            )
        parts = parts_of(manifest.content)
        config = json_object(client.read_blob(endpoint, made, parts.config), "the configuration")
    except ValueError as error:
        raise UnexpectedAnswer(
            f"Could not read image {uri} ({endpoint}): {error}. Push the image again.",
            resource=uri,
            endpoint=endpoint,
        ) from error
    return Image(
        uri=str(made),
        repository=repository,
        digest=manifest.digest,
        media_type=manifest.media_type,
        tags=tags,
        layers=tuple(
            Part(name=f"layer {number}", digest=layer.digest, size=layer.size)
            for number, layer in enumerate(parts.layers, start=1)
        ),
        facts=tuple(_facts(config)),
    )


def _row(wire: Mapping[str, Any], repository: str) -> ImageRow:
    uri = str(wire.get("uri", ""))
    path, _, digest = uri.partition("@")
    return ImageRow(
        uri=uri,
        path=path.partition(f"/{repository}/")[2] or path,
        digest=digest,
        tags=tuple(str(tag) for tag in wire.get("tags") or ()),
        size=int(wire.get("imageSizeBytes") or 0),
        uploaded=str(wire.get("uploadTime", "")),
    )


def _tags(endpoint: Endpoint, repository: str, path: str, name: ImageName) -> tuple[str, ...]:
    """Return the tags of a digest, as the list of images has them."""
    images_of = (
        f"{endpoint.artifact_registry_url}/v1/{endpoint.parent}/repositories/{repository}/dockerImages"
    )
    with translated(endpoint, f"read the tags of {name}"):
        wire = rest.call(endpoint, "GET", f"{images_of}/{quote(f'{path}@{name.digest}', safe='')}")
    return tuple(str(tag) for tag in wire.get("tags") or ())


def _platforms(index: Mapping[str, Any]) -> Iterator[Part]:
    found = index.get("manifests")
    for entry in found[:_MOST_PLATFORMS] if isinstance(found, list) else ():
        if not isinstance(entry, dict):
            continue
        platform = entry.get("platform")
        described = _platform(platform) if isinstance(platform, dict) else ""
        size = entry.get("size")
        yield Part(
            name="attestation" if described == "unknown/unknown" else described or "any platform",
            digest=str(entry.get("digest", "")),
            size=size if isinstance(size, int) else 0,
        )


def _platform(described: Mapping[str, Any]) -> str:
    names = (described.get("os"), described.get("architecture"), described.get("variant"))
    return "/".join(str(name) for name in names if name)


def _facts(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Platform", _platform(config)
    yield "Created", str(config.get("created") or "")
    inner = config.get("config")
    if not isinstance(inner, dict):
        return
    for key, title in (("Entrypoint", "Entry point"), ("Cmd", "Command")):
        words = inner.get(key)
        yield title, " ".join(str(word) for word in words) if isinstance(words, list) else ""
    yield "Folder", str(inner.get("WorkingDir") or "")
    yield "User", str(inner.get("User") or "")
    variables = inner.get("Env")
    if isinstance(variables, list):
        yield "Variables", ", ".join(str(each).partition("=")[0] for each in variables)
    labels = inner.get("Labels")
    if isinstance(labels, dict):
        yield "Labels", "\n".join(f"{key}={value}" for key, value in sorted(labels.items()))
