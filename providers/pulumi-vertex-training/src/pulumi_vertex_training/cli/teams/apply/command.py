"""`apply`: deploy a saved plan, or refuse because it no longer applies."""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulumi_vertex_training import pulumi_command
from pulumi_vertex_training.cli.teams.apply.deployment import Ended, deploy
from pulumi_vertex_training.cli.teams.apply.staleness import Reason, reasons
from pulumi_vertex_training.cli.teams.plan import checks, saved_plan
from pulumi_vertex_training.cli.teams.plan.checks import PlanContext
from pulumi_vertex_training.cli.teams.plan.plan import Plan
from pulumi_vertex_training.cli.teams.plan.preview import Preview, preview
from pulumi_vertex_training.cli.teams.plan.saved_plan import SavedPlan
from pulumi_vertex_training.cli.teams.plan.view import of_resource, summary_of
from pulumi_vertex_training.cli.teams.policy import of_plan
from pulumi_vertex_training.cli.teams.policy.stack_policies import policies_of, require_usable
from vertex_training.command_line.answer import Answer
from vertex_training.command_line.errors import BAD_INPUT, FAILED, InputError
from vertex_training.command_line.output import Output
from vertex_training.fields.document import json_of

_REFUSED = "Mandatory policies refuse the deployment"


@dataclass(frozen=True, kw_only=True)
class Applied(Answer):
    """A plan that was deployed, still applies, or was refused.

    `reasons` are why it no longer applies, `errors` all problems by resource. People see
    `lines`, as an error unless the exit code is 0. `remedy` is the command that plans again.
    """

    saved: SavedPlan
    code: int = 0
    applies: bool = True
    deployed: bool = False
    reasons: tuple[Reason, ...] = ()
    errors: tuple[tuple[str, str], ...] = ()
    remedy: str = ""
    lines: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        return self.code

    def document(self) -> dict[str, Any]:
        return {
            **json_of(self.saved, "project stack"),
            **json_of(self, "applies deployed"),
            "reasons": [json_of(one, "what resource message") for one in self.reasons],
            "remedy": self.remedy or None,
            "errors": [{"resource": name, "message": message} for name, message in self.errors],
        }

    def show(self, output: Output) -> None:
        if self.code:
            output.errors([{"message": "\n".join(self.lines)}])
            return
        for line in self.lines:
            output.paragraph(line)


def apply(options: argparse.Namespace, output: Output) -> Answer:
    """Run the command `apply`.

    The exit code is 2 if the plan no longer applies, and 1 if the deployment fails or policies refuse it.
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
        return _refused(refused, saved, options)
    if not options.yes:
        return _compared(saved, previewed, folder)
    ended = deploy(
        options.plan.absolute(), saved, folder, options.stack, output, configuration=previewed.configuration
    )
    if ended.differs:
        message = "a secret has another value than in the plan"
        differs = Reason(what="plan", message=message, resource=ended.differs)
        return _refused((differs,), saved, options)
    if failure := _failure(ended):
        state = "What it has changed is in the state" if ended.began else "Nothing was changed"
        errors = (("", f"{failure}: {ended.message}"),)
        return Applied(saved=saved, code=FAILED, errors=errors, lines=(f"{failure}. {state}; plan again.",))
    return Applied(saved=saved, deployed=True)


def _compared(saved: SavedPlan, previewed: Preview, folder: Path) -> Applied:
    """Return the answer without a deployment: the plan applies, or policies refuse it."""
    if broken := _broken_policies(previewed, folder):
        errors = tuple(("", f"{_REFUSED}: {one}") for one in broken)
        lines = (f"{_REFUSED}, and nothing was changed.", *(f"  {one}" for one in broken))
        return Applied(saved=saved, code=FAILED, errors=errors, lines=lines)
    still = f"{_title(saved)} still applies: {summary_of(previewed.plan)}."
    return Applied(saved=saved, lines=(still, "To deploy it, add --yes."))


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
    context = PlanContext(previewed=previewed, folder=folder)
    results = checks.run(context, [of_plan.check])
    return tuple(one.sentence for result in results for one in result.findings if one.severity == "error")


def _refused(refused: tuple[Reason, ...], saved: SavedPlan, options: argparse.Namespace) -> Applied:
    remedy = _plan_again(options)
    return Applied(
        saved=saved,
        code=BAD_INPUT,
        applies=False,
        reasons=refused,
        errors=tuple((one.resource, one.message) for one in refused),
        remedy=remedy,
        lines=(
            f"{_title(saved)} no longer applies, and nothing was changed.",
            *(f"  {one.what}: {of_resource(one.resource, one.message)}" for one in refused),
            f"Make a new plan: {remedy}",
        ),
    )


def _title(saved: SavedPlan) -> str:
    return f"The plan of {saved.project}, stack {saved.stack},"


def _plan_again(options: argparse.Namespace) -> str:
    file: Path = options.plan
    words = ["vertex-training", "plan", "--save-plan", str(file)]
    words += ["--stack", options.stack] if options.stack else []
    words += ["--cwd", str(options.cwd)] if options.cwd else []
    return shlex.join(words)
