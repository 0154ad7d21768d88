"""The provider of every kind of job: it replaces on purpose only, and finds a killed deployment's job.

Check and diff are in `job_diff`; this module has create, update, read and delete.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.core import engine
from pulumi_vertex_training.core.call import Call, Checked, Created, Difference, Found, Values
from pulumi_vertex_training.core.connection import endpoint_of
from pulumi_vertex_training.core.engine import print_line
from pulumi_vertex_training.core.interrupted import creation_notes, deletion_notes
from pulumi_vertex_training.core.interrupted.jobs import begun_without_key, left_behind, replaced_run
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.provider import DRIFT, Provider
from pulumi_vertex_training.core.resource_context import DecidedRun
from pulumi_vertex_training.core.running import adopting, job_diff, ladder, lineage, max_cost, notifications
from pulumi_vertex_training.core.running.declaration import (
    MODEL_OF_REPLACED,
    RECORD,
    JobInputs,
    JobResourceType,
    models_kept_because,
)
from pulumi_vertex_training.core.running.job_cache import job_cache_of, settle_seconds
from pulumi_vertex_training.core.running.job_diff import completed
from pulumi_vertex_training.core.running.rerun_facts import allow_on_demand, has_ended
from pulumi_vertex_training.core.secret_masking import SECRETS
from pulumi_vertex_training.core.settings import target_of
from pulumi_vertex_training.core.state.hidden_input import hide, hide_outputs, put, reveal, reveal_outputs
from pulumi_vertex_training.runs import deletion, secret_arguments
from pulumi_vertex_training.runs.checkpoints import copy_newest
from pulumi_vertex_training.runs.climb import Climbed
from pulumi_vertex_training.runs.deletion import StillRunningError, delete_run
from pulumi_vertex_training.runs.identity import REASON_LABEL, RUN_LABEL, RunKey, parse, with_number
from pulumi_vertex_training.runs.policies import rerun
from pulumi_vertex_training.runs.policies.deletion_policy import OnDelete, OnReplace
from pulumi_vertex_training.runs.policies.rerun import Policy
from pulumi_vertex_training.runs.submission import (
    Submission,
    find_or_submit,
    is_later,
    run_of,
    settled,
    without,
)
from vertex_training.fields.labels import key_label
from vertex_training.fields.uris import DIRECTORY
from vertex_training.job import checkpoints

if TYPE_CHECKING:
    from vertex_training.cost.max_cost import Limit


class JobProvider(Provider):
    """The base of the providers of jobs.

    Inputs: those of `declared.inputs`. Outputs besides: the facts of the job's record. The provider of a kind
    is a subclass at an import path that never changes, with nothing but `declared`.
    """

    declared: ClassVar[JobResourceType]

    def check(self, call: Call) -> Checked:
        return job_diff.check(self.declared, call)

    def diff(self, call: Call) -> Difference:
        return job_diff.diff(self.declared, call)

    def create(self, call: Call) -> Created:
        return create(self, call)

    def update(self, call: Call) -> Values:
        return update(self.declared, call)

    def read(self, call: Call) -> Found | None:
        return read(self.declared, call)

    def delete(self, call: Call) -> None:
        delete(self.declared, call)

    def remove_interrupted(self, endpoint: Endpoint, id_: str, key: str) -> bool:  # noqa: ARG002
        """Stop and delete the live job of a run that no state has; `id_` is the run's key."""
        gateway = self.declared.gateway
        found = [
            job for job in gateway.list_by_label(endpoint, {RUN_LABEL: id_}) if not job.state.is_terminal
        ]
        if not found:
            raise NotFound(f"run {id_} has no live job", resource=id_, endpoint=endpoint)
        before_delete = self.declared.before_delete(kept_because="", tell=lambda _: None)
        deletion.stop_orphans(gateway, endpoint, found, tell=lambda _: None, before_delete=before_delete)
        return True


