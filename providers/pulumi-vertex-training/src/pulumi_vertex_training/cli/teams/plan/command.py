"""`plan`: run the preview of a stack, and report each resource's effect and the live jobs that will stop."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime, timezone
from pathlib import Path

from pulumi_vertex_training import pulumi_command
from pulumi_vertex_training.cli.teams.plan import checks
from pulumi_vertex_training.cli.teams.plan.answer import PlanAnswer
from pulumi_vertex_training.cli.teams.plan.comment import comment_of_failure
from pulumi_vertex_training.cli.teams.plan.live import live_jobs
from pulumi_vertex_training.cli.teams.plan.losses import losses
from pulumi_vertex_training.cli.teams.plan.preview import Preview, preview
from pulumi_vertex_training.cli.teams.plan.saved_plan import discard, save
from vertex_training.command_line.answer import Answer
from vertex_training.command_line.errors import CommandError, InputError
from vertex_training.command_line.output import Output


def plan(options: argparse.Namespace, output: Output) -> Answer:
    """Run the command `plan`."""
    folder = pulumi_command.folder_of(options.cwd)
    if sys.stderr.isatty():
        output.note("Previewing ...")
    if options.save_plan is not None:
        discard(options.save_plan)  # so that a plan of an earlier preview is never deployed
    try:
        previewed = preview(
            folder,
            options.stack,
            timeouts=options.timeouts,
            refresh=options.refresh,
            save=options.save_plan is not None,
            environment=checks.ENVIRONMENT,
        )
    except InputError:
        raise
    except CommandError as error:
        if options.markdown:
            project, stack = pulumi_command.names_of(folder, options.stack)
            output.line(comment_of_failure(project, stack, str(error), datetime.now(timezone.utc)))
        raise
    found = previewed.plan
    live = live_jobs(found, _data_dir(previewed), options.timeouts)
    lost = losses(previewed.steps, _data_dir(previewed), options.timeouts)
    context = checks.PlanContext(
        previewed=previewed,
        folder=folder,
        stack=options.stack,
        timeouts=options.timeouts,
        ended=frozenset(one.urn for one in found.changes if one.stopped and one.urn not in live),
    )
    results = () if found.errors else checks.run(context)
    answer = PlanAnswer(
        plan=found,
        live=live,
        losses=lost,
        results=results,
        saved=options.save_plan,
        fails_on_change=options.exit_code,
    )
    if options.save_plan is not None and not answer.is_refused:
        save(previewed, options.save_plan, folder, refresh=options.refresh)
    return answer


def _data_dir(previewed: Preview) -> Path | None:
    """Return the emulator's folder as the stack configures it, or None for the default."""
    configured = previewed.configuration.get("vertex-training:dataDir")
    return Path(str(configured)).expanduser() if configured else None
