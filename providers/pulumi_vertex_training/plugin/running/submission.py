"""Create and update: the job of a run is found or submitted, and its record kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pulumi.dynamic import CreateResult, UpdateResult

from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.plugin.connection import endpoint_of
from pulumi_vertex_training.plugin.operation import OPERATION
from pulumi_vertex_training.plugin.process import engine_address, require_engine, say
from pulumi_vertex_training.plugin.provider import inbound, outbound
from pulumi_vertex_training.plugin.running import adopting
from pulumi_vertex_training.plugin.running.declaration import JobResourceType, another_directory
from pulumi_vertex_training.plugin.running.hidden_input import hide_in_job_outputs, reveal_job
from pulumi_vertex_training.plugin.running.job_cache import settle_seconds
from pulumi_vertex_training.plugin.running.reading import facts, with_directory
from pulumi_vertex_training.runs.deletion_policy import OnDelete
from pulumi_vertex_training.runs.rerun import Policy
from pulumi_vertex_training.runs.submission import Submission, find_or_submit
from vertex_training.job.job_kind import DIRECTORY


def create(declared: JobResourceType, props: dict[str, Any]) -> CreateResult:
    """The job of the run: adopted, found again, or submitted."""
    raw = reveal_job(inbound(props))
    inputs = declared.decode_inputs(raw).spec
    if inputs is None:
        raise ValueError(
            f"a {declared.noun} reached create with inputs that check refuses; please report this"
        )
    if declared.follows_run(inputs) and not OPERATION.issued(inputs.run):
        inputs = declared.spec.with_output_directory(inputs, another_directory(inputs))
    endpoint = endpoint_of(raw)
    recorded = OPERATION.recorded_generation(inputs.run)
    if adopting.is_due(inputs, OPERATION.released(), recorded=recorded):
        return _created(declared, raw, adopting.adopted(declared, endpoint, inputs, tell=say), adopted=True)
    submission = Submission(
        key=inputs.run,
        spec_hash=inputs.spec_hash or "",
        issued_here=OPERATION.issued(inputs.run),
        on_delete=OnDelete(inputs.on_delete),
        any_spec=inputs.rerun == Policy.NEVER.value,
        released=OPERATION.released(),
        recorded=recorded,
        settle=settle_seconds(endpoint),
    )

    def tell(line: str) -> None:
        say(f"{declared.resource(raw)}: {line}")

    record, adopted = find_or_submit(
        declared.kind,
        replace(endpoint, allow_unknown_types=inputs.allow_unknown_types),
        declared.wire(inputs),
        submission,
        before_submit=require_engine,
        tell=tell,
        before_delete=declared.before_delete(replaced=False, tell=tell),
    )
    if adopted:
        say(f"{declared.resource(raw)}: adopted {declared.noun} {record.job_id} of an interrupted deployment")
    return _created(declared, raw, record)


def update(declared: JobResourceType, olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
    """The record alone changes. The directory is where the job writes; a job that was made again under its
    key has one of its own.
    """
    outs = {**reveal_job(olds), "output_path": None, **reveal_job(news)}
    return UpdateResult(hide_in_job_outputs(with_directory(declared, outs, olds.get(DIRECTORY))))


def _created(
    declared: JobResourceType, raw: dict[str, Any], record: JobRecord, *, adopted: bool = False
) -> CreateResult:
    outs = {**raw, **facts(declared, record)}
    if record.wire:
        # An adopted job writes where the deployment that submitted it said.
        outs = with_directory(declared, outs, declared.spec.directory_of(record.wire))
    # How a job ended that somebody else ran is no failure of this deployment.
    outs["asked_by"] = None if adopted and record.state.is_terminal else engine_address()
    return CreateResult(record.name, outbound(hide_in_job_outputs(outs)))
