"""The provider of every kind of job: a job is found by its run's key, and replaced on purpose.

Check and diff are in `plan`; this module has create, update, read and delete.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, ClassVar

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.core import engine
from pulumi_vertex_training.core.call import Call, Checked, Created, Difference, Found, Values
from pulumi_vertex_training.core.connection import endpoint_of
from pulumi_vertex_training.core.engine import say
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.provider import DRIFT, Provider
from pulumi_vertex_training.core.run_context import DeclaredRun
from pulumi_vertex_training.core.running import begun_work, plan
from pulumi_vertex_training.core.running.declaration import (
    MODEL_OF_REPLACED,
    RECORD,
    JobInputs,
    JobResourceType,
    another_directory,
    models_kept_because,
)
from pulumi_vertex_training.core.running.hidden_input import (
    hide_in_job,
    hide_in_job_outputs,
    put,
    reveal_job,
)
from pulumi_vertex_training.core.running.job_cache import settle_seconds
from pulumi_vertex_training.core.running.plan import completed
from pulumi_vertex_training.core.running.rerun_decision import allow_on_demand, has_ended
from pulumi_vertex_training.runs import deletion
from pulumi_vertex_training.runs.deletion import StillRunningError, delete_run
from pulumi_vertex_training.runs.identity import parse, with_number
from pulumi_vertex_training.runs.policies import rerun
from pulumi_vertex_training.runs.policies.deletion_policy import OnDelete, OnReplace
from pulumi_vertex_training.runs.policies.rerun import Policy
from pulumi_vertex_training.runs.submission import Submission, find_or_submit
from vertex_training.fields.uris import DIRECTORY


class JobProvider(Provider):
    """The base of the providers of jobs.

    Inputs: those of `declared.inputs`. Outputs besides: the facts of the job's record. The provider of a kind
    is a subclass at an import path that never changes, with nothing but `declared`.
    """

    declared: ClassVar[JobResourceType]

    def check(self, call: Call) -> Checked:
        OPERATION.note_former_stack(call.old_inputs.get("marks"), call.inputs.get("marks"))
        return plan.check(self.declared, call)

    def diff(self, call: Call) -> Difference:
        return plan.diff(self.declared, call)

    def create(self, call: Call) -> Created:
        return create(self.declared, call)

    def update(self, call: Call) -> Values:
        return update(self.declared, call)

    def read(self, call: Call) -> Found | None:
        return read(self.declared, call)

    def delete(self, call: Call) -> None:
        delete(self.declared, call)


def create(declared: JobResourceType, call: Call) -> Created:
    """Return the job of the run: adopted, found again, or submitted."""
    raw = reveal_job(call.inputs)
    inputs = declared.decode_inputs(raw).spec
    if inputs is None:
        raise ValueError(
            f"create received inputs of a {declared.noun} that check rejects; please report this"
        )
    if declared.follows_run(inputs) and not OPERATION.runs.issued(inputs.run):
        inputs = declared.spec.with_output_directory(inputs, another_directory(inputs))
    endpoint = endpoint_of(raw)
    recorded = OPERATION.runs.recorded_generation(inputs.run)
    if plan.is_due(inputs, OPERATION.runs.released(), recorded=recorded):
        return _created(declared, raw, plan.adopt(declared, endpoint, inputs, tell=say), adopted=True)
    submission = Submission(
        key=inputs.run,
        spec_hash=inputs.spec_hash or "",
        issued_here=OPERATION.runs.issued(inputs.run),
        keep_record=inputs.on_delete == OnDelete.CANCEL.value,
        any_spec=inputs.rerun == Policy.NEVER.value,
        released=OPERATION.runs.released(),
        recorded=OPERATION.runs.unrecorded_after(inputs.run),
        reason=_reason(inputs.run, recorded),
        settle=settle_seconds(endpoint),
    )

    def tell(line: str) -> None:
        say(f"{declared.resource(raw)}: {line}")

    record, adopted = find_or_submit(
        declared.gateway,
        dataclasses.replace(endpoint, allow_unknown_types=inputs.allow_unknown_types),
        declared.wire(inputs),
        submission,
        before_submit=lambda: engine.require(OPERATION.engine, OPERATION.settings.timeouts),
        tell=tell,
        before_delete=declared.before_delete(kept_because="", tell=tell),
    )
    if adopted:
        say(f"{declared.resource(raw)}: adopted {declared.noun} {record.job_id} of an interrupted deployment")
    _delete_oldest(declared, endpoint, inputs, record)
    return _created(declared, raw, record)


def _reason(key: str, recorded: int) -> str:
    """Return the code of the reason for a job that is submitted now, "" if the run was left out."""
    if decided := OPERATION.runs.reason(key):
        return decided
    again = recorded == parse(key).generation
    return rerun.ON_DEMAND if again else OPERATION.runs.recorded_reason(key)


def _delete_oldest(
    declared: JobResourceType, endpoint: Endpoint, inputs: JobInputs, record: JobRecord
) -> None:
    """Delete the records of earlier runs beyond `keep_runs`.

    A failure is no failure of the new job, whose id would be lost with it.
    """
    key = parse(inputs.run)
    if key.generation == 1 and not OPERATION.runs.recorded_generation(inputs.run):
        return
    try:
        deletion.delete_oldest(
            declared.gateway,
            endpoint,
            key,
            keep=inputs.keep_runs,
            without={record.name} | OPERATION.all_made(),
            before_delete=declared.before_delete(kept_because=MODEL_OF_REPLACED, tell=lambda _: None),
        )
    except (CloudError, StillRunningError) as error:
        say(
            f"warning: {inputs.marks.get('resource')}: old runs are kept, keep_runs={inputs.keep_runs} "
            f"applies again with the next run: {error}"
        )


def update(declared: JobResourceType, call: Call) -> Values:
    """Return the outputs with the new record, which alone changes.

    The directory stays the one that the job writes to: a job that was created again under its key has its
    own.
    """
    outs = {**reveal_job(call.outputs), "output_path": None, **reveal_job(call.inputs)}
    return hide_in_job_outputs(with_directory(declared, outs, call.outputs.get(DIRECTORY)))


def _created(
    declared: JobResourceType, raw: dict[str, Any], record: JobRecord, *, adopted: bool = False
) -> Created:
    outs = {**raw, **facts(declared, record)}
    if record.wire:
        # An adopted job keeps the directory that it was submitted with.
        outs = with_directory(declared, outs, declared.spec.directory_of(record.wire))
    # The failure of a job that was adopted after its end is no failure of this deployment.
    outs["asked_by"] = None if adopted and record.state.is_terminal else OPERATION.engine
    return Created(id=record.name, outputs=hide_in_job_outputs(outs))


def read(declared: JobResourceType, call: Call) -> Found | None:
    """Return the recorded outputs with the service's; none for a job that certainly does not exist."""
    recorded = {name: value for name, value in call.outputs.items() if name != DRIFT}
    raw = reveal_job(recorded)
    try:
        record = declared.gateway.get(endpoint_of(raw), call.id)
    except NotFound:
        if has_ended(raw):
            return Found(outputs=recorded)  # a finished job is a steady state
        if raw.get("rerun") == Policy.NEVER.value or raw.get("adopt"):
            # A job with rerun=never is not forgotten. An adopted job cannot be adopted again: the next plan
            # finds that it is gone.
            return Found(outputs={**recorded, DRIFT: ["it was deleted"]})
        return None
    inputs = _as_live(declared, raw, record)
    outs = hide_in_job_outputs({**raw, **(inputs or {}), **facts(declared, record)})
    return Found(outputs=outs, inputs=inputs and hide_in_job(inputs))


