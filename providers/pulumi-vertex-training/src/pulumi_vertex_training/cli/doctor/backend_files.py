"""Files of a Pulumi file backend that a kill left unusable, and their repair.

Pulumi replaces a file at once, through a temporary file beside it. These remain after a kill, or after a
power failure:

* `NAME.attrs`, the attributes of a file, which are written in place. If it is empty, all commands fail:
  "failed to load checkpoint: EOF". Pulumi needs none of them, and writes none with `?metadata=skip`.
* `NAME.<digits>.tmp`, a temporary file. Beside a lock it fails as well: "unexpected end of JSON input".
* `STACK.json` without content. `STACK.json.bak` is the state before the last change.
* `meta.yaml` without content, which Pulumi writes again if it is missing.

This module needs only the standard library and nothing of this package: the chores of a clone load it before
any package is installed.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ATTRIBUTES = ".attrs"

_TEMPORARY = re.compile(r".+\.[0-9a-f]{8,}\.tmp")
_STATE = re.compile(r"(.+)\.json(\.gz)?")
_CHECKPOINT = re.compile(r".+\.json(\.gz)?")
_PARTS = ("stacks", "history", "backups", "locks/organization")


@dataclass(frozen=True, kw_only=True)
class Damage:
    """A file that a kill left unusable. It is deleted, or replaced by `backup`.

    `is_lost` is true for a state without a usable backup, which cannot be repaired.
    """

    file: Path
    backup: Path | None = None
    is_lost: bool = False

    def __str__(self) -> str:
        if self.is_lost:
            return f"{self.file} has no content, and there is no backup of it"
        if self.backup is not None:
            return f"{self.file} has no content; {self.backup.name} is the last state before it"
        if self.file.suffix == ".tmp":
            return f"{self.file} is a temporary file that was left"
        return f"{self.file} has no content"


def address(folder: Path) -> str:
    """Return the address of a file backend in a folder, without files of attributes."""
    path = str(folder)
    for character in "%?#":
        path = path.replace(character, f"%{ord(character):02X}")
    return f"file://{path}?metadata=skip"


def damages(root: Path, *, project: str, stack: str) -> list[Damage]:
    """Return the damaged files of a stack, and of the whole backend, whose `.pulumi` folder is `root`.

    No deployment of the stack may be running: its temporary files would be found.
    """
    return [*_shared(root), *_of_stack(root, project, stack)]


def unlocked_stacks(root: Path) -> list[tuple[str, str]]:
    """Return project and name of the stacks without a lock."""
    found = set()
    for file in root.glob("stacks/*/*.json*"):
        if match := re.match(r"(.+?)\.json(\.|$)", file.name):
            found.add((file.parent.name, match[1]))
    return sorted(
        (project, stack)
        for project, stack in found
        if not any((root / "locks" / "organization" / project / stack).glob("*.json"))
    )


def repair(found: list[Damage]) -> list[Damage]:
    """Repair the files. Return the damages that cannot be repaired. Raises `OSError`."""
    for damage in found:
        if damage.is_lost:
            continue
        if damage.backup is None:
            damage.file.unlink(missing_ok=True)
        else:
            copy = damage.file.with_name(f"{damage.file.name}.restored")
            copy.write_bytes(damage.backup.read_bytes())
            copy.replace(damage.file)
    return [damage for damage in found if damage.is_lost]


def _shared(root: Path) -> Iterator[Damage]:
    for file in (root / "meta.yaml", root / f"meta.yaml{ATTRIBUTES}"):
        with suppress(OSError):
            if not file.read_bytes().strip():
                yield Damage(file=file)


def _of_stack(root: Path, project: str, stack: str) -> Iterator[Damage]:
    of_this = re.compile(re.escape(stack) + r"(\.json|\.pulumi-tags)(\..+)?")
    folders = [root / part / project for part in _PARTS]
    files = [file for file in _files(folders[0]) if of_this.fullmatch(file.name)]
    files += [file for folder in folders[1:] for file in _files(folder / stack)]
    for file in files:
        if _TEMPORARY.fullmatch(file.name) or (file.name.endswith(ATTRIBUTES) and not _is_json(file)):
            yield Damage(file=file)
        elif file.parent == folders[0] and (match := _STATE.fullmatch(file.name)) and match[1] == stack:
            if not _is_json(file):
                backup = _backup(file, root, project, stack)
                yield Damage(file=file, backup=backup, is_lost=backup is None)
        elif file.parent.parent == root / "history" / project and _is_empty(file):
            yield Damage(file=file)


def _backup(state: Path, root: Path, project: str, stack: str) -> Path | None:
    """Return the last usable state: the file `.bak`, or the newest of the history or the backups."""
    backup = state.with_name(f"{state.name}.bak")
    if _is_json(backup):
        return backup
    older = [
        file
        for part in ("history", "backups")
        for file in _files(root / part / project / stack)
        if _CHECKPOINT.fullmatch(file.name)
        and ".history." not in file.name
        and file.name.endswith(".gz") == state.name.endswith(".gz")
    ]
    newest_first = sorted(older, key=lambda file: file.stat().st_mtime_ns, reverse=True)
    return next((file for file in newest_first if _is_json(file)), None)


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_file())
    except OSError:
        return []


def _is_empty(file: Path) -> bool:
    try:
        return file.stat().st_size == 0
    except OSError:
        return False


def _is_json(file: Path) -> bool:
    """Return whether a file has a JSON object."""
    try:
        raw = file.read_bytes()
        return isinstance(json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw), dict)
    except (OSError, ValueError, EOFError):
        return False
