"""Names of images, repositories, tags and digests.

The canonical name of an image is the one that it has on Google: HOST/PATH[:TAG][@DIGEST]. A repository of
this registry is HOST/PATH; its first component has a dot, or is `localhost`.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from vertex_emulator.container_registry.errors import RegistryError, digest_invalid, name_invalid

MAX_NAME = 255
"""Characters of a repository's name; many clients take no more ("Pulling manifests", implementers note)."""

LATEST = "latest"

_NAME = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*")
_TAG = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}")
_DIGEST = re.compile(r"[a-z0-9]+(?:[+._-][a-z0-9]+)*:[a-zA-Z0-9=_-]+")
_ENCODED = {"sha256": re.compile(r"[a-f0-9]{64}"), "sha512": re.compile(r"[a-f0-9]{128}")}
ALGORITHMS = tuple(_ENCODED)


@dataclass(frozen=True, kw_only=True)
class ImageName:
    """The parts of HOST/PATH[:TAG][@DIGEST]; `repository` is HOST/PATH."""

    repository: str
    tag: str | None = None
    digest: str | None = None

    @property
    def reference(self) -> str:
        """What to ask for: the digest where there is one, as by all clients, else the tag."""
        return self.digest or self.tag or LATEST


def parse_image_name(text: str) -> ImageName:
    """Raises `RegistryError` 400 for what is not a canonical name."""
    rest, at, digest = text.partition("@")
    repository, colon, tag = rest.rpartition(":")
    if not colon or "/" in tag:
        repository, colon, tag = rest, "", ""
    check_repository(repository)
    if not is_canonical(repository):
        raise name_invalid(text)
    return ImageName(
        repository=repository,
        tag=check_tag(tag) if colon else None,
        digest=check_digest(digest) if at else None,
    )


def check_repository(name: str) -> str:
    """The name of a repository, canonical or short. Raises `RegistryError` 400."""
    if len(name) > MAX_NAME or not _NAME.fullmatch(name):
        raise name_invalid(name)
    return name


def is_canonical(repository: str) -> bool:
    """Whether the name begins with a host."""
    host, slash, _ = repository.partition("/")
    return bool(slash) and ("." in host or host == "localhost")


def check_tag(tag: str) -> str:
    """Raises `RegistryError` 400."""
    if not is_tag(tag):
        raise RegistryError(
            400,
            "TAG_INVALID",
            f"{tag[:200]!r} is not a tag. A tag has at most 128 letters, digits, '_', '.' and '-', and "
            "begins with a letter, a digit or '_'.",
        )
    return tag


def check_digest(digest: str) -> str:
    """A digest by SHA-256 or SHA-512, the only ones from which paths of files are made.

    Raises `RegistryError` 400.
    """
    algorithm, _, encoded = digest.partition(":")
    known = _ENCODED.get(algorithm)
    if known is None and _DIGEST.fullmatch(digest):
        raise RegistryError(
            400, "UNSUPPORTED", f"Digests by {algorithm[:50]} are not supported. Use sha256 or sha512."
        )
    if known is None or not known.fullmatch(encoded):
        raise digest_invalid(
            f"{digest[:200]!r} is not a digest. It has to be 'sha256:' and 64, or 'sha512:' and 128, "
            "lower-case hexadecimal digits."
        )
    return digest


def check_reference(reference: str) -> str:
    """A tag or a digest. Raises `RegistryError` 400."""
    return check_digest(reference) if ":" in reference else check_tag(reference)


def is_tag(text: str) -> bool:
    return _TAG.fullmatch(text) is not None


def is_digest(reference: str) -> bool:
    return ":" in reference


def digest_of(content: bytes, *, algorithm: str = "sha256") -> str:
    return f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"


def algorithm_of(digest: str) -> str:
    return digest.partition(":")[0]
