"""The findings of a preflight that a preview reports: about one job, and about the quota of several."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.preflight.checks import capacity
from pulumi_vertex_training.preflight.finding import Finding
from pulumi_vertex_training.preflight.preflight import findings_of
from pulumi_vertex_training.preflight.remedies import sentence
from pulumi_vertex_training.preflight.scope import Scope
from pulumi_vertex_training.preflight.subject import Subject
from pulumi_vertex_training.runs.lookups import Lookups
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import all_of

VARIABLE = "VERTEX_TRAINING_PREFLIGHT"
OFF = "off"
"""The value of `VARIABLE` that turns the preflight of previews off, in one shell."""


def is_off() -> bool:
    """Return whether this process makes no preflight."""
    return os.environ.get(VARIABLE, "").lower() == OFF


def problems_of(
    subject: Subject,
    *,
    project: str,
    location: str,
    connect: Callable[[], Endpoint | None],
    lookups: Lookups,
    seconds: float,
    reported: Collection[str],
    is_preview: bool,
) -> tuple[Problem, ...]:
    """Return the problems of a job on Google Cloud, and one warning that lists what is not known.

    `reported` are the paths whose problems are reported already. `is_preview` is as in `Scope`.
    """
    scope = Scope(
        project=project, location=location, is_emulator=False, subjects=(subject,), is_preview=is_preview
    )
    findings = [
        finding
        for finding in findings_of(scope, connect, lookups, seconds=seconds)
        if not (finding.path and finding.path in reported)
    ]
    return (
        *(_problem(one, is_preview) for one in findings if one.level in ("error", "warning")),
        *_unknown(findings),
    )


def quota_problems(
    subjects: Sequence[Subject],
    *,
    project: str,
    location: str,
    connect: Callable[[], Endpoint | None],
    lookups: Lookups,
    seconds: float,
) -> tuple[Problem, ...]:
    """Return a warning for each quota that is enough for each job of a place alone, and not for all of them.

    `lookups` are those that `problems_of` made for the jobs: nothing is asked again.
    """
    by_name = tuple(sorted(subjects, key=lambda subject: subject.name))
    scope = Scope(project=project, location=location, is_emulator=False, subjects=by_name, is_preview=True)
    findings = findings_of(scope, connect, lookups, seconds=seconds, checks=capacity.quota_together)
    return tuple(_problem(finding, True) for finding in findings if finding.check == "quota")


def _problem(finding: Finding, is_preview: bool) -> Problem:
    # A preview needs no credentials: it shows what a program declares.
    is_error = finding.level == "error" and not (is_preview and finding.check == "credentials")
    remedy = f". {sentence(finding.remedy)}" if finding.remedy else ""
    return Problem(
        path=finding.path,
        message=f"{finding.about}: {finding.message}{remedy}",
        level="error" if is_error else "warning",
    )


def _unknown(found: Iterable[Finding]) -> tuple[Problem, ...]:
    names = list(dict.fromkeys(one.about for one in found if one.level == "unknown"))
    if not names:
        return ()
    message = (
        f"the preflight could not look up {all_of(names)}. `vertex-training preflight` says why; "
        "`pulumi config set vertex-training:preflightTimeout 0` turns it off"
    )
    return (Problem(path="", message=message, level="warning"),)
