"""What a file backend of Pulumi keeps of its stacks beside their states, below `.pulumi`.

* `history/PROJECT/STACK/*.checkpoint.json`: the state at the end of every update; goes with `stack rm`.
* `stacks/PROJECT/STACK.json.bak`: the state before the last change, `pulumi state delete` for example; stays.
* `backups/PROJECT/STACK/*.json`: as the history; stays.
* `locks/organization/PROJECT/STACK/*.json`: during a deployment, and after a kill until `pulumi cancel`.

So of a stack that exists the history is its own, while the other two may be those of a stack that had the
same name before: a `.bak` counts only when it is younger than the first entry of the history.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pulumi_vertex_training.cli.gc.candidates import KnownStack
from pulumi_vertex_training.cli.gc.stack_memory import NOTHING, Memory, StackName, memory_of, united
from vertex_training.fields import timestamps

_SCHEME = "file://"
_CHECKPOINT = re.compile(r".*-(\d+)\.checkpoint\.json(\.gz)?")


def absolute(backend: str) -> str:
    """The URL of a file backend with its folder from the root; others as they are."""
    if not backend.startswith(_SCHEME):
        return backend
    path, question, query = backend.removeprefix(_SCHEME).partition("?")
    return f"{_SCHEME}{Path(path).expanduser().resolve()}{question}{query}"


def folder(backend: str) -> Path | None:
    """The folder of a file backend; None for others."""
    if not backend.startswith(_SCHEME):
        return None
    return Path(absolute(backend).removeprefix(_SCHEME).partition("?")[0]) / ".pulumi"


def is_locked(root: Path, name: StackName) -> bool:
    """Whether a deployment of the stack goes on, or was killed and not cancelled."""
    return any((root / "locks" / "organization" / name.project / name.stack).glob("*.json"))


def with_history(stacks: Sequence[KnownStack], backend: str, root: Path) -> list[KnownStack]:
    """The stacks with their past, and those that were removed with resources in them."""
    found = []
    for stack in stacks:
        past = _past(root, stack.name) if stack.name.project else None
        found.append(replace(stack, past=past or NOTHING, has_history=past is not None))
    existing = {(stack.name.project, stack.name.stack) for stack in stacks}
    for project, name in sorted(_left_behind(root)):
        # Of a stack that exists again these may be from its life before.
        past = united(_memories(_leftovers(root, project, name)))
        if past != NOTHING:
            suffix = " (before it was removed)" if (project, name) in existing else ""
            found.append(
                KnownStack(
                    name=StackName(backend=backend, project=project, stack=name + suffix), now=None, past=past
                )
            )
    return found


def _past(root: Path, name: StackName) -> Memory:
    """What is recorded of the present life of a stack that exists."""
    entries = [
        (int(match[1]), file)
        for file in _files(root / "history" / name.project / name.stack)
        if (match := _CHECKPOINT.fullmatch(file.name))
    ]
    memories = list(_memories(file for _, file in entries))
    if entries:
        born = min(nanoseconds for nanoseconds, _ in entries) / 1e9
        for file in _backups_of(root, name.project, name.stack):
            state = _read(file)
            written = _written(state)
            if state is not None and written is not None and written >= born:
                memories += _memory(state)
    return united(memories)


def _left_behind(root: Path) -> set[tuple[str, str]]:
    """Project and name of the stacks of which there are backups."""
    stacks = {(file.parent.parent.name, file.parent.name) for file in root.glob("backups/*/*/*.json*")}
    for file in root.glob("stacks/*/*.json*.bak"):
        stacks.add(
            (file.parent.name, file.name.removesuffix(".bak").removesuffix(".gz").removesuffix(".json"))
        )
    return stacks


def _leftovers(root: Path, project: str, name: str) -> Iterator[Path]:
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


def _memories(files: Iterator[Path] | Any) -> Iterator[Memory]:
    for file in files:
        yield from _memory(_read(file))


def _memory(state: dict[str, Any] | None) -> Iterator[Memory]:
    """What a checkpoint says; nothing for one that cannot be read, such as half of one."""
    if state is not None:
        try:
            yield memory_of(state)
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
    """When a checkpoint was written, in seconds since 1970."""
    try:
        text = state["checkpoint"]["latest"]["manifest"]["time"]  # type: ignore[index]
        return timestamps.parse(text).timestamp()
    except (KeyError, TypeError, ValueError):
        return None
