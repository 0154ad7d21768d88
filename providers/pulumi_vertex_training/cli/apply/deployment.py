"""`pulumi up` with a plan, without the messages in which the engine prints values of secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from pulumi_vertex_training.cli import pulumi_command
from pulumi_vertex_training.cli.apply.staleness import has_secret
from pulumi_vertex_training.cli.plan.plan import name_of
from pulumi_vertex_training.cli.plan.saved_plan import SavedPlan
from pulumi_vertex_training.cli.policy.stack_policies import policies_of
from pulumi_vertex_training.views.output import Output

_VIOLATION = re.compile(r"resource (urn:\S+) violates plan|not allowed by the plan|but none were seen")
_MOST_LINES = 40


@dataclass(kw_only=True)
class Ended:
    """The end of a deployment.

    `differs` is the name of a resource that differs from the plan, if the engine found that before it changed
    anything. `message` is the end of the output.
    """

    code: int = 0
    differs: str = ""
    message: str = ""


@dataclass(kw_only=True)
class _Reader:
    """Passes on what the engine prints, up to the first message about the plan: it may have secrets."""

    output: Output
    began: bool = False
    differs: str = ""
    lines: list[str] = field(default_factory=list)

    def __call__(self, line: str) -> None:
        self.began = self.began or line.startswith("Updating")
        if self.differs:
            return
        found = _VIOLATION.search(line)
        if found:
            self.differs = name_of({"urn": found[1]}) if found[1] else "a resource"
            line = f"{line[: found.start()]}{self.differs} differs from the plan"
        self.lines = [*self.lines, line][-_MOST_LINES:]
        if not self.output.as_json:
            self.output.line(line)


def deploy(
    file: Path,
    saved: SavedPlan,
    folder: Path,
    stack: str | None,
    output: Output,
    *,
    configuration: Mapping[str, object] = MappingProxyType({}),
) -> Ended:
    """Deploy a plan that has been compared with a new preview, and wait for the end.

    Only the engine can compare secrets. If the plan sets any, it previews once more before it changes
    anything. It enforces the policies that the stack's configuration names.
    """
    policies = policies_of(configuration, folder)
    reader = _Reader(output=output)
    code = pulumi_command.stream(
        [
            "up",
            "--plan",
            str(file),
            "--yes",
            *([] if has_secret(saved) else ["--skip-preview"]),
            *(["--refresh"] if saved.refresh else []),
            *pulumi_command.stack_arguments(stack),
            *(policies.arguments if policies else ()),
        ],
        folder,
        reader,
    )
    differs = reader.differs if code and not reader.began else ""
    return Ended(code=code, differs=differs, message=" ".join("\n".join(reader.lines).split())[-1000:])
