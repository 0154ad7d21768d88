"""The provider of `TrainingSchedule`. Everything but its id and its location changes in place."""

from __future__ import annotations

import hashlib
import re
import uuid
import zoneinfo
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timezone
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import AlreadyExists, CloudError
from pulumi_vertex_training.core.autonaming import id_from, object_prefix, with_own_id
from pulumi_vertex_training.core.call import Call, Checked, Created, Difference, Found, Values
from pulumi_vertex_training.core.connection import endpoint_of
from pulumi_vertex_training.core.crud import CrudKind, CrudProvider
from pulumi_vertex_training.core.engine import print_line
from pulumi_vertex_training.core.identity.conflicts import Identity
from pulumi_vertex_training.core.interrupted import creation_notes, deletion_notes
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.property_changes import property_changes
from pulumi_vertex_training.core.provider import Failure, is_unknown
from pulumi_vertex_training.core.running.declaration import declared_in, ownership_labels
from pulumi_vertex_training.core.state.hidden_input import HIDDEN_INPUT, recorded_key
from pulumi_vertex_training.kinds.training_schedule import gateway, operations, rules, template, wire
from pulumi_vertex_training.kinds.training_schedule import spec as schedule_spec
from pulumi_vertex_training.kinds.training_schedule.gateway import ScheduleRecord
from pulumi_vertex_training.kinds.training_schedule.operations import Identity as ScheduleIdentity
from pulumi_vertex_training.kinds.training_schedule.spec import ScheduleSpec
from pulumi_vertex_training.kinds.training_schedule.template import Templates
from pulumi_vertex_training.runs import identity as run_identity
from pulumi_vertex_training.runs.deletion import StillRunningError
from pulumi_vertex_training.runs.policies.rerun import SCHEDULED
from vertex_training.fields import cron
from vertex_training.fields.decode import UNKNOWN, Decoded, encode
from vertex_training.fields.effects import Effect
from vertex_training.fields.labels import key_label
from vertex_training.findings.problems import Problem

REPLACING = (
    "endpoint",
    "project",
    *(name for name, entry in schedule_spec.EFFECTS.items() if entry.effect is Effect.REPLACE),
)
DERIVED = ("name",)
OUTPUTS = (HIDDEN_INPUT,)
_IDENTITY_DIGITS = 16
_SHOWN_TIMES = 3


@dataclass(frozen=True, kw_only=True)
class ScheduleInputs(ScheduleSpec):
    """A schedule's inputs in Pulumi's state. `marks` identify its declaration, `job` names the job."""

    endpoint: str
    project: str
    job: str = ""
    marks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ScheduleWithTemplate(Templates, ScheduleInputs):
    """The inputs of a schedule that has its job as a template."""


_NOT_COMPARED = ("marks", "job")

DECLARED: CrudKind[ScheduleInputs, ScheduleSpec, ScheduleRecord] = CrudKind(
    noun="schedule",
    spec=ScheduleSpec,
    inputs=ScheduleInputs,
    outputs=OUTPUTS,
    label=lambda inputs: inputs.schedule_id,
    normalise=schedule_spec.normalise,
    problems=lambda inputs, _: rules.validate(
        inputs, zones=frozenset(zoneinfo.available_timezones()), on_google=inputs.endpoint == "google"
    ),
    get=gateway.get,
    live_spec=lambda record, inputs: _live_spec(record, inputs),
    imported=lambda record: _imported(record),
    derived_names=(*DERIVED, *template.COLLECTIONS),
    derived=lambda inputs: {**_names(inputs), "request": _as_object(inputs.get("request"))},
)


