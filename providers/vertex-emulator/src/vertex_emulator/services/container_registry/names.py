"""Names of images, repositories, tags and digests.

The canonical name of an image is its name on Google: HOST/PATH[:TAG][@DIGEST]. A repository of this registry
is HOST/PATH. Its first component has a dot, or is `localhost`.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from vertex_emulator.services.container_registry.errors import RegistryError, digest_invalid, name_invalid

MAX_NAME = 255
"""Maximum length of a repository name, as in many clients ("Pulling manifests", implementers note)."""

LATEST = "latest"

_NAME = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*")
_TAG = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}")
_DIGEST = re.compile(r"[a-z0-9]+(?:[+._-][a-z0-9]+)*:[a-zA-Z0-9=_-]+")
ENCODED = {"sha256": re.compile(r"[a-f0-9]{64}"), "sha512": re.compile(r"[a-f0-9]{128}")}
ALGORITHMS = tuple(ENCODED)


@dataclass(frozen=True, kw_only=True)
class ImageName:
    """The parts of HOST/PATH[:TAG][@DIGEST]; `repository` is HOST/PATH."""

    repository: str
    tag: str | None = None
    digest: str | None = None

    @property
    def reference(self) -> str:
        """The digest if there is one, or else the tag, as in all clients."""
        return self.digest or self.tag or LATEST


def parse_image_name(text: str) -> ImageName:
    """Parse a canonical name. Raises `RegistryError` 400."""
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
    """Return the repository name, canonical or short, if it is valid. Raises `RegistryError` 400."""
    if len(name) > MAX_NAME or not _NAME.fullmatch(name):
        raise name_invalid(name)
    return name


def is_canonical(repository: str) -> bool:
    """Return whether the name begins with a host."""
    host, slash, _ = repository.partition("/")
    return bool(slash) and ("." in host or host == "localhost")


def check_tag(tag: str) -> str:
    """Return the tag if it is valid. Raises `RegistryError` 400."""
    if not is_tag(tag):
        raise RegistryError(
            400,
            "TAG_INVALID",
            f"{tag[:200]!r} is not a tag. A tag has at most 128 letters, digits, '_', '.' and '-', and "
            "begins with a letter, a digit or '_'.",
        )
    return tag


def check_digest(digest: str) -> str:
    """Return the digest if it is a valid SHA-256 or SHA-512 digest. Raises `RegistryError` 400.

    File paths are built only from digests that pass this check.
    """
    algorithm, _, encoded = digest.partition(":")
    known = ENCODED.get(algorithm)
    if known is None and _DIGEST.fullmatch(digest):
        raise RegistryError(
            400, "UNSUPPORTED", f"Digests by {algorithm[:50]} are not supported. Use sha256 or sha512."
        )
    if known is None or not known.fullmatch(encoded):
        raise digest_invalid(
            f"{digest[:200]!r} is not a digest. Use 'sha256:' and 64, or 'sha512:' and 128 lowercase "
            "hexadecimal digits."
        )
    return digest


def check_reference(reference: str) -> str:
    """Return the tag or digest if it is valid. Raises `RegistryError` 400."""
    return check_digest(reference) if ":" in reference else check_tag(reference)


def is_tag(text: str) -> bool:
    """Return whether the text is a valid tag."""
    return _TAG.fullmatch(text) is not None


def is_digest(reference: str) -> bool:
    """Return whether a reference is a digest, and not a tag."""
    return ":" in reference


def digest_of(content: bytes, *, algorithm: str = "sha256") -> str:
    """Return the digest of `content`."""
    return f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"


def algorithm_of(digest: str) -> str:
    """Return the algorithm of a digest."""
    return digest.partition(":")[0]
