"""The answer to a shell that asks how a command line may go on: commands, options, files, names of jobs.

The shell runs the command at each completion, which therefore imports as little as `--help`. The names of
jobs come from a running emulator only: a call to Google Cloud would take too long, and need credentials.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vertex_training.command_line.arguments import Parser
from vertex_training.fields.labels import OWNERSHIP_LABELS, owner_of

if TYPE_CHECKING:
    from pulumi_vertex_training.cloud.jobs import JobRecord

Completer = Callable[..., Iterable[str]]

_FILES = frozenset({"file", "old", "new", "plan", "save_plan", "persistent_resource"})
_FOLDERS = frozenset({"data_dir", "cwd"})
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]*")
"""Names that are offered. Others would have to be quoted for the shell, or could control the terminal."""


def complete(parser: Parser) -> None:
    """Print the possible words to the shell, and end the process."""
    import argcomplete
    from argcomplete.completers import ChoicesCompleter, DirectoriesCompleter, FilesCompleter

    nothing = ChoicesCompleter({})  # an option without choices has no values that could be offered
    for each in parser.each():
        for action in each.arguments():
            completer: Completer | None = None
            if action.dest in _FOLDERS:
                completer = DirectoriesCompleter()
            elif action.dest in _FILES or action.type is Path:
                completer = FilesCompleter()
            elif action.metavar in ("JOB", "NAME") and not action.option_strings:
                completer = _resources if each.prog.endswith(" runs") else _jobs
            elif action.dest == "stack" and "job" in vars(action).get("help", ""):
                completer = _stacks
            if completer is not None:
                action.completer = completer  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser, default_completer=nothing, always_complete_options=False)


def _jobs(*, parsed_args: argparse.Namespace, **_: object) -> Iterable[str]:
    """Return names and ids of the jobs on the emulator, newest first."""
    records = _records(parsed_args)
    names = (name for one in records for name in (one.labels.get("pulumi-resource", ""), one.display_name))
    return [*_plain(names), *dict.fromkeys(_qualified(records)), *_plain(one.job_id for one in records)]


def _resources(*, parsed_args: argparse.Namespace, **_: object) -> Iterable[str]:
    """Return the names of resources whose jobs are on the emulator."""
    records = _records(parsed_args)
    names = (one.labels.get("pulumi-resource", "") for one in records)
    return [*_plain(names), *dict.fromkeys(_qualified(records))]


def _qualified(records: Iterable[JobRecord]) -> Iterator[str]:
    """Yield PROJECT/STACK/NAME of the resources of stacks."""
    for record in records:
        owner = owner_of(record.labels)
        if len(owner) == len(OWNERSHIP_LABELS) and all(map(_PLAIN.fullmatch, owner.values())):
            yield "/".join(owner.values())


def _stacks(*, parsed_args: argparse.Namespace, **_: object) -> Iterable[str]:
    """Return PROJECT/STACK of the stacks whose jobs are on the emulator."""
    return dict.fromkeys(name.rpartition("/")[0] for name in _qualified(_records(parsed_args)))


def _plain(names: Iterable[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if _PLAIN.fullmatch(name)]


def _records(options: argparse.Namespace) -> Sequence[JobRecord]:
    """Return the jobs on the emulator, none without one: a completion has no place for an error."""
    from pulumi_vertex_training.cloud.errors import CloudError
    from pulumi_vertex_training.timeouts import ORDINARY
    from pulumi_vertex_training.views import target
    from pulumi_vertex_training.views.jobs.lookup import all_jobs
    from vertex_training.command_line.errors import CommandError

    try:
        endpoint = target.resolve(
            target.Choice(
                kind=getattr(options, "endpoint", None),
                project=getattr(options, "project", None),
                location=getattr(options, "location", None),
                data_dir=getattr(options, "data_dir", None),
                timeouts=ORDINARY,
            )
        )
        return all_jobs(endpoint) if endpoint.is_emulator else ()
    except (CloudError, CommandError):
        return ()