def create(provider: JobProvider, call: Call) -> Created:
    """Return the job of the run: adopted, found again, or submitted."""
    declared, raw = provider.declared, reveal(call.inputs)
    inputs = declared.read_inputs(raw).spec
    if inputs is None:
        raise ValueError(
            f"create received inputs of a {declared.noun} that check rejects; please report this"
        )
    endpoint, key, recorded = endpoint_of(raw), call.key, call.context.recorded_run
    without_stack = creation_notes.key_without_stack(call.urn)
    others = [*sorted(call.context.places), *creation_notes.locations_begun(key, without_stack)]
    places = list(dict.fromkeys([*ladder.endpoints_of(endpoint, inputs), *map(endpoint.at, others)]))
    if recorded is None:
        recorded = next(
            filter(None, (replaced_run(declared.gateway, each, call.urn, key) for each in places)), None
        )
    first = recorded.next() if recorded else RunKey(identity=inputs.identity, generation=1)
    if adopting.is_due(inputs, OPERATION.released(), recorded=recorded is not None):
        record = adopting.adopt(declared, endpoint, inputs, key=key, tell=print_line)
        notifications.write(declared.gateway.collection, inputs, first.identity)
        return _created(declared, inputs, raw, record, run=first, adopted=True)
    decided = call.context.decided or DecidedRun(why=rerun.ON_DEMAND if recorded else rerun.FIRST)
    kept = call.context.recorded_checkpoints if rerun.resumes(decided.why) else None

    def tell(line: str) -> None:
        print_line(f"{declared.resource(raw)}: {line}")

    note, began_without = key or without_stack, creation_notes.has_begun(without_stack)

    def left() -> list[JobRecord]:
        if recorded is None and (not key or began_without):
            found = (begun_without_key(declared.gateway, each, call.urn) for each in places)
        else:
            found = (left_behind(declared.gateway, each, call.urn, recorded, key) for each in places)
        return [job for each in found for job in each]

    limit: Limit | None = None
    behind: list[JobRecord] = []

    def left_behind_now() -> Sequence[JobRecord]:
        behind[:] = left()
        return behind

    def before_submit(run: RunKey, of: JobInputs) -> None:
        nonlocal limit
        limit = max_cost.limit_of_run(
            declared,
            endpoint,
            of,
            name=declared.resource(raw),
            recorded=recorded,
            by_state=call.context.spent,
            left_behind=behind,
            urn=call.urn,
        )
        engine.require(OPERATION.engine, OPERATION.settings.timeouts)
        folder = declared.checkpoints_of(of, str(run), kept)
        if kept and folder:  # a rung in another region has another bucket
            copy_newest(endpoint, kept, folder, tell=tell)
        notifications.write(declared.gateway.collection, inputs, run.identity)
        title = f"{declared.noun} {declared.resource(raw)}"
        creation_notes.begin(provider, {**raw, "location": of.location}, str(run), key=note, title=title)

    def request(run: RunKey, of: JobInputs) -> Mapping[str, Any]:
        wire = max_cost.request(declared, declared.of_run(of, str(run), kept), limit)
        with SECRETS.of_call([call.context.given]):
            return secret_arguments.labelled(wire, lambda text: SECRETS.masked(text) != text)

    def before_send(sent: Mapping[str, Any], of: JobInputs) -> None:
        lineage.write(declared, call, endpoint, of, sent)

    endpoint = dataclasses.replace(endpoint, allow_unknown_types=inputs.allow_unknown_types)
    submission = Submission(
        key=first,
        spec_hash=inputs.spec_hash or "",
        labels=key_label(key),
        keep_record=inputs.on_delete == OnDelete.CANCEL.value,
        any_spec=inputs.rerun == Policy.NEVER.value,
        reason=decided.why,
        settle=settle_seconds(endpoint),
        was_interrupted=began_without or creation_notes.has_begun(key),
    )
    before_delete = declared.before_delete(kept_because="", tell=tell)
    climbed: Climbed | None = None
    if ladder.rungs_of(inputs):
        climbed = ladder.climb(
            declared,
            call,
            ladder.steps_of(declared, endpoint, inputs, request),
            submission,
            settled(left_behind_now, submission),
            tried=decided.tried,
            before_submit=before_submit,
            before_send=before_send,
            before_delete=before_delete,
            tell=tell,
        )
        record, adopted = climbed.record, climbed.adopted
    else:
        record, adopted = find_or_submit(
            declared.gateway,
            endpoint,
            lambda run: request(run, inputs),
            submission,
            left_behind=left_behind_now,
            before_submit=lambda run: before_submit(run, inputs),
            before_send=lambda sent: before_send(sent, inputs),
            tell=tell,
            before_delete=before_delete,
        )
    run = run_of(record) or first
    if adopted:
        notifications.write(declared.gateway.collection, inputs, run.identity)
        print_line(
            f"{declared.resource(raw)}: adopted {declared.noun} {record.job_id} of an interrupted deployment"
        )
    if recorded:
        # The attempts of a pass are its record, so they do not count as earlier runs yet.
        _delete_oldest(declared, endpoint, inputs, record, until=recorded if climbed else run_of(record))
    creation_notes.forget_others(str(run), note)
    creation_notes.answered(str(run), note)
    if key:
        creation_notes.forget_others("", without_stack)
    if more := sorted({each.location for each in places} - {inputs.location}):
        raw = {**raw, "locations": more}
    return _created(declared, inputs, raw, record, run=run, decided=decided, climbed=climbed)


