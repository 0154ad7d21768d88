"""Conditions under which a request is to be carried out ("Request preconditions")."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Protocol

from vertex_emulator.http.messages import Request
from vertex_emulator.storage.errors import StorageError, condition_not_met
from vertex_emulator.storage.fields import parameters

OBJECT = frozenset(
    {"ifGenerationMatch", "ifGenerationNotMatch", "ifMetagenerationMatch", "ifMetagenerationNotMatch"}
)
SOURCE = frozenset(name.replace("if", "ifSource", 1) for name in OBJECT)
BUCKET = frozenset({"ifMetagenerationMatch", "ifMetagenerationNotMatch"})


class Versioned(Protocol):
    """What conditions are about."""

    @property
    def generation(self) -> int: ...
    @property
    def metageneration(self) -> int: ...
    @property
    def etags(self) -> frozenset[str]: ...


@dataclass(frozen=True, kw_only=True)
class Preconditions:
    """All have to hold. Generation 0 means that there is no live object."""

    generation_match: int | None = None
    generation_not_match: int | None = None
    metageneration_match: int | None = None
    metageneration_not_match: int | None = None
    etag_match: str | None = None
    etag_none_match: str | None = None

    def check(self, current: Versioned | None, *, reading: bool = False) -> None:
        """Raises `StorageError` 412; for a read whose "not match" fails, 304."""
        generation = current.generation if current else 0
        metageneration = current.metageneration if current else None
        etags = current.etags | {"*"} if current else frozenset()
        if self.generation_match is not None and self.generation_match != generation:
            raise condition_not_met()
        if self.metageneration_match is not None and self.metageneration_match != metageneration:
            raise condition_not_met()
        if self.etag_match is not None and not etags & _etags(self.etag_match):
            raise condition_not_met()
        if (
            (self.generation_not_match is not None and self.generation_not_match == generation)
            or (self.metageneration_not_match is not None and self.metageneration_not_match == metageneration)
            or (self.etag_none_match is not None and etags & _etags(self.etag_none_match))
        ):
            raise StorageError(304, "notModified", "Not Modified") if reading else condition_not_met()

    def to_json(self) -> dict[str, int | str | None]:
        return asdict(self)


def from_request(request: Request) -> Preconditions:
    """The conditions of a request. Raises `StorageError` 400."""
    return replace(
        _of_parameters(request, "if"),
        etag_match=request.headers.get("if-match"),
        etag_none_match=request.headers.get("if-none-match"),
    )


def of_source(request: Request) -> Preconditions:
    """Those on the object that is copied. Raises `StorageError` 400."""
    return _of_parameters(request, "ifSource")


def _of_parameters(request: Request, begin: str) -> Preconditions:
    return Preconditions(
        generation_match=parameters.integer(request, f"{begin}GenerationMatch"),
        generation_not_match=parameters.integer(request, f"{begin}GenerationNotMatch"),
        metageneration_match=parameters.integer(request, f"{begin}MetagenerationMatch"),
        metageneration_not_match=parameters.integer(request, f"{begin}MetagenerationNotMatch"),
    )


def _etags(header: str) -> set[str]:
    return {etag.strip().removeprefix("W/").strip('"') for etag in header.split(",")}
