"""Resolve the image of a replica: parse its name, look it up when the job is created, fix its digest.

Sources: OCI image specification ("Image Configuration", "Image Index"); Vertex AI documentation, "Custom
containers for training" (command and args of a container); for names, the distribution project's grammar of
references, which Docker and the service follow.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from vertex_emulator.replicas.images.image import ImageError, Layer, ReplicaImage
from vertex_emulator.replicas.images.stand_ins import EMPTY_LAYER, LABEL, is_stood_in_for
from vertex_emulator.server.http.messages import parse_json

_HOST = re.compile(r"localhost(:\d{1,5})?|[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+(:\d{1,5})?|[A-Za-z0-9-]+:\d{1,5}")
_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_PATH = re.compile(rf"{_COMPONENT}(?:/{_COMPONENT})*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")
_MAX_NAME = 255


@dataclass(frozen=True, kw_only=True)
class ImageName:
    """An image by host and path (`repository`), and by tag, digest or both; the other is empty."""

    repository: str
    tag: str
    digest: str

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.repository}{tag}" + (f"@{self.digest}" if self.digest else "")


def parse(text: str) -> ImageName:
    """Parse an image name into its canonical form. Raises `ValueError` if it is invalid.

    A name without a host is Docker Hub's; without tag and digest, the tag is `latest`.
    """
    rest, at, digest = text.partition("@")
    head, _, last = rest.rpartition("/")
    last, colon, tag = last.partition(":")
    path = f"{head}/{last}" if head else last
    first, slash, below = path.partition("/")
    if slash and _HOST.fullmatch(first):
        host, path = first.lower(), below
    else:
        host = "docker.io"
        path = path if slash else f"library/{path}"
    if not _PATH.fullmatch(path) or len(host) + len(path) >= _MAX_NAME:
        raise ValueError(f"{text!r} is not the name of an image, such as HOST/PATH:TAG in lower case")
    if colon and not _TAG.fullmatch(tag):
        raise ValueError(f"{text!r} has the tag {tag!r}; a tag consists of letters, digits, '_', '.' and '-'")
    if at and not _DIGEST.fullmatch(digest):
        raise ValueError(f"{text!r} has the digest {digest!r}; a digest is sha256: and 64 hex digits")
    return ImageName(repository=f"{host}/{path}", tag=tag if colon else "" if at else "latest", digest=digest)


_INDEXES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
_MANIFESTS = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_CONFIGS = (
    "application/vnd.oci.image.config.v1+json",
    "application/vnd.docker.container.image.v1+json",
)
_ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_MAX_DOCUMENT = 4 << 20
_MAX_LAYERS = 500


class Manifest(Protocol):
    """A manifest or an index as the registry has it."""

    @property
    def digest(self) -> str: ...

    @property
    def media_type(self) -> str: ...

    @property
    def content(self) -> bytes: ...


class Images(Protocol):
    """The registry in which images are looked up."""

    def resolve(self, name: str) -> Manifest | None:
        """Return the image with a canonical name, or None."""

    def blob_path(self, digest: str) -> Path | None:
        """Return the file of a blob, or None."""


def host_architecture() -> str:
    """Return this machine's architecture, in the words of image configurations."""
    machine = platform.machine().lower()
    return _ARCHITECTURES.get(machine, machine)


def look_up(images: Images, image_uri: str) -> ReplicaImage:
    """Return the image with a name. Raises `ImageError` if it cannot run here."""
    try:
        name = parse(image_uri)
    except ValueError as error:
        raise ImageError(str(error)) from None
    image = images.resolve(str(name))
    if image is None and name.digest and is_stood_in_for(name.repository, name.tag or "latest"):
        # Google's own digest of an image with a stand-in: there is only one stand-in for all digests.
        name = ImageName(repository=name.repository, tag=name.tag or "latest", digest="")
        image = images.resolve(str(name))
        if image is not None and not _read(images, image, name).stand_in:
            image = None
    if image is None:
        raise ImageError(
            f"the emulator has no image {name}. Push it to the emulator's registry first, or use one of "
            "Google's prebuilt training images, such as "
            "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"
        )
    return _read(images, image, name)


def _read(images: Images, found: Manifest, name: ImageName) -> ReplicaImage:
    if found.media_type in _INDEXES:
        found = _of_platform(images, found, name)
    if found.media_type not in _MANIFESTS:
        raise ImageError(f"{name} cannot be run: its media type is {found.media_type}")
    manifest = _document(found.content, f"the manifest of {name}")
    described = _mapping(manifest.get("config"))
    if described.get("mediaType") not in _CONFIGS:
        raise ImageError(
            f"{name} is not a container image: its configuration is {described.get('mediaType')!r}"
        )
    config = _document(_blob(images, described, name), f"the configuration of {name}")
    return _image(images, manifest, config, str(_pinned(name, found.digest)), name)


def _pinned(name: ImageName, digest: str) -> ImageName:
    return ImageName(repository=name.repository, tag=name.tag, digest=digest)