class TrainingScheduleProvider(CrudProvider):
    """Inputs: `ScheduleInputs`. Output: the full name of the job of Cloud Scheduler."""

    declared = DECLARED
    names = ("schedule_id",)

    def check(self, call: Call) -> Checked:
        if "request" in call.inputs:
            return self._checked(call)
        if wrong := template.problems(call.inputs):
            return Checked(problems=wrong)
        name = template.given_in(call.inputs)
        found = self._checked(replace(call, inputs=template.as_job(call.inputs, name)))
        return Checked(
            inputs={**found.inputs, name: call.inputs[name]} if found.inputs else {},
            problems=[
                replace(problem, path=re.sub(r"^job\b", name, problem.path)) for problem in found.problems
            ],
        )

    def _checked(self, call: Call) -> Checked:
        wrong = _errors_of_job(call.inputs)
        if wrong:
            # The engine may stop here, before the check of the job itself.
            return Checked(problems=wrong)
        result = super().check(call)
        if not result.is_refused:
            _show_times(call.old_inputs, result.inputs)
            _show_deletion(call.old_inputs, result.inputs)
        return result

    def prepared(self, call: Call) -> dict[str, Any]:
        return with_own_id("schedule_id", id_from, {**call.inputs, **_request_inputs(call.inputs)}, call)

    def identity(self, inputs: ScheduleInputs, key: str) -> Identity:
        return Identity(
            noun="schedule",
            field="schedule_id",
            id=inputs.schedule_id,
            place=f"{inputs.endpoint} {inputs.project} {inputs.location}",
            labels=(key_label(key),),
            taken=f"project {inputs.project}, {inputs.location}, has a job of Cloud Scheduler of this name. "
            "Choose another schedule_id",
        )

    def diff(self, call: Call) -> Difference:
        recorded = call.outputs
        old, new = DECLARED.canonical(recorded), DECLARED.canonical(call.inputs)
        names = [item.name for item in fields(ScheduleInputs) if item.name not in _NOT_COMPARED]
        changed = [name for name in names if is_unknown(new.get(name)) or old.get(name) != new.get(name)]
        difference = Difference(
            changes=bool(changed),
            properties=property_changes(
                call.outputs, call.inputs, _shown_changes(call, changed), replacing=REPLACING
            ),
        )
        if not difference.replaces and call.context.checked is not None:
            OPERATION.note_kept(call.id, call.context, recorded)
        return deletion_notes.continued(
            difference,
            call,
            lambda endpoint: gateway.get(endpoint, call.id),
            title=f"schedule {call.id.rpartition('/')[2]}",
        )

    def create(self, call: Call) -> Created:
        raw = call.inputs
        inputs = DECLARED.read_inputs(raw)
        name, key = _name_of(inputs), call.key
        run_key = _run_key(key)
        title = f"schedule {inputs.schedule_id}"
        with creation_notes.noted(self, raw, name, key=key, title=title, is_exclusive=True):
            try:
                adopted = operations.create(
                    endpoint_of(raw), DECLARED.spec_of(inputs), _identity_of(inputs, run_key, key)
                )
            except AlreadyExists as error:
                raise _explain_conflict(error, inputs) from error
        if adopted:
            print_line(
                f"schedule {inputs.schedule_id}: adopted; an interrupted deployment of this stack created it"
            )
        OPERATION.note_made(name)
        deletion_notes.forget(name)
        return Created(id=name, outputs=_outputs(raw, run_key))

    def update(self, call: Call) -> Values:
        raw = call.inputs
        inputs = DECLARED.read_inputs(raw)
        creation_notes.remove_others(call.id, call.key)
        run_key = recorded_key(call.outputs) or _run_key(call.key)
        operations.update(endpoint_of(raw), DECLARED.spec_of(inputs), _identity_of(inputs, run_key, call.key))
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
        creation_notes.remove_with(call.id)
        deletion_notes.note(call.id)
        raw = call.outputs
        operations.delete(endpoint_of(raw), call.id)
        is_replaced = call.context.checked is not None  # the program still declares it
        run_key = recorded_key(raw)
        if raw.get("on_delete") != "delete" or is_replaced or not run_key:
            return
        label = raw.get("marks", {}).get("resource") or raw["schedule_id"]
        try:
            operations.delete_runs(
                endpoint_of({**raw, **_place_of_runs(raw)}),
                str(raw["collection"]),
                run_key,
                tell=lambda line: print_line(f"schedule {label}: {line}"),
            )
        except StillRunningError as error:
            raise Failure(f"schedule {label}: {error}") from error

    def meaning(self, inputs: Values) -> object:
        checked = self.check(Call(inputs=inputs))
        kept = {name: value for name, value in checked.inputs.items() if name not in template.COLLECTIONS}
        return kept, checked.problems

    def remedy_for_owner(self, record: ScheduleRecord) -> Callable[[Sequence[str]], str]:
        command = gateway.command_without_owner(record)
        return lambda _: f"run `{command}`"

    def remove_interrupted(self, endpoint: Endpoint, id_: str, key: str) -> bool:
        operations.delete_interrupted(endpoint, id_, key)
        return True


