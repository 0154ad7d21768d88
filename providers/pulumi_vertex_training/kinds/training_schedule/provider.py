"""The provider of `TrainingSchedule`. Everything but its id and its location changes in place."""

from __future__ import annotations

import hashlib
import uuid
import zoneinfo
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timezone
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import AlreadyExists, CloudError
from pulumi_vertex_training.core.autonaming import id_from, object_prefix, with_own_id
from pulumi_vertex_training.core.call import Call, Checked, Created, Difference, Found, Values
from pulumi_vertex_training.core.conflicts import Identity
from pulumi_vertex_training.core.connection import endpoint_of
from pulumi_vertex_training.core.crud import CrudKind, CrudProvider
from pulumi_vertex_training.core.engine import say
from pulumi_vertex_training.core.interrupted import begun_creations, begun_work
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.provider import DRIFT, is_unknown
from pulumi_vertex_training.core.running.declaration import declared_in, ownership_labels
from pulumi_vertex_training.core.running.hidden_input import HIDDEN_INPUT, recorded_key
from pulumi_vertex_training.kinds.training_schedule import gateway, operations, rules, wire
from pulumi_vertex_training.kinds.training_schedule import spec as schedule_spec
from pulumi_vertex_training.kinds.training_schedule.gateway import ScheduleRecord
from pulumi_vertex_training.kinds.training_schedule.operations import Identity as ScheduleIdentity
from pulumi_vertex_training.kinds.training_schedule.spec import ScheduleSpec
from pulumi_vertex_training.runs import identity as run_identity
from pulumi_vertex_training.runs.policies.rerun import SCHEDULED
from vertex_training.fields import cron
from vertex_training.fields.decode import UNKNOWN, Decoded
from vertex_training.fields.effects import Effect
from vertex_training.fields.labels import key_label
from vertex_training.findings.problems import Problem

REPLACING = (
    "endpoint",
    "project",
    *(name for name, entry in schedule_spec.EFFECTS.items() if entry.effect is Effect.REPLACE),
)
DERIVED = ("name", "workflow")
OUTPUTS = (HIDDEN_INPUT, DRIFT)
_IDENTITY_DIGITS = 16
_SHOWN_TIMES = 3


@dataclass(frozen=True, kw_only=True)
class ScheduleInputs(ScheduleSpec):
    """A schedule's inputs in Pulumi's state. `marks` identify its declaration, `job` names the job."""

    endpoint: str
    project: str
    job: str = ""
    marks: Mapping[str, str] = field(default_factory=dict)


_NOT_COMPARED = ("marks", "job")

DECLARED: CrudKind[ScheduleInputs, ScheduleSpec, ScheduleRecord] = CrudKind(
    noun="schedule",
    spec=ScheduleSpec,
    inputs=ScheduleInputs,
    outputs=OUTPUTS,
    label=lambda inputs: inputs.schedule_id,
    operation_key=lambda inputs: _context_key(_name_of(inputs)),
    normalise=schedule_spec.normalise,
    problems=lambda inputs, _: rules.validate(
        inputs, zones=frozenset(zoneinfo.available_timezones()), on_google=inputs.endpoint == "google"
    ),
    get=gateway.get,
    live_spec=lambda record, inputs: _live_spec(record, inputs),
    derived_names=DERIVED,
    derived=lambda inputs: {**_names(inputs), "request": _as_object(inputs.get("request"))},
)