def _of_platform(images: Images, index: Manifest, name: ImageName) -> Manifest:
    """Return the image for this machine from an index.

    If the index has only one image, return that: it can run if it is built on a stand-in, as it then has no
    root of another architecture.
    """
    listed = [
        _mapping(each) for each in _list(_document(index.content, f"the index {name}").get("manifests"))
    ]
    choices: list[tuple[str, Manifest]] = []
    for each in listed:
        wanted = _mapping(each.get("platform"))
        if wanted.get("os") != "linux" or not isinstance(each.get("digest"), str):
            continue
        image = images.resolve(f"{name.repository}@{each['digest']}")
        if image is not None and image.media_type in _MANIFESTS:
            choices.append((str(wanted.get("architecture")), image))
    for architecture, image in choices:
        if architecture == host_architecture():
            return image
    if len(choices) == 1:
        return choices[0][1]
    offered = ", ".join(sorted({f"linux/{architecture}" for architecture, _ in choices})) or "none for Linux"
    raise ImageError(
        f"{name} has no image for linux/{host_architecture()}, which this machine is; it has {offered}. "
        "Build it for this platform too, or run the job on Google Cloud"
    )


def _image(
    images: Images, manifest: Mapping[str, Any], config: Mapping[str, Any], pinned: str, name: ImageName
) -> ReplicaImage:
    run = _mapping(config.get("config"))
    stand_in = _mapping(run.get("Labels")).get(LABEL, "")
    architecture = str(config.get("architecture", ""))
    foreign = "" if architecture == host_architecture() else architecture
    if config.get("os") != "linux":
        raise ImageError(f"{name} is an image for {config.get('os')!r}; the service runs Linux images only")
    if foreign and not stand_in:
        raise ImageError(
            f"{name} is an image for linux/{foreign}, but this machine is linux/{host_architecture()}. "
            "Build it for this platform too, or run the job on Google Cloud"
        )
    return ReplicaImage(
        name=pinned,
        root="host" if stand_in else "own",
        stand_in=str(stand_in),
        layers=_layers(images, manifest, config, name),
        entrypoint=_texts(run.get("Entrypoint"), "Entrypoint", name),
        command=_texts(run.get("Cmd"), "Cmd", name),
        environment=_texts(run.get("Env"), "Env", name),
        working_dir=_text(run.get("WorkingDir") or "/", "WorkingDir", name),
        user=_text(run.get("User") or "", "User", name),
        architecture=foreign,
    )


def _layers(
    images: Images, manifest: Mapping[str, Any], config: Mapping[str, Any], name: ImageName
) -> tuple[Layer, ...]:
    described = [_mapping(each) for each in _list(manifest.get("layers"))]
    diff_ids = _list(_mapping(config.get("rootfs")).get("diff_ids"))
    if len(described) != len(diff_ids) or len(described) > _MAX_LAYERS:
        raise ImageError(
            f"{name} is damaged: its manifest has {len(described)} layers, its configuration {len(diff_ids)}"
        )
    layers = []
    for each, diff_id in zip(described, diff_ids, strict=True):
        media_type = str(each.get("mediaType", ""))
        if ".image.layer." not in media_type and ".image.rootfs." not in media_type:
            raise ImageError(f"{name} has a layer of the type {media_type!r}, which is not a file system")
        path, size = images.blob_path(str(each.get("digest"))), each.get("size")
        if path is None or not isinstance(size, int):
            raise ImageError(
                f"the layer {each.get('digest')} of {name} is not in the registry. Push the image again, "
                "with its base layers"
            )
        if diff_id == EMPTY_LAYER:
            continue
        layers.append(Layer(digest=str(each["digest"]), diff_id=str(diff_id), size=size, path=str(path)))
    return tuple(layers)


def _blob(images: Images, described: Mapping[str, Any], name: ImageName) -> bytes:
    path = images.blob_path(str(described.get("digest")))
    if path is None:
        raise ImageError(f"the configuration of {name} is not in the registry. Push the image again")
    with path.open("rb") as file:
        data = file.read(_MAX_DOCUMENT + 1)
    if len(data) > _MAX_DOCUMENT:
        raise ImageError(f"the configuration of {name} has more than {_MAX_DOCUMENT >> 20} MiB")
    return data


def _document(data: bytes, what: str) -> Mapping[str, Any]:
    try:
        document = parse_json(data)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise ImageError(f"{what} is not a JSON document")
    return document


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object, field: str, name: ImageName) -> str:
    """Return a string that a program can be started with."""
    if not isinstance(value, str) or "\0" in value:
        raise ImageError(f"{name} has a configuration whose {field} is not a string")
    return value


def _texts(value: object, field: str, name: ImageName) -> tuple[str, ...]:
    """Return a list of strings that a program can be started with."""
    texts = _list(value)
    if not all(isinstance(each, str) and "\0" not in each for each in texts):
        raise ImageError(f"{name} has a configuration whose {field} is not a list of strings")
    return tuple(texts)