def _delete_oldest(
    declared: JobResourceType,
    endpoint: Endpoint,
    inputs: JobInputs,
    record: JobRecord,
    *,
    until: RunKey | None,
) -> None:
    """Delete the records of earlier runs beyond `keep_runs`, of those up to the run `until`.

    A failure is no failure of the new job, whose id would be lost with it.
    """
    if until is None:
        return
    try:
        deletion.delete_oldest(
            declared.gateway,
            endpoint,
            until,
            keep=inputs.keep_runs,
            without={record.name} | OPERATION.all_made(),
            before_delete=declared.before_delete(kept_because=MODEL_OF_REPLACED, tell=lambda _: None),
            elsewhere=ladder.endpoints_of(endpoint, inputs)[1:],
        )
    except (CloudError, StillRunningError) as error:
        print_line(
            f"warning: {inputs.marks.get('resource')}: old runs are kept, keep_runs={inputs.keep_runs} "
            f"applies again with the next run: {error}"
        )


def update(declared: JobResourceType, call: Call) -> Values:
    """Write changed notifications. Return the outputs with the new record, which alone changes."""
    recorded = reveal_outputs(call.outputs)
    # An input that is declared no more must not stay: without its declaration it would be no secret either.
    kept = {name: value for name, value in recorded.items() if name not in declared.input_names}
    outs = {**kept, **reveal(call.inputs)}
    if places := ladder.recorded_places(recorded) | ladder.recorded_places(outs):
        outs["locations"] = sorted(places)
    if call.outputs.get("notifications") != call.inputs.get("notifications"):
        inputs = declared.read_inputs(declared.inputs_in(outs)).draft
        if inputs is not None and outs.get("run"):
            endpoint_of(outs)  # a started emulator has made its data folder
            notifications.write(declared.gateway.collection, inputs, parse(outs["run"]).identity)
    return hide_outputs(_with_directory(outs, call.outputs.get(DIRECTORY)))


def _with_directory(outs: dict[str, Any], directory: str | None) -> dict[str, Any]:
    """Return outputs with the directory that the job writes to, also among the inputs if the run chose it."""
    path = outs.get("output_path")
    return {**(put(outs, path.split("."), directory) if path else outs), DIRECTORY: directory}