class TrainingScheduleProvider(CrudProvider):
    """Inputs: `ScheduleInputs`. Outputs: the full names of the job of Cloud Scheduler and of the workflow."""

    declared = DECLARED

    def check(self, call: Call) -> Checked:
        wrong = _errors_of_job(call.inputs)
        if wrong:
            # The engine may stop here, before the check of the job itself.
            return Checked(problems=wrong)
        result = super().check(call)
        if not result.is_refused:
            _show_times(call.old_inputs, result.inputs)
        return result

    def prepared(self, olds: dict[str, Any], news: dict[str, Any]) -> dict[str, Any]:
        return with_own_id("schedule_id", id_from, olds, {**news, **_request_inputs(news)})

    def identity(self, inputs: ScheduleInputs) -> Identity:
        return Identity(
            noun="schedule",
            field="schedule_id",
            id=inputs.schedule_id,
            place=f"{inputs.endpoint} {inputs.project} {inputs.location}",
            labels=(key_label(_key_of(inputs)),),
            taken=f"project {inputs.project}, {inputs.location}, has a job of Cloud Scheduler of this name. "
            "Choose another schedule_id",
        )

    def accepted(self, inputs: ScheduleInputs) -> None:
        OPERATION.note_checked(_context_key(_name_of(inputs)))

    def drift(self, record: ScheduleRecord, inputs: ScheduleInputs) -> list[str]:
        if not record.calls_workflow:
            return []
        if record.workflow is None:
            return ["its workflow was deleted"]
        expected = wire.workflow_wire(_live_spec(record, inputs), labels={})
        same = record.workflow.get("sourceContents") == expected["sourceContents"]
        return [] if same else ["the definition of its workflow was changed"]

    def diff(self, call: Call) -> Difference:
        recorded = call.outputs
        old, new = DECLARED.canonical(recorded), DECLARED.canonical(call.inputs)
        names = [item.name for item in fields(ScheduleInputs) if item.name not in _NOT_COMPARED]
        changed = [name for name in names if is_unknown(new.get(name)) or old.get(name) != new.get(name)]
        replaces = [name for name in changed if name in REPLACING]
        if not replaces and OPERATION.was_checked(_context_key(call.id)):
            OPERATION.note_kept(call.id, _context_key(call.id), recorded)
        difference = Difference(changes=bool(changed), replaces=replaces, delete_before_replace=False)
        return begun_work.made_good(
            begun_creations.with_removals(difference, call.id, key=_key_of_props(new)),
            call.id,
            recorded,
            lambda endpoint: gateway.get_job(endpoint, call.id),
            title=f"schedule {call.id.rpartition('/')[2]}",
        )

    def create(self, call: Call) -> Created:
        raw = call.inputs
        inputs = DECLARED.read_inputs(raw)
        name, key = _name_of(inputs), _key_of(inputs)
        run_key = _run_key(key)
        title = f"schedule {inputs.schedule_id}"
        with begun_creations.noted(self, raw, name, key=key, title=title, is_exclusive=True):
            try:
                adopted = operations.create(
                    endpoint_of(raw), DECLARED.spec_of(inputs), _identity_of(inputs, run_key)
                )
            except AlreadyExists as error:
                raise _explain_conflict(error, inputs) from error
        if adopted:
            say(f"schedule {inputs.schedule_id}: adopted; an interrupted deployment of this stack created it")
        OPERATION.note_made(name)
        begun_work.forget(name)
        return Created(id=name, outputs=_outputs(raw, run_key))

    def update(self, call: Call) -> Values:
        raw = call.inputs
        inputs = DECLARED.read_inputs(raw)
        begun_creations.remove_others(call.id, _key_of(inputs))
        run_key = recorded_key(call.outputs) or _run_key(_key_of(inputs))
        operations.update(endpoint_of(raw), DECLARED.spec_of(inputs), _identity_of(inputs, run_key))
        return _outputs(raw, run_key)

    def read(self, call: Call) -> Found | None:
        found = super().read(call)
        for part in (found.outputs, found.inputs) if found else ():
            if part and isinstance(part.get("request"), str):
                part["request"] = _as_object(part["request"])
        return found

    def delete(self, call: Call) -> None:
        if OPERATION.made(call.id) or OPERATION.belongs_to_another_entry(call.id):
            # Adopted in this deployment or a killed one: it is its own replacement (`up --replace`).
            return
        begun_creations.remove_with(call.id)
        begun_work.note(call.id)
        operations.delete(endpoint_of(call.outputs), call.id)

    def remove_interrupted(self, endpoint: Endpoint, id_: str, key: str) -> bool:
        operations.delete_interrupted(endpoint, id_, key)
        return True


def _decoded_job(news: Mapping[str, Any]) -> Decoded[Any] | None:
    """Return the inputs of the job as its own check reads them; None if there is nothing to read."""
    given = news.get("request")
    if not isinstance(given, Mapping) or "declaration" not in given:
        return None
    job = str(news.get("job"))
    bare = {"marks": {"resource": job}, "display_name": job}
    return declared_in(str(news["collection"])).decode_inputs({**bare, **given["declaration"]})


def _errors_of_job(news: Mapping[str, Any]) -> list[Problem]:
    """Return the errors in the declaration of the job, each with its path below `job`."""
    decoded = _decoded_job(news)
    return [
        replace(problem, path=f"job.{problem.path}")
        for problem in (decoded.problems if decoded is not None else ())
        if problem.level == "error"
    ]


