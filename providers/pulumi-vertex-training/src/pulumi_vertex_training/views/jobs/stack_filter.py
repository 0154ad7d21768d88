"""The stack of a job: as the user names it, as the working directory selects it, as labels have it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pulumi_vertex_training import pulumi_command
from pulumi_vertex_training.timeouts import Timeouts
from vertex_training.command_line.errors import CommandError, InputError
from vertex_training.fields.labels import owner_of, ownership_label_value
from vertex_training.findings.words import shown

_MOST_PARTS = 3
"""A stack's full name is ORGANIZATION/PROJECT/STACK. Labels have no organization."""


@dataclass(frozen=True, kw_only=True)
class StackFilter:
    """A Pulumi project and stack. None accepts any."""

    project: str | None = None
    stack: str | None = None

    def accepts(self, labels: Mapping[str, str]) -> bool:
        """Return whether the labels belong to a job of the project and stack."""
        owner = owner_of(labels)
        return all(
            wanted is None or owner.get(key) == ownership_label_value(wanted)
            for key, wanted in (("project", self.project), ("stack", self.stack))
        )

    def __str__(self) -> str:
        if self.stack is None:
            return f"project {self.project}" if self.project else "any stack"
        return f"stack {self.project}/{self.stack}" if self.project else f"stack {self.stack}"


def named(text: str, *, project: str | None, path: str) -> StackFilter:
    """Return the stack named STACK, PROJECT/STACK or ORGANIZATION/PROJECT/STACK. Raises InputError.

    `project` is the project of a STACK alone, None for any. `path` names the argument.
    """
    parts = text.split("/")
    if not all(parts) or len(parts) > _MOST_PARTS:
        raise InputError(f"{shown(text)} is not a stack. Give STACK or PROJECT/STACK.", path=path)
    return StackFilter(project=parts[-2] if len(parts) > 1 else project, stack=parts[-1])


def of_options(options: argparse.Namespace) -> StackFilter | None:
    """Return the stack of --stack and --pulumi-project, None without them.

    A --stack without a project is of the project of the working directory, if there is one.
    """
    project: str | None = getattr(options, "pulumi_project", None)
    stack: str | None = getattr(options, "stack", None)
    if stack is None:
        return StackFilter(project=project) if project else None
    if project is None and "/" not in stack:
        project = pulumi_command.project_here(Path.cwd())
    found = named(stack, project=project, path="--stack")
    if project not in (None, found.project):
        raise InputError(
            f"--stack {stack} and --pulumi-project {project} name two projects. Leave one of them out.",
            path="--pulumi-project",
        )
    return found


def selected_here(timeouts: Timeouts) -> StackFilter:
    """Return the project of the working directory, and its selected stack if there is one."""
    folder = Path.cwd()
    project = pulumi_command.project_here(folder)
    if project is None:
        return StackFilter()
    stack = os.environ.get("PULUMI_STACK", "")
    if not stack:
        try:
            ran = pulumi_command.run(["stack", "--show-name"], folder, timeouts.pulumi)
        except CommandError:  # without the CLI no stack is selected
            return StackFilter(project=project)
        stack = ran.out.strip() if ran.code == 0 else ""
    return StackFilter(project=project, stack=stack.rpartition("/")[2] or None)


def state_here(timeouts: Timeouts) -> str | None:
    """Return the state of the selected stack as JSON, None if it cannot be read."""
    try:
        ran = pulumi_command.run(["stack", "export"], Path.cwd(), timeouts.pulumi)
    except CommandError:
        return None
    return ran.out if ran.code == 0 else None
