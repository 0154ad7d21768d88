"""Rules of models' ids, versions and aliases. Pure.

Sources: the comments of the API's messages UploadModelRequest, Model and MergeVersionAliasesRequest; Vertex
AI documentation, "How to use model version aliases" and "Versioning with Model Registry".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

DEFAULT = "default"
_ID = re.compile(r"[a-z_][a-z0-9_-]{0,62}")
_ALIAS = re.compile(r"[a-z][a-zA-Z0-9-]{0,126}[a-z0-9]")

ID_RULE = (
    "The model ID may have up to 63 characters of [a-z0-9_-]. The first character cannot be a number or "
    "hyphen."
)
ALIAS_RULE = "A version alias has 2 to 128 characters and matches [a-z][a-zA-Z0-9-]{0,126}[a-z0-9]."


class AliasError(ValueError):
    """Aliases that cannot be; `code` is a canonical code by name."""

    def __init__(self, message: str, *, code: str = "INVALID_ARGUMENT") -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A model's id and what follows its `@`, "" for nothing: a version or an alias."""

    model: str
    version: str


def parse(model: str) -> Reference:
    """Read `ID`, `ID@VERSION` or `ID@ALIAS`."""
    identifier, _, version = model.partition("@")
    return Reference(model=identifier, version=version)


def is_id(text: str) -> bool:
    """Whether somebody may choose it as a model's id."""
    return _ID.fullmatch(text) is not None


def is_alias(text: str) -> bool:
    """Whether it may be an alias of a version."""
    return _ALIAS.fullmatch(text) is not None


def found(aliases: Mapping[int, Sequence[str]], version: str) -> int | None:
    """The version of a number or alias, "" standing for the default; None when there is none."""
    if version.isascii() and version.isdigit():
        return int(version) if int(version) in aliases else None
    wanted = version or DEFAULT
    return next((number for number, each in aliases.items() if wanted in each), None)


def with_new(
    aliases: Mapping[int, Sequence[str]], version: int, wanted: Sequence[str]
) -> dict[int, tuple[str, ...]]:
    """The aliases of all versions after `version` came with those: they move to it from other versions.

    The first version is the default one. Raises `AliasError`.
    """
    checked = _checked(wanted)
    if not aliases and DEFAULT not in checked:
        checked = (DEFAULT, *checked)
    return _moved({**aliases, version: ()}, version, checked, removed=())


def merged(
    aliases: Mapping[int, Sequence[str]], version: int, changes: Sequence[str]
) -> dict[int, tuple[str, ...]]:
    """The aliases after MergeVersionAliases; `-ALIAS` takes one away. Raises `AliasError`."""
    added = _checked([each for each in changes if not each.startswith("-")])
    removed = _checked([each[1:] for each in changes if each.startswith("-")])
    both = set(added) & set(removed)
    added = tuple(each for each in added if each not in both)
    removed = tuple(each for each in removed if each not in both)
    if DEFAULT in removed and DEFAULT in aliases.get(version, ()):
        raise AliasError(
            'The alias "default" cannot be removed: a model has exactly one default version. Give it to '
            "another version instead.",
            code="FAILED_PRECONDITION",
        )
    return _moved(aliases, version, added, removed=removed)


def _moved(
    aliases: Mapping[int, Sequence[str]], version: int, added: Sequence[str], *, removed: Sequence[str]
) -> dict[int, tuple[str, ...]]:
    after: dict[int, tuple[str, ...]] = {}
    for number, present in aliases.items():
        if number == version:
            kept = [each for each in present if each not in removed]
            after[number] = tuple(dict.fromkeys([*kept, *added]))
        else:
            after[number] = tuple(each for each in present if each not in added)
    return after


def _checked(aliases: Sequence[str]) -> tuple[str, ...]:
    for each in aliases:
        if not is_alias(each):
            raise AliasError(f"{each!r}: {ALIAS_RULE}")
    return tuple(dict.fromkeys(aliases))