def _request_inputs(news: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs that follow from the valid declaration of the job, which the program hands over."""
    decoded = _decoded_job(news)
    if decoded is None:
        return {"own_directory": UNKNOWN} if is_unknown(news.get("request")) else {}
    declared, inputs = declared_in(str(news["collection"])), decoded.spec
    if inputs is None or decoded.unknown:
        return {"request": UNKNOWN, "own_directory": UNKNOWN}
    directory = declared.spec.output_directory(inputs)
    own = directory is None and bool(inputs.staging_bucket)
    spec = declared.spec_of(inputs)
    spec = replace(spec, display_name=run_identity.without_number(spec.display_name))
    if own:
        resource = object_prefix(str(news["marks"]["resource"]))
        spec = declared.spec.with_output_directory(spec, f"gs://{inputs.staging_bucket}/{resource}/")
    return {"request": declared.spec.to_wire(spec), "own_directory": own}


def _names(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the full names of the schedule's parts, as far as they are known in a preview."""
    parts = [inputs.get(name) for name in ("project", "location", "schedule_id")]
    if is_unknown([*parts, inputs.get("own_directory"), inputs.get("overlap")]):
        return dict.fromkeys(DERIVED, UNKNOWN)
    name = schedule_spec.full_name(*map(str, parts))
    used = inputs.get("overlap") != "allow" or bool(inputs.get("own_directory"))
    return {"name": name, "workflow": schedule_spec.workflow_name(name) if used else ""}


def _as_object(request: Any) -> Any:
    return schedule_spec.request_of(request) if isinstance(request, str) else request


def _live_spec(record: ScheduleRecord, inputs: ScheduleInputs) -> ScheduleSpec:
    """Return the spec of a live schedule. What it cannot tell is as declared."""
    spec = DECLARED.spec_of(inputs)
    try:
        found = wire.spec_of(record.job, record.workflow, own_directory=spec.own_directory)
    except ValueError:
        found = {"request": ""}  # it was changed to call something else
    return schedule_spec.normalise(
        ScheduleSpec(**{**{item.name: getattr(spec, item.name) for item in fields(ScheduleSpec)}, **found})
    )


def _outputs(raw: Mapping[str, Any], run_key: str) -> dict[str, Any]:
    return {**raw, HIDDEN_INPUT: {"key": run_key}, DRIFT: []}


def _identity_of(inputs: ScheduleInputs, run_key: str) -> ScheduleIdentity:
    key = _key_of(inputs)
    owner = ownership_labels(inputs.marks)
    return ScheduleIdentity(
        name=_name_of(inputs),
        key=key,
        owner=wire.owner_of(inputs.marks),
        run_labels={
            **owner,
            **run_identity.labels(
                run_key, hashlib.sha256(inputs.request.encode()).hexdigest()[:16], reason=SCHEDULED
            ),
        },
        labels={**owner, **key_label(key)},
    )


def _run_key(key: str) -> str:
    """Return the key of the runs of a schedule, made of the resource's key: a kill does not change it."""
    random = hashlib.sha256(key.encode()).hexdigest() if key else uuid.uuid4().hex
    return run_identity.key_of_schedule(random[:_IDENTITY_DIGITS])


def _show_times(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Show when the schedule is due next, if that is new."""
    compared = ("schedule", "time_zone", "paused")
    if all(old.get(name) == new.get(name) for name in compared):
        return
    known = [new.get(name) for name in ("schedule", "time_zone", "schedule_id")]
    if not all(isinstance(value, str) for value in known):
        return
    expression, zone_name, label = map(str, known)
    zone = zoneinfo.ZoneInfo(zone_name)
    found = cron.next_times(expression, zone, datetime.now(timezone.utc), _SHOWN_TIMES)
    times = ", ".join(f"{at:%a %Y-%m-%d %H:%M %Z}" for at in found)
    resource = new.get("marks", {}).get("resource", label)
    words = "is paused; resumed now, it would be due" if new.get("paused") else "is due next"
    OPERATION.say_once(f"{resource} {words}: {times}")


def _context_key(name: str) -> str:
    return f"schedule:{name}"


def _key_of(inputs: ScheduleInputs) -> str:
    return OPERATION.key_of(_context_key(_name_of(inputs)))


def _key_of_props(inputs: Mapping[str, Any]) -> str:
    """Return the key of a declaration whose id is known, or ""."""
    parts = [inputs.get(name) for name in ("project", "location", "schedule_id")]
    if is_unknown(parts):
        return ""
    return OPERATION.key_of(_context_key(schedule_spec.full_name(*map(str, parts))))


def _name_of(inputs: ScheduleInputs) -> str:
    return schedule_spec.full_name(inputs.project, inputs.location, inputs.schedule_id)


def _explain_conflict(error: AlreadyExists, inputs: ScheduleInputs) -> CloudError:
    return AlreadyExists(
        f"schedule {inputs.schedule_id} already exists in project {inputs.project}, {inputs.location}, or "
        f"has an existing workflow's name. Choose another schedule_id. ({error})",
        code=error.code,
        resource=inputs.schedule_id,
        endpoint=error.endpoint,
    )
