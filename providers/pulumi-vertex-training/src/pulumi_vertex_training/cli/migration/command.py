"""`migrate-state`: move a stack between dynamic providers and the package, with its jobs."""

from __future__ import annotations

import argparse
import json
import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulumi_vertex_training import configuration_keys, pulumi_command
from pulumi_vertex_training.cli.migration.rewrite import NotMovedError, Rewritten, rewritten
from pulumi_vertex_training.package.wire import names
from pulumi_vertex_training.timeouts import Timeouts
from vertex_training.command_line.answer import Answer
from vertex_training.command_line.errors import CommandError
from vertex_training.command_line.output import Output
from vertex_training.fields.document import json_of
from vertex_training.findings.words import counted

_ENCRYPTED, _SHOWN = (), ("--show-secrets",)


def migrate(options: argparse.Namespace, _: Output) -> Answer:
    """Run the command `migrate-state`. Without --yes it changes nothing."""
    folder = pulumi_command.folder_of(options.cwd)
    stack = pulumi_command.stack_arguments(options.stack)
    exported = _export(folder, stack, options.timeouts, _ENCRYPTED)
    try:
        found = _moved(exported, folder, stack, options)
    except NotMovedError as error:
        raise CommandError(f"The stack is not moved: {error}") from None
    backup = None
    if options.yes and found.moved:
        backup = _keep(folder, exported, pulumi_command.names_of(folder, options.stack)[1])
        _pulumi(folder, ["stack", "import", *stack], options.timeouts, stdin=json.dumps(found.state))
    return Moved(resources=tuple(found.moved), to=options.to, stack=options.stack, backup=backup)


def _moved(exported: str, folder: Path, stack: list[str], options: argparse.Namespace) -> Rewritten:
    try:
        return rewritten(_read(exported), options.to)
    except names.EncryptedError:
        return rewritten(_read(_export(folder, stack, options.timeouts, _SHOWN)), options.to)
    except ValueError as error:
        raise NotMovedError(str(error)) from None


def _read(exported: str) -> dict[str, Any]:
    try:
        state = json.loads(exported)
    except ValueError:
        state = None
    if not isinstance(state, dict):
        raise NotMovedError("`pulumi stack export` printed no state.")
    return state


def _export(folder: Path, stack: list[str], timeouts: Timeouts, more: tuple[str, ...]) -> str:
    return _pulumi(folder, ["stack", "export", *stack, *more], timeouts)


def _pulumi(folder: Path, words: list[str], timeouts: Timeouts, *, stdin: str | None = None) -> str:
    ran = pulumi_command.run(words, folder, timeouts.pulumi, stdin=stdin)
    if ran.code:
        raise CommandError(f"`pulumi {' '.join(words)}` failed with exit code {ran.code}: {ran.message}")
    return ran.out


def _keep(folder: Path, exported: str, stack: str) -> Path:
    """Write the present state into a new file, which only its owner may read."""
    for position in range(1, 10_000):
        file = folder / f"{stack or 'stack'}.state-before-migration-{position}.json"
        try:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        except OSError as error:
            raise CommandError(f"The state cannot be kept, so nothing is changed: {error}.") from error
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(exported)
        return file
    raise CommandError(f"{folder} is full of kept states. Remove those that you do not need.")


@dataclass(frozen=True, kw_only=True)
class Moved(Answer):
    """The resources that moved to a form, or would move; `backup` is the state as it was, None if it is."""

    resources: tuple[Any, ...]
    to: str
    stack: str | None
    backup: Path | None

    def document(self) -> dict[str, Any]:
        return {
            "to": self.to,
            "resources": [json_of(one, "kind name id") for one in self.resources],
            "migrated": self.backup is not None,
            "backup": json_of(self.backup),
            "errors": [],
        }

    def show(self, output: Output) -> None:
        to = self.to
        if not self.resources:
            output.paragraph(
                f"No resource of the stack has to be moved to the form {to}. Nothing is changed."
            )
            return
        output.table(("RESOURCE", "NAME", "ID"), [(one.kind, one.name, one.id) for one in self.resources])
        count = counted(len(self.resources), "resource")
        if self.backup is None:
            output.paragraph(
                f"{count} would move to the form {to}. Only Pulumi's state changes: jobs keep running. While "
                "it does, nothing else may deploy the stack. To move it, add --yes."
            )
            return
        stack = ["--stack", self.stack] if self.stack else []
        choose = shlex.join(["pulumi", "config", "set", configuration_keys.FORM.name, to, *stack])
        preview = shlex.join(["pulumi", "preview", *stack])
        restore = shlex.join(["pulumi", "stack", "import", *stack, "--file", str(self.backup)])
        output.paragraph(
            f"{count} moved to the form {to}. For a program in Python, run `{choose}`. Then `{preview}` "
            "shows them as unchanged."
        )
        output.paragraph(
            f"The state as it was is in {self.backup}. To go back to it before anything is deployed, run "
            f"`{restore}`."
        )