def _as_live(declared: JobResourceType, recorded: dict[str, Any], record: JobRecord) -> dict[str, Any] | None:
    """Return the recorded inputs with the service's values; None if they are the same.

    A job cannot be changed, so they differ only if the state was edited manually, or the service read the
    request otherwise. The hash is then that of the live job, and the next plan shows the difference.
    """
    inputs = {name: recorded[name] for name in declared.input_names if name in recorded}
    draft = declared.read_inputs(inputs).draft
    if draft is None or not record.wire:
        return None
    spec = declared.spec_of(draft)
    wire = dict(record.wire)
    if wire.get("displayName") == with_number(draft.display_name, draft.run):
        wire["displayName"] = draft.display_name
    live = declared.spec.as_live(spec, wire)
    if live is spec:
        return None
    values = {name: getattr(live, name) for name in declared.spec_fields}
    return {**inputs, **completed(declared, dataclasses.replace(draft, **values), frozenset())}


def facts(declared: JobResourceType, record: JobRecord) -> dict[str, Any]:
    """Return the outputs of a record, besides the inputs and the output directory."""
    return {
        "name": record.name,
        "job_id": record.job_id,
        "state": record.state_name,
        "create_time": record.create_time,
        "start_time": record.start_time,
        "end_time": record.end_time,
        "error": _words(record.error.message) if record.error else None,
        **declared.outputs(record),
    }


