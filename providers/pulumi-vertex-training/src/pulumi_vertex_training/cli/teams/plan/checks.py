"""The checks of a plan besides the preview: cost, limits, preflight, policy. Each says by itself what failed.

A check is a function of a `PlanContext`, in a module that only `plan` imports. They run side by side. A check
that does not apply to the stack returns None, and appears nowhere.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from pulumi_vertex_training.cli.teams.plan.preview import Preview
from pulumi_vertex_training.costs.configured_limits import LIMITS_VARIABLE, REPORTED
from pulumi_vertex_training.preflight import before_submission
from pulumi_vertex_training.printed_commands import for_stack
from pulumi_vertex_training.runs.lookups import in_parallel
from pulumi_vertex_training.timeouts import ORDINARY, Timeouts
from vertex_training.fields.document import json_of

Severity = Literal["error", "warning", "unknown", "info"]


@dataclass(frozen=True, kw_only=True)
class CheckFinding:
    """A finding of a check. `remedy` is a sentence with the command or page that repairs it, or "".

    `type` is the resource's, such as "StagingBucket", if others may be meant as well: the parts of a
    `DistributedTraining` have one name. `figures` are lines below the message. A finding is "unknown" if it
    could not be found out.
    """

    severity: Severity
    message: str
    resource: str = ""
    type: str = ""
    remedy: str = ""
    figures: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        resource = f"{self.type} {self.resource}".strip()
        said = f"{resource}: {self.message}" if resource else self.message
        return f"{said} {self.remedy}".rstrip()


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """The result of a check. `document` is its own JSON; `summary` is a sentence without its full stop.

    `by_resource` has words about resources of the plan, by URN, for their rows. `headings` and `rows` are a
    table for Markdown.
    """

    name: str
    summary: str = ""
    findings: tuple[CheckFinding, ...] = ()
    by_resource: Mapping[str, str] = field(default_factory=dict)
    headings: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    document: Mapping[str, Any] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """True if any finding is an error."""
        return any(one.severity == "error" for one in self.findings)


@dataclass(frozen=True, kw_only=True)
class PlanContext:
    """A preview to check: its plan, steps and configuration, where it was made, and with which timeouts.

    `ended` are the URNs of jobs that the state has as live and that have ended.
    """

    previewed: Preview
    folder: Path
    stack: str | None = None
    timeouts: Timeouts = ORDINARY
    ended: frozenset[str] = frozenset()


Check = Callable[[PlanContext], "CheckResult | None"]

EXIT_CODES: Mapping[str, int] = MappingProxyType({"cost": 4, "preflight": 8, "policy": 16})
"""The part of the exit code that each failed check adds. The sum says which of them failed."""

ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {LIMITS_VARIABLE: REPORTED, before_submission.VARIABLE: before_submission.OFF}
)
"""Variables by which the previewed program leaves to `plan` what would refuse its preview."""

CHECKS: tuple[str, ...] = (
    "pulumi_vertex_training.cli.teams.plan.costs:check",
    "pulumi_vertex_training.cli.teams.plan.limits:check",
    "pulumi_vertex_training.cli.teams.preflight.of_plan:check",
    "pulumi_vertex_training.cli.teams.policy.of_plan:check",
)
"""The checks as "module:function", in the order in which they are shown."""


def run(context: PlanContext, checks: Sequence[Check] | None = None) -> tuple[CheckResult, ...]:
    """Return the results of the checks that apply, for the plan's stack. Their errors are raised here."""
    functions = [_loaded(name) for name in CHECKS] if checks is None else list(checks)
    results = in_parallel([functools.partial(check, context) for check in functions])
    stack = context.previewed.plan.stack or context.stack
    return tuple(_for_stack(result, stack) for result in results if result is not None)


def _for_stack(result: CheckResult, stack: str | None) -> CheckResult:
    """Return a result whose commands name the stack, which may not be the selected one."""
    findings = (
        replace(one, message=for_stack(one.message, stack), remedy=for_stack(one.remedy, stack))
        for one in result.findings
    )
    return replace(result, findings=tuple(findings))


def failed(results: Iterable[CheckResult]) -> tuple[str, ...]:
    """Return the names of the failed checks."""
    return tuple(result.name for result in results if result.failed)


def exit_code(results: Iterable[CheckResult]) -> int:
    """Return the sum of the failed checks' codes, 0 without any."""
    return sum(EXIT_CODES[name] for name in failed(results))


def document(results: Iterable[CheckResult]) -> dict[str, Any]:
    """Return the results as JSON, by name, each with its findings."""
    return {
        result.name: {
            **result.document,
            "failed": result.failed,
            "findings": [
                {
                    **json_of(one, "severity resource type message remedy"),
                    **({"figures": list(one.figures)} if one.figures else {}),
                }
                for one in result.findings
            ],
        }
        for result in results
    }


def words_about(urn: str, results: Iterable[CheckResult]) -> Iterator[str]:
    """Yield the words of the checks about a resource: "cost: $0.62 -> $1.24 an hour"."""
    for result in results:
        if said := result.by_resource.get(urn):
            yield f"{result.name}: {said}"


def _loaded(name: str) -> Check:
    module, _, function = name.partition(":")
    check: Check = getattr(importlib.import_module(module), function)
    return check