def _created(
    declared: JobResourceType,
    inputs: JobInputs,
    raw: dict[str, Any],
    record: JobRecord,
    *,
    run: RunKey,
    decided: DecidedRun | None = None,
    climbed: Climbed | None = None,
    adopted: bool = False,
) -> Created:
    # A job that was adopted has the reason of the deployment that submitted it.
    why = record.labels.get(REASON_LABEL) or (decided.why if decided else "")
    outs = {
        **raw,
        **facts(declared, record),
        "run": str(run),
        "reruns": max(decided.reruns if decided else 0, rerun.reruns_of(why)),
        "climbs": (decided.climbs if decided else 0) or None,
        "why": why or None,
        "output_path": declared.spec.directory_path(inputs) if declared.follows_run(inputs) else None,
        max_cost.LIMIT: record.labels.get(max_cost.LABEL),
    }
    if record.wire:
        # An adopted job keeps the directories that it was submitted with.
        outs = _with_directory(outs, declared.spec.directory_of(record.wire))
        outs["checkpoints"] = checkpoints.folder_of(declared.spec.from_wire(record.wire), declared=inputs)
    if climbed is not None:
        outs |= ladder.recorded_climb(declared, inputs, climbed)
        outs["error"] = outs.get("no_capacity") or outs["error"]
    # The failure of a job that was adopted after its end is no failure of this deployment.
    outs["asked_by"] = None if adopted and record.state.is_terminal else OPERATION.engine
    return Created(id=record.name, outputs=hide_outputs(outs))


def read(declared: JobResourceType, call: Call) -> Found | None:
    """Return the recorded outputs with the service's; none for a job that certainly does not exist."""
    recorded = {name: value for name, value in call.outputs.items() if name != DRIFT}
    raw = reveal_outputs(recorded)
    try:
        record = declared.gateway.get(endpoint_of(raw).of(call.id), call.id)
    except NotFound:
        if has_ended(raw):
            return Found(outputs=recorded)  # a finished job is a steady state
        if raw.get("rerun") == Policy.NEVER.value or raw.get("adopt"):
            # A job with rerun=never is not forgotten. An adopted job cannot be adopted again: the next plan
            # finds that it is gone.
            return Found(outputs={**recorded, DRIFT: ["it was deleted"]})
        return None
    if raw.get("notifications") and not notifications.are_written(parse(str(raw["run"])).identity):
        raw["notifications"] = []  # they were removed: the next deployment writes them again
    inputs = _as_live(declared, raw, record)
    live = facts(declared, record)
    outs = hide_outputs({**raw, **(inputs or {}), **live, "error": raw.get("no_capacity") or live["error"]})
    return Found(outputs=outs, inputs=inputs and hide(inputs))


def _as_live(declared: JobResourceType, recorded: dict[str, Any], record: JobRecord) -> dict[str, Any] | None:
    """Return the recorded inputs with the service's values; None if they are the same.

    A job cannot be changed, so they differ only if the state was edited manually, or the service read the
    request otherwise. The hash is then that of the live job, without a directory that the run chose, and the
    next plan shows the difference.
    """
    inputs = declared.inputs_in(recorded)
    draft = declared.read_inputs(inputs).draft
    if draft is None or not record.wire:
        return None
    spec = ladder.as_submitted(declared.spec_of(draft), recorded)
    folder = recorded.get("checkpoints")
    expected = checkpoints.with_variable(spec, folder) if folder else spec
    wire = dict(record.wire)
    if wire.get("displayName") == with_number(draft.display_name, str(recorded.get("run"))):
        wire["displayName"] = draft.display_name
    limit = max_cost.limit_in(record)
    of_run = max_cost.limited(expected, limit)
    live = declared.spec.as_live(of_run, wire)
    if live is of_run:
        return None
    live = max_cost.unlimited(spec, live, limit)
    live = checkpoints.without_variable(live, declared=spec, folder=folder)
    values = {name: getattr(live, name) for name in declared.spec_fields}
    found = {**inputs, **completed(declared, dataclasses.replace(draft, **values), frozenset())}
    path = recorded.get("output_path")
    of_declaration = declared.spec.with_output_directory(live, None) if path else live
    return {
        **found,
        "output_path": path,
        "spec_hash": declared.declared_hash(of_declaration, draft.staging_bucket),
    }


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


