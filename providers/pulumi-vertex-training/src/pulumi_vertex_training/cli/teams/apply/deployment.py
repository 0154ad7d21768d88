"""`pulumi up` with a plan, without the messages in which the engine prints values of secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from pulumi_vertex_training import pulumi_command, urns
from pulumi_vertex_training.cli.teams.apply.staleness import has_secret
from pulumi_vertex_training.cli.teams.plan.saved_plan import SavedPlan
from pulumi_vertex_training.cli.teams.policy.stack_policies import policies_of, require_usable
from pulumi_vertex_training.pulumi_command import ENGINES_PACK
from vertex_training.command_line.output import Output

_VIOLATION = re.compile(r"resource (urn:\S+) violates plan|not allowed by the plan|but none were seen")
_MOST_LINES, _LONGEST = 40, 1000
_REFUSED = re.compile(r"^\s+- \[mandatory\]")
_POLICIES, _BLANK = "Policies:", ""


@dataclass(kw_only=True)
class Ended:
    """The end of a deployment.

    `differs` is the name of a resource that differs from the plan, if the engine found that before it changed
    anything. `message` is the end of the output. `refused` means that it broke a mandatory policy; `message`
    then lists the violations. `began` means that resources may have changed.
    """

    code: int = 0
    differs: str = ""
    message: str = ""
    refused: bool = False
    began: bool = False


@dataclass(kw_only=True)
class _Reader:
    """Passes on what the engine prints, up to the first message about the plan: it may have secrets."""

    output: Output
    began: bool = False
    differs: str = ""
    lines: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    in_policies: bool = False

    def __call__(self, line: str) -> None:
        self.began = self.began or line.startswith("Updating")
        if self.differs:
            return
        found = _VIOLATION.search(line)
        if found:
            self.differs = urns.parse(found[1]).name if found[1] else "a resource"
            line = f"{line[: found.start()]}{self.differs} differs from the plan"
        self.lines = [*self.lines, line][-_MOST_LINES:]
        self.in_policies = line == _POLICIES or (self.in_policies and line != _BLANK)
        if self.in_policies:
            self.violations.append(line)
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

    Only the engine can compare secrets, and enforce policies. If the plan sets any secret, or the stack has
    policies, it previews once more before it changes anything. Raises InputError for policies that the engine
    could not apply.
    """
    policies = policies_of(configuration, folder)
    if policies is not None:
        require_usable(policies)
    has_packs = (policies is not None and policies.pack is not None) or os.environ.get(ENGINES_PACK)
    reader = _Reader(output=output)
    code = pulumi_command.stream(
        [
            "up",
            "--plan",
            str(file),
            "--yes",
            *([] if has_secret(saved) or has_packs else ["--skip-preview"]),
            *(["--refresh"] if saved.refresh else []),
            *pulumi_command.stack_arguments(stack),
            *(policies.arguments if policies else ()),
        ],
        folder,
        reader,
        environment=policies.environment if policies else None,
    )
    differs = reader.differs if code and not reader.began else ""
    refused = bool(code) and any(map(_REFUSED.match, reader.violations))
    return Ended(
        code=code,
        differs=differs,
        message=_one_line(reader.violations) if refused else _one_line(reader.lines)[-_LONGEST:],
        refused=refused,
        began=reader.began,
    )


def _one_line(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())
