"""Read the past of stacks from a file backend of Pulumi.

A file backend keeps these files below `.pulumi`:

* `history/PROJECT/STACK/*.checkpoint.json`: the state at the end of every update. `stack rm` deletes it.
* `stacks/PROJECT/STACK.json.bak`: the state before the last change, such as `pulumi state delete`. It stays.
* `backups/PROJECT/STACK/*.json`: like the history. It stays.
* `locks/organization/PROJECT/STACK/*.json`: during a deployment, and after a kill until `pulumi cancel`.

The history of an existing stack is its own. The backups may be of an earlier stack of the same name, so a
`.bak` file counts only if it is newer than the first entry of the history.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pulumi_vertex_training.cli.gc.candidates import KnownStack
from pulumi_vertex_training.cli.gc.stack_state import NOTHING, StackName, StateContents, contents_of, merged
from vertex_training.fields import timestamps

_SCHEME = "file://"
_CHECKPOINT = re.compile(r".*-(\d+)\.checkpoint\.json(\.gz)?")


def absolute(backend: str) -> str:
    """Make the folder in the URL of a file backend absolute. Return other URLs unchanged."""
    if not backend.startswith(_SCHEME):
        return backend
    path, question, query = backend.removeprefix(_SCHEME).partition("?")
    return f"{_SCHEME}{Path(path).expanduser().resolve()}{question}{query}"


def folder(backend: str) -> Path | None:
    """Return the `.pulumi` folder of a file backend, or None for other backends."""
    if not backend.startswith(_SCHEME):
        return None
    return Path(unquote(absolute(backend).removeprefix(_SCHEME).partition("?")[0])) / ".pulumi"


def is_locked(root: Path, name: StackName) -> bool:
    """Return whether a deployment of the stack is running, or was killed without `pulumi cancel`."""
    return any((root / "locks" / "organization" / name.project / name.stack).glob("*.json"))


def with_history(stacks: Sequence[KnownStack], backend: str, root: Path) -> list[KnownStack]:
    """Return the stacks with their past, and the stacks that were removed while they had resources."""
    found = []
    for stack in stacks:
        past = _past(root, stack.name) if stack.name.project else None
        found.append(replace(stack, past=past or NOTHING, has_history=past is not None))
    existing = {(stack.name.project, stack.name.stack) for stack in stacks}
    for project, name in sorted(_stacks_with_backups(root)):
        # If the stack exists again, the backups may be of the earlier one.
        past = merged(_contents_of_files(_backup_files(root, project, name)))
        if past != NOTHING:
            suffix = " (before it was removed)" if (project, name) in existing else ""
            found.append(
                KnownStack(
                    name=StackName(backend=backend, project=project, stack=name + suffix), now=None, past=past
                )
            )
    return found


def _past(root: Path, name: StackName) -> StateContents:
    """Return the recorded past of an existing stack, without that of an earlier stack of its name."""
    entries = [
        (int(match[1]), file)
        for file in _files(root / "history" / name.project / name.stack)
        if (match := _CHECKPOINT.fullmatch(file.name))
    ]
    contents = list(_contents_of_files(file for _, file in entries))
    if entries:
        created = min(nanoseconds for nanoseconds, _ in entries) / 1e9
        for file in _backups_of(root, name.project, name.stack):
            state = _read(file)
            written = _written(state)
            if state is not None and written is not None and written >= created:
                contents += _contents(state)
    return merged(contents)


def _stacks_with_backups(root: Path) -> set[tuple[str, str]]:
    """Return project and name of the stacks that have backups."""
    stacks = {(file.parent.parent.name, file.parent.name) for file in root.glob("backups/*/*/*.json*")}
    for file in root.glob("stacks/*/*.json*.bak"):
        stacks.add(
            (file.parent.name, file.name.removesuffix(".bak").removesuffix(".gz").removesuffix(".json"))
        )
    return stacks


def _backup_files(root: Path, project: str, name: str) -> Iterator[Path]:
    yield from _files(root / "backups" / project / name)
    yield from _backups_of(root, project, name)


def _backups_of(root: Path, project: str, name: str) -> Iterator[Path]:
    for ending in (".json.bak", ".json.gz.bak"):
        file = root / "stacks" / project / f"{name}{ending}"
        if file.is_file():
            yield file


def _files(where: Path) -> Iterator[Path]:
    if where.is_dir():
        yield from (file for file in sorted(where.iterdir()) if file.name.endswith((".json", ".json.gz")))


def _contents_of_files(files: Iterable[Path]) -> Iterator[StateContents]:
    for file in files:
        yield from _contents(_read(file))


def _contents(state: dict[str, Any] | None) -> Iterator[StateContents]:
    """Yield the contents of a checkpoint, or nothing if it cannot be read, such as a partial file."""
    if state is not None:
        try:
            yield contents_of(state)
        except ValueError:
            return


def _read(file: Path) -> dict[str, Any] | None:
    try:
        raw = file.read_bytes()
        state = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    except (OSError, ValueError, EOFError):
        return None
    return state if isinstance(state, dict) else None


def _written(state: dict[str, Any] | None) -> float | None:
    """Return when a checkpoint was written, in seconds since 1970, or None if it does not say."""
    try:
        text = state["checkpoint"]["latest"]["manifest"]["time"]  # type: ignore[index]
        return timestamps.parse(text).timestamp()
    except (KeyError, TypeError, ValueError):
        return None