def delete(declared: JobResourceType, call: Call) -> None:
    """Cancel the job, wait until it has ended, and delete its record, by `on_delete` or `on_replace`.

    With the declaration, what killed deployments left of it is deleted too, and the kept records of earlier
    runs. A job that another resource has adopted is left alone.
    """
    id_, raw = call.id, reveal_outputs(call.outputs)
    context = call.context
    if OPERATION.made(id_) or OPERATION.belongs_to_another_entry(id_, reveal(call.outputs)):
        return
    OPERATION.note_released(id_)
    context.note_recorded_run(raw.get("run"), raw.get("checkpoints"))
    context.places |= ladder.recorded_places(raw)
    creation_notes.remove_with(str(raw.get("run")))
    name, endpoint = declared.resource(raw), endpoint_of(raw).of(id_)
    now = context.checked
    replaced = now is not None or context.has_unknown
    if now is not None and not context.is_compared:
        # Replaced without a comparison: `pulumi up --replace`.
        context.decided = DecidedRun(why=rerun.ON_DEMAND)
        allow_on_demand(
            name,
            now,
            lambda: declared.gateway.get(endpoint, id_).state.name,
            is_spent=max_cost.is_used_up(declared, call, raw, reveal(now)),
        )
    policies, decided = raw if now is None else now, context.decided
    if replaced:
        keep_record = (policies.get("on_replace") or RECORD["on_replace"]) == OnReplace.KEEP.value
    else:
        keep_record = raw.get("on_delete") == OnDelete.CANCEL.value
    protect_running = bool(policies.get("protect_running"))

    def tell(line: str) -> None:
        print_line(f"{name}: {line}")

    before_delete = declared.before_delete(
        kept_because=MODEL_OF_REPLACED if replaced else models_kept_because(raw.get("on_delete")), tell=tell
    )
    if replaced and policies.get("max_cost") is not None:
        before_delete = max_cost.noted(declared, context, raw, before_delete)
    delete_run(
        declared.gateway,
        endpoint,
        id_,
        label=name,
        tell=tell,
        before_stop=functools.partial(deletion_notes.note, id_, decided.why if decided else ""),
        before_delete=before_delete,
        keep_record=keep_record,
        kept_because="" if replaced else "on_delete is cancel",
        protect_running=protect_running,
        timeout=call.timeout,
    )
    run = context.recorded_run
    if replaced or run is None:
        return
    if raw.get("notifications") and endpoint.is_emulator:
        notifications.remove(run.identity)
    try:
        known = OPERATION.released() | OPERATION.all_made()
        place = target_of(raw)
        if place is None:
            return
        cache = job_cache_of(declared.gateway.collection)
        draft = declared.read_inputs(declared.inputs_in(raw)).draft
        listed = [
            cache.settled(place._replace(location=each.location), each)
            for each in ladder.endpoints_of(endpoint.at(place.location), draft)
        ]
        jobs = without([job for each in listed for job in each], known)
        later = [record for record in jobs if is_later(record, run)]
        for record in later:
            creation_notes.remove_with(record.labels[RUN_LABEL])
        deletion.stop_orphans(
            declared.gateway,
            endpoint,
            later,
            tell=tell,
            before_delete=before_delete,
            keep_record=keep_record,
            protect_running=protect_running,
        )
        if not keep_record:
            ended = deletion.ended_runs(jobs, run)
            deletion.delete_records(declared.gateway, endpoint, ended, before_delete=before_delete)
    except NotFound as error:
        print_line(f"warning: {name}: jobs that its runs may have left behind cannot be listed: {error}")
