"""`plan`: run the preview of a stack, and report each resource's effect and the live jobs that will stop."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from pulumi_vertex_training.cli import pulumi_command, target
from pulumi_vertex_training.cli.plan import view
from pulumi_vertex_training.cli.plan.plan import Change, Plan, RecordedJob, read
from pulumi_vertex_training.cloud.errors import CloudError, NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.views.failure import BAD_INPUT, FAILED, CommandError, InputError
from pulumi_vertex_training.views.output import Output

_TIMEOUT = 1800.0
_SHORT = 60.0


def plan(options: argparse.Namespace, output: Output) -> int:
    """Run the command `plan`. Return 2 if the preview has errors, and 1 with --exit-code for any change."""
    if output.as_json and options.markdown:
        raise InputError("Give one of --json and --markdown.", path="--markdown")
    folder = pulumi_command.folder_of(options.cwd)
    if sys.stderr.isatty():
        output.note("Previewing ...")
    arguments = [
        "preview",
        "--json",
        "--show-sames",
        *pulumi_command.stack_arguments(options.stack),
        *(["--refresh"] if options.refresh else []),
    ]
    found = _preview(pulumi_command.run(arguments, folder, _TIMEOUT))
    live = _live_jobs(found, lambda: _data_dir(folder, options))
    if output.as_json:
        output.document(view.document(found, live))
    elif options.markdown:
        output.line(view.markdown(found, live))
    else:
        view.show(found, live, output)
    if found.errors:
        return BAD_INPUT
    return FAILED if found.changes and options.exit_code else 0


def _preview(ran: pulumi_command.Ran) -> Plan:
    """Return the plan. Raises CommandError if the engine did not get as far as a preview."""
    start = ran.out.find("{")
    try:
        document = json.loads(ran.out[start:]) if start >= 0 else None
    except ValueError:
        document = None
    if not isinstance(document, Mapping):
        said = ran.message or "it printed nothing"
        raise CommandError(f"`pulumi preview` failed with exit code {ran.code}: {said}")
    found = read(document)
    if ran.code and not found.errors:
        said = " ".join(ran.err.split()).removeprefix("error: ")
        raise CommandError(f"`pulumi preview` failed with exit code {ran.code}: {said}")
    return found


def _data_dir(folder: Path, options: argparse.Namespace) -> Path | None:
    """Return the emulator's folder as the stack configures it, or None for the default."""
    stack = pulumi_command.stack_arguments(options.stack)
    ran = pulumi_command.run(["config", "get", "vertex-training:dataDir", *stack], folder, _SHORT)
    return Path(ran.out.strip()).expanduser() if ran.code == 0 and ran.out.strip() else None


def _live_jobs(found: Plan, data_dir: Callable[[], Path | None]) -> dict[str, view.LiveJob]:
    """Return the live jobs that the deployment will stop, by the URN of their resource.

    A job whose service does not answer is reported with the state `UNKNOWN`.
    """
    stopped = [(change, change.stopped) for change in found.changes if change.stopped is not None]
    if not stopped:
        return {}
    folder = data_dir() if any(job.endpoint == "emulator" for _, job in stopped) else None
    return {
        change.urn: live for change, job in stopped if (live := _live_job(change, job, folder)) is not None
    }


def _live_job(change: Change, job: RecordedJob, data_dir: Path | None) -> view.LiveJob | None:
    try:
        record = _record(job, data_dir)
    except NotFound:
        return None
    except (CloudError, CommandError) as error:
        return view.LiveJob(job=job.name, state="UNKNOWN", replicas=job.replicas, trouble=str(error))
    if record.state.is_terminal:
        return None
    return view.LiveJob(
        job=job.name,
        state=record.state.word,
        replicas=job.replicas,
        since=record.start_time or record.create_time or "",
        runs_again=change.effect == "replace",
    )


def _record(job: RecordedJob, data_dir: Path | None) -> JobRecord:
    choice = target.Choice(
        kind=job.endpoint,
        project=job.project,
        location=job.location,
        data_dir=data_dir if job.endpoint == "emulator" else None,
    )
    return gateway_of(job.name).get(target.resolve(choice), job.name)
