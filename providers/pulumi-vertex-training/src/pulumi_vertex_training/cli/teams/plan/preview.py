"""One run of `pulumi preview`, with its JSON and, on request, the engine's own plan of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pulumi_vertex_training import pulumi_command
from pulumi_vertex_training.cli.core_names import step_in_core_names
from pulumi_vertex_training.cli.teams.plan.plan import Plan, read
from pulumi_vertex_training.costs import reports
from pulumi_vertex_training.costs.reports import Reports
from pulumi_vertex_training.temporary_folders import temporary_folder
from pulumi_vertex_training.timeouts import Timeouts
from vertex_training.command_line.errors import CommandError


@dataclass(frozen=True, kw_only=True)
class Preview:
    """A preview: the plan, its steps in the engine's JSON, and the engine's plan, empty if not asked for.

    `configuration` is the stack's, with "[secret]" for each secret. `reports` has inputs that the steps hide
    because a part of them is a secret.
    """

    plan: Plan
    configuration: Mapping[str, Any] = field(default_factory=dict)
    steps: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    engine_plan: Mapping[str, Any] = field(default_factory=dict, repr=False)
    reports: Reports = field(default_factory=Reports, repr=False)

    @property
    def revealed_steps(self) -> Sequence[Mapping[str, Any]]:
        """The steps with all inputs that are no secret."""
        return tuple(map(self.reports.revealed, self.steps))


def preview(
    folder: Path,
    stack: str | None,
    *,
    timeouts: Timeouts,
    refresh: bool = False,
    save: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Preview:
    """Run the preview of a stack. Raises CommandError if the engine did not get as far as a preview.

    With `save`, the result has the engine's plan, unless the preview has errors. `environment` has variables
    of the program besides this process's. The engine applies no policy packs: their violations would
    end the preview, and its JSON does not have them.
    """
    # The engine's plan has the program's values, so nobody else may read it.
    with temporary_folder("vertex-training-plan-") as private:
        file, folder_of_reports = private / "plan.json", private / "reports"
        folder_of_reports.mkdir(mode=0o700)
        ran = pulumi_command.run(
            [
                "preview",
                "--json",
                "--show-sames",
                *(["--save-plan", str(file)] if save else []),
                *pulumi_command.stack_arguments(stack),
                *(["--refresh"] if refresh else []),
            ],
            folder,
            timeouts.pulumi_preview,
            environment={
                **pulumi_command.NO_POLICIES,
                reports.VARIABLE: str(folder_of_reports),
                **(environment or {}),
            },
        )
        found = of_document(_document(ran), reports.read(folder_of_reports))
        if ran.code and not found.plan.errors:
            said = " ".join(ran.err.split()).removeprefix("error: ")
            raise CommandError(f"`pulumi preview` failed with exit code {ran.code}: {said}")
        engine_plan = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return replace(found, engine_plan=engine_plan)


def of_document(document: Mapping[str, Any], reported: Reports | None = None) -> Preview:
    """Return a preview by its JSON, with the core's names, and with what its processes have reported."""
    reported = reported or Reports()
    steps = [step_in_core_names(step) for step in document.get("steps") or ()]
    # Inputs of other resources than new ones are compared as the engine has them: hidden on both sides.
    shown = [reported.revealed(step) if step.get("op") == "create" else step for step in steps]
    return Preview(
        plan=read({**document, "steps": shown}),
        configuration=document.get("config") or {},
        steps=steps,
        reports=reported,
    )


def _document(ran: pulumi_command.Ran) -> Mapping[str, Any]:
    start = ran.out.find("{")
    try:
        document = json.loads(ran.out[start:]) if start >= 0 else None
    except ValueError:
        document = None
    if not isinstance(document, Mapping):
        said = ran.message or "it printed nothing"
        raise CommandError(f"`pulumi preview` failed with exit code {ran.code}: {said}")
    return document