def _words(error: str) -> str:
    """Return a service's error for the state, without lines of the log: they may show a secret."""
    from pulumi_vertex_training.runs.diagnosis.diagnosis import without_log  # imported only if needed

    return without_log(error)


def with_directory(
    declared: JobResourceType, props: Mapping[str, Any], directory: str | None
) -> dict[str, Any]:
    """Return the outputs with the directory that the job writes to.

    It is an output of its own, and replaces the directory among the inputs.
    """
    inputs = declared.read_inputs(_inputs(declared, props)).draft
    path = None if inputs is None else declared.spec.directory_path(inputs)
    placed = props if path is None else put(props, path.split("."), directory)
    return {**placed, DIRECTORY: directory}


def _inputs(declared: JobResourceType, props: Mapping[str, Any]) -> dict[str, Any]:
    return {name: props[name] for name in declared.input_names if name in props}


def _keeps_record(recorded: Mapping[str, Any], declared: DeclaredRun | None) -> bool:
    """Return whether the record of a job that a new run replaces is kept, by the present declaration."""
    on_replace = (
        declared.on_replace if declared else OnReplace(recorded.get("on_replace") or RECORD["on_replace"])
    )
    return on_replace is OnReplace.KEEP


def delete(declared: JobResourceType, call: Call) -> None:
    """Cancel the job, wait until it has ended, and delete its record, by `on_delete` or `on_replace`.

    A job that another resource has adopted is left alone.
    """
    id_, raw = call.id, reveal_job(call.outputs)
    if OPERATION.made(id_) or OPERATION.belongs_to_another_entry(id_, raw):
        return
    OPERATION.runs.note_released(id_)
    OPERATION.runs.note_recorded_run(raw.get("run"))
    name, endpoint = declared.resource(raw), endpoint_of(raw)
    now = OPERATION.runs.declared_run(str(raw.get("run")))
    same_run = now is not None and now.key == raw.get("run")
    replaced = now is not None or OPERATION.runs.is_deleted_first(id_)
    if now is not None and same_run and not OPERATION.runs.was_compared(id_):
        # Replaced without a comparison: `pulumi up --replace`.
        OPERATION.runs.note_reason(now.key, rerun.ON_DEMAND)
        allow_on_demand(name, now, lambda: declared.gateway.get(endpoint, id_).state.name)

    def tell(line: str) -> None:
        say(f"{name}: {line}")

    delete_run(
        declared.gateway,
        endpoint,
        id_,
        label=name,
        tell=tell,
        before_stop=functools.partial(begun_work.note, id_),
        before_delete=declared.before_delete(
            kept_because=MODEL_OF_REPLACED if replaced else models_kept_because(raw.get("on_delete")),
            tell=tell,
        ),
        keep_record=_keeps_record(raw, now) if replaced else raw.get("on_delete") == OnDelete.CANCEL.value,
        kept_because="" if replaced else "on_delete is cancel",
        protect_running=now.protect_running if now else bool(raw.get("protect_running")),
    )
