"""The preflight as a check of `plan`."""

from __future__ import annotations

from collections.abc import Iterator

from pulumi_vertex_training.cli.teams.plan.checks import CheckFinding, CheckResult, PlanContext
from pulumi_vertex_training.cli.teams.preflight import view
from pulumi_vertex_training.cli.teams.preflight.places import places_of, report_of
from pulumi_vertex_training.preflight.remedies import sentence
from pulumi_vertex_training.preflight.report import Report
from vertex_training.command_line.errors import CommandError


def check(context: PlanContext) -> CheckResult | None:
    """Return the findings about the jobs that the deployment submits that are not in order.

    Return None without such a job. A plan starts no emulator, so it checks nothing on one that does not run.
    """
    places = places_of(context.previewed, context.timeouts)
    if not places or context.previewed.plan.errors:
        return None
    try:
        report = report_of(places, context.stack or "", seconds=context.timeouts.preflight)
    except CommandError as error:
        return CheckResult(
            name="preflight",
            summary="Nothing was checked",
            findings=(CheckFinding(severity="unknown", message=str(error)),),
            document={"counts": {}},
        )
    return CheckResult(
        name="preflight",
        summary=view.summary_of(report),
        findings=tuple(_findings(report)),
        document={"counts": dict(report.counts)},
    )


def _findings(report: Report) -> Iterator[CheckFinding]:
    """Yield the findings that are not in order."""
    for _, finding in report.entries():
        if finding.level != "ok":
            yield CheckFinding(
                severity=finding.level,
                message=f"{finding.about}: {finding.message}.",
                resource=finding.resource,
                remedy=sentence(finding.remedy),
            )
