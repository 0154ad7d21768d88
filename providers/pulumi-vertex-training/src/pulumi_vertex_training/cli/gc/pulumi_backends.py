"""Read the stacks of a backend through the `pulumi` command, and the past of stacks from a file backend.

A file backend keeps these files below `.pulumi`:

* `history/PROJECT/STACK/*.checkpoint.json`: the state at the end of every update. `stack rm` deletes it.
* `stacks/PROJECT/STACK.json.bak`: the state before the last change, such as `pulumi state delete`. It stays.
* `backups/PROJECT/STACK/*.json`: like the history. It stays.
* `locks/organization/PROJECT/STACK/*.json`: during a deployment, and after a kill until `pulumi cancel`.

The history of an existing stack is its own. The backups may be of an earlier stack of the same name, so a
`.bak` file counts only if it is newer than the first entry of the history.

A stack that cannot be read might have any job, so every failure here ends the command.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pulumi_vertex_training.cli.gc.candidates import KnownStack
from pulumi_vertex_training.cli.gc.stack_state import NOTHING, StackName, StateContents, contents_of, merged
from pulumi_vertex_training.parallel import call_each
from vertex_training.command_line.errors import CommandError
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


def with_past(stacks: Sequence[KnownStack], backend: str, root: Path) -> list[KnownStack]:
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
    """Return the recorded past of an existing stack, without an earlier stack of its name."""
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


_AT_ONCE = 4
_NEWEST_VERSIONS = 50
"""Versions of a stack on Pulumi Cloud that are read, from the newest: each one takes a request."""


@dataclass(frozen=True, kw_only=True)
class Ran:
    """Exit code and output of a `pulumi` command."""

    code: int
    out: str
    err: str


Pulumi = Callable[[Sequence[str], "str | None"], Ran]
"""Run `pulumi` with these arguments and this backend; None is the one that it is logged in to."""


def pulumi(words: Sequence[str], backend: str | None, *, timeout: float) -> Ran:
    """Run the `pulumi` on PATH.

    With a backend it runs outside of any project, so that stacks have full names. Raises CommandError if the
    command does not exist or does not end within `timeout` seconds.
    """
    environment = {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"}
    environment.pop("PULUMI_STACK", None)
    if backend is not None:
        environment["PULUMI_BACKEND_URL"] = backend
    with tempfile.TemporaryDirectory() as neutral:
        try:
            done = subprocess.run(  # noqa: S603
                ["pulumi", *words, "--non-interactive"],  # noqa: S607
                cwd=None if backend is None else neutral,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=timeout,
            )
        except FileNotFoundError:
            raise CommandError(
                "`pulumi` is not on PATH, so the states of the stacks cannot be read. Nothing was deleted. "
                "In a clone of this project, run `source ./activate`."
            ) from None
        except subprocess.TimeoutExpired:
            raise CommandError(
                f"`pulumi {' '.join(words)}` did not end within {timeout:g} s. Nothing was deleted."
            ) from None
    return Ran(code=done.returncode, out=done.stdout, err=done.stderr)


def backend_urls(given: Sequence[str], run: Pulumi) -> list[str]:
    """Return the URLs of the given backends without duplicates, or of the one that `pulumi` uses here."""
    if given:
        return list(dict.fromkeys(map(absolute, given)))
    answer = _json(run, ["whoami", "--verbose", "--json"], None)
    url = answer.get("url") if isinstance(answer, dict) else None
    if not url:
        raise CommandError(
            "`pulumi whoami` does not name a backend. Name one with --backend URL, such as file://~ or "
            "https://api.pulumi.com.",
            path="--backend",
        )
    return [absolute(str(url))]


def read_stacks(backend: str, run: Pulumi) -> list[KnownStack]:
    """Return every stack of the backend with its present state, without its past."""
    listed = _list(backend, run)
    names = [_name(backend, str(one.get("name", ""))) for one in listed]
    root = folder(backend)
    # Read this before the states: a deployment that ends in between has written what it made.
    deployed = [
        is_locked(root, name) if root is not None else one.get("updateInProgress")
        for name, one in zip(names, listed, strict=True)
    ]
    states = call_each(lambda name: _present_state(name, run), names, at_once=_AT_ONCE)
    return [
        KnownStack(name=name, now=state, past=NOTHING, has_history=False, is_deployed_now=is_deployed)
        for name, state, is_deployed in zip(names, states, deployed, strict=True)
    ]


def with_history(
    stacks: Sequence[KnownStack], backend: str, wanted: Callable[[StackName], bool], run: Pulumi
) -> list[KnownStack]:
    """Return the stacks of one backend with their past as far as it can be read, and the removed stacks.

    On Pulumi Cloud every version takes a request, so only the past of `wanted` stacks is read. A past that
    cannot be read proves nothing, so it is not an error.
    """
    root = folder(backend)
    if root is not None:
        return with_past(stacks, backend, root)
    if not backend.startswith(("https://", "http://")):
        return list(stacks)

    def past_of(stack: KnownStack) -> KnownStack:
        past = _versions(stack.name, run) if wanted(stack.name) else None
        return replace(stack, past=past or NOTHING, has_history=past is not None)

    return call_each(past_of, stacks, at_once=_AT_ONCE)


def _list(backend: str, run: Pulumi) -> list[dict[str, Any]]:
    listed = _json(run, ["stack", "ls", "--all", "--json"], backend)
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise CommandError(
            f"`pulumi stack ls` of {backend} did not print a list of stacks. Nothing was deleted."
        )
    return listed


def _name(backend: str, full: str) -> StackName:
    """Parse ORGANIZATION/PROJECT/STACK. Stacks of old file backends have no project."""
    *_, organization, project, stack = ("", "", *full.split("/"))
    return StackName(backend=backend, project=project, stack=stack, organization=organization)


def _present_state(name: StackName, run: Pulumi) -> StateContents:
    state = _json(run, ["stack", "export", "--stack", name.reference], name.backend)
    try:
        return contents_of(state if isinstance(state, dict) else {}, with_text=True)
    except ValueError as error:
        raise CommandError(
            f"Stack {name} cannot be read: {error}. It might have any of the jobs, so nothing was deleted."
        ) from None


def _versions(name: StackName, run: Pulumi) -> StateContents | None:
    """Return the contents of the newest versions of a stack on Pulumi Cloud, None if they cannot be read."""
    one_stack = ["--stack", name.reference]
    try:
        history = _json(run, ["stack", "history", *one_stack, "--json"], name.backend)
        versions = [int(one["version"]) for one in history][:_NEWEST_VERSIONS]
        contents = [
            contents_of(_json(run, ["stack", "export", *one_stack, "--version", str(version)], name.backend))
            for version in versions
        ]
    except (CommandError, ValueError, KeyError, TypeError):
        return None
    return merged(contents)


def _json(run: Pulumi, words: Sequence[str], backend: str | None) -> Any:
    ran = run(words, backend)
    shown = f"`pulumi {' '.join(words)}`" + (f" of {backend}" if backend else "")
    if ran.code:
        said = " ".join((ran.err or ran.out).split())[-600:]
        raise CommandError(f"{shown} failed: {said}. Nothing was deleted.")
    try:
        return json.loads(ran.out)
    except ValueError:
        raise CommandError(f"{shown} did not print JSON. Nothing was deleted.") from None
