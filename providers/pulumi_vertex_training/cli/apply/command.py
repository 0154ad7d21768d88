"""`apply`: deploy a saved plan, or refuse because it no longer applies."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

from pulumi_vertex_training import pulumi_command
from pulumi_vertex_training.cli.apply.deployment import Ended, deploy
from pulumi_vertex_training.cli.apply.staleness import Reason, reasons
from pulumi_vertex_training.cli.plan import saved_plan
from pulumi_vertex_training.cli.plan.checks import PlanContext
from pulumi_vertex_training.cli.plan.plan import Plan
from pulumi_vertex_training.cli.plan.preview import Preview, preview
from pulumi_vertex_training.cli.plan.saved_plan import SavedPlan
from pulumi_vertex_training.cli.plan.view import of_resource, summary_of
from pulumi_vertex_training.cli.policy import of_plan
from pulumi_vertex_training.cli.policy.stack_policies import policies_of, require_usable
from pulumi_vertex_training.views.failure import BAD_INPUT, FAILED, InputError
from pulumi_vertex_training.views.output import Output

_REFUSED = "Mandatory policies refuse the deployment"


def apply(options: argparse.Namespace, output: Output) -> int:
    """Run the command `apply`.

    Return 2 if the plan no longer applies, and 1 if the deployment fails or mandatory policies refuse it.
    """
    folder = pulumi_command.folder_of(options.cwd)
    saved = saved_plan.load(options.plan)
    if sys.stderr.isatty():
        output.note("Comparing the plan with a new preview ...")
    previewed = preview(folder, options.stack, timeouts=options.timeouts, refresh=saved.refresh, save=True)
    found = previewed.plan
    _check_place(saved, found, options)
    if found.errors:
        refused = tuple(
            Reason(what="program", message=error.message, resource=error.resource) for error in found.errors
        )
    else:
        refused = reasons(saved, saved_plan.of_preview(previewed, folder, refresh=saved.refresh))
    if refused:
        return _refuse(refused, saved, options, output)
    if not options.yes:
        broken = _broken_policies(previewed, folder)
        return _refuse_by_policy(broken, saved, output) if broken else _accept(saved, found, output)
    ended = deploy(
        options.plan.absolute(),
        saved,
        folder,
        options.stack,
        output,
        configuration=previewed.configuration,
    )
    if ended.differs:
        message = "a secret has another value than in the plan"
        differs = Reason(what="plan", message=message, resource=ended.differs)
        return _refuse((differs,), saved, options, output)
    failure = _failure(ended)
    state = "What it has changed is in the state" if ended.began else "Nothing was changed"
    if output.as_json:
        errors = [{"resource": "", "message": f"{failure}: {ended.message}"}] if failure else []
        output.document(_document(saved, deployed=not failure, applies=True, errors=errors))
    elif failure:
        output.errors([{"message": f"{failure}. {state}; plan again."}])
    return FAILED if failure else 0


def _failure(ended: Ended) -> str:
    """Return why a deployment failed, or "" if it did not."""
    if ended.refused:
        return _REFUSED
    return f"`pulumi up` failed with exit code {ended.code}" if ended.code else ""


def _check_place(saved: SavedPlan, found: Plan, options: argparse.Namespace) -> None:
    """Raise InputError for a plan of another stack."""
    if found.stack and (saved.project, saved.stack) != (found.project, found.stack):
        raise InputError(
            f"{options.plan} is a plan of {saved.project}, stack {saved.stack}; this is {found.project}, "
            f"stack {found.stack}. Give its stack with --stack and its folder with --cwd.",
            path="--plan",
        )


def _broken_policies(previewed: Preview, folder: Path) -> tuple[str, ...]:
    """Return the violations for which the engine would refuse the deployment, () without a policy pack.

    Raises InputError for policies that the engine could not apply.
    """
    policies = policies_of(previewed.configuration, folder)
    if policies is None or policies.pack is None:
        return ()
    require_usable(policies)
    result = of_plan.check(PlanContext(previewed=previewed, folder=folder))
    return tuple(one.sentence for one in result.findings if one.severity == "error") if result else ()


def _refuse_by_policy(broken: tuple[str, ...], saved: SavedPlan, output: Output) -> int:
    if output.as_json:
        errors = [{"resource": "", "message": f"{_REFUSED}: {one}"} for one in broken]
        output.document(_document(saved, deployed=False, applies=True, errors=errors))
    else:
        lines = [f"  {one}" for one in broken]
        output.errors([{"message": "\n".join([f"{_REFUSED}, and nothing was changed.", *lines])}])
    return FAILED


def _accept(saved: SavedPlan, found: Plan, output: Output) -> int:
    if output.as_json:
        output.document(_document(saved, deployed=False, applies=True))
        return 0
    output.paragraph(f"{_title(saved)} still applies: {summary_of(found)}.")
    output.paragraph("To deploy it, add --yes.")
    return 0


def _refuse(
    refused: tuple[Reason, ...], saved: SavedPlan, options: argparse.Namespace, output: Output
) -> int:
    sentences = [of_resource(one.resource, one.message) for one in refused]
    summary = f"{_title(saved)} no longer applies, and nothing was changed."
    remedy = _plan_again(options)
    if output.as_json:
        errors = [{"resource": one.resource, "message": one.message} for one in refused]
        output.document(
            _document(saved, deployed=False, applies=False, reasons=refused, errors=errors, remedy=remedy)
        )
        return BAD_INPUT
    lines = [f"  {one.what}: {sentence}" for one, sentence in zip(refused, sentences, strict=True)]
    output.errors([{"message": "\n".join([summary, *lines, f"Make a new plan: {remedy}"])}])
    return BAD_INPUT


def _document(
    saved: SavedPlan,
    *,
    deployed: bool,
    applies: bool,
    reasons: tuple[Reason, ...] = (),
    errors: list[dict[str, str]] | None = None,
    remedy: str = "",
) -> dict[str, Any]:
    return {
        "project": saved.project,
        "stack": saved.stack,
        "applies": applies,
        "deployed": deployed,
        "reasons": [{"what": one.what, "resource": one.resource, "message": one.message} for one in reasons],
        "remedy": remedy or None,
        "errors": errors or [],
    }


def _title(saved: SavedPlan) -> str:
    return f"The plan of {saved.project}, stack {saved.stack},"


def _plan_again(options: argparse.Namespace) -> str:
    file: Path = options.plan
    words = ["vertex-training", "plan", "--save-plan", str(file)]
    words += ["--stack", options.stack] if options.stack else []
    words += ["--cwd", str(options.cwd)] if options.cwd else []
    return shlex.join(words)