def _shown_changes(call: Call, changed: Sequence[str]) -> Sequence[str]:
    """Return the changed inputs, with a template's instead of those that follow from its job."""
    names = [name for name in template.COLLECTIONS if call.outputs.get(name) != call.inputs.get(name)]
    if not template.given_in(call.inputs) or not template.OF_JOB.intersection(changed):
        return changed
    return [*(name for name in changed if name not in template.OF_JOB), *(names or ["request"])]


def _imported(record: ScheduleRecord) -> dict[str, Any]:
    """Return the inputs of a live schedule. Raises Failure if it does not submit a job."""
    name = str(record.job.get("name"))
    try:
        of_job = wire.spec_of(record.job)
        location = name.split("/")[3]
        job = template.imported(of_job, location=location)
    except (ValueError, IndexError) as error:
        raise Failure(f"schedule {name.rpartition('/')[2]} cannot be imported: {error}") from None
    settings = {field: value for field, value in of_job.items() if field not in template.OF_JOB}
    spec = ScheduleSpec(schedule_id=name.rpartition("/")[2], location=location, **settings)
    return {**encode(schedule_spec.normalise(spec)), **job}


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
        return {}
    declared, inputs = declared_in(str(news["collection"])), decoded.spec
    if inputs is None or decoded.unknown:
        return {"request": UNKNOWN}
    spec = declared.spec_of(inputs)
    spec = replace(spec, display_name=run_identity.without_number(spec.display_name))
    if declared.spec.output_directory(inputs) is None and inputs.staging_bucket:
        resource = object_prefix(str(news["marks"]["resource"]))
        spec = declared.spec.with_output_directory(spec, f"gs://{inputs.staging_bucket}/{resource}/")
    return {"request": declared.spec.to_wire(spec)}


def _names(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the full name of the schedule, if it is known in a preview."""
    parts = [inputs.get(name) for name in ("project", "location", "schedule_id")]
    return {"name": UNKNOWN if is_unknown(parts) else schedule_spec.full_name(*map(str, parts))}


def _place_of_runs(raw: Mapping[str, Any]) -> dict[str, str]:
    """Return the project and the location of a schedule's runs."""
    _, project, _, location = str(raw["parent"]).split("/")
    return {"project": project, "location": location}


def _as_object(request: Any) -> Any:
    return schedule_spec.request_of(request) if isinstance(request, str) else request


def _live_spec(record: ScheduleRecord, inputs: ScheduleInputs) -> ScheduleSpec:
    """Return the spec of a live schedule. What it cannot tell is as declared."""
    spec = DECLARED.spec_of(inputs)
    try:
        found = wire.spec_of(record.job)
    except ValueError:
        found = {"request": ""}  # it was changed to call something else
    return schedule_spec.normalise(
        ScheduleSpec(**{**{item.name: getattr(spec, item.name) for item in fields(ScheduleSpec)}, **found})
    )


def _outputs(raw: Mapping[str, Any], run_key: str) -> dict[str, Any]:
    return {**raw, HIDDEN_INPUT: {"key": run_key}}


def _identity_of(inputs: ScheduleInputs, run_key: str, key: str) -> ScheduleIdentity:
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
    OPERATION.print_once(f"{resource} {words}: {times}")


def _show_deletion(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Show that destroying the schedule will delete its runs, if that is new."""
    if new.get("on_delete") == "delete" != old.get("on_delete"):
        resource = new.get("marks", {}).get("resource", new.get("schedule_id"))
        OPERATION.print_once(
            f"{resource}: destroying it will cancel its live runs and delete the records of all its runs"
        )


def _name_of(inputs: ScheduleInputs) -> str:
    return schedule_spec.full_name(inputs.project, inputs.location, inputs.schedule_id)


def _explain_conflict(error: AlreadyExists, inputs: ScheduleInputs) -> CloudError:
    return AlreadyExists(
        f"schedule {inputs.schedule_id} already exists in project {inputs.project}, {inputs.location}. "
        f"Choose another schedule_id. ({error})",
        code=error.code,
        resource=inputs.schedule_id,
        endpoint=error.endpoint,
    )
