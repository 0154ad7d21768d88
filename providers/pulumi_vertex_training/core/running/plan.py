"""Check and diff of a job, also of an adopted one: the inputs as the state keeps them, and the effect."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.core.call import Call, Checked, Difference
from pulumi_vertex_training.core.engine import say
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.provider import Failure, complete, is_unknown, warnings
from pulumi_vertex_training.core.remote_queries import QUERIES
from pulumi_vertex_training.core.run_context import DeclaredRun
from pulumi_vertex_training.core.running import begun_work
from pulumi_vertex_training.core.running.cost_line import announce_cost
from pulumi_vertex_training.core.running.declaration import (
    RECORD,
    JobInputs,
    JobResourceType,
    root,
    run_directory,
)
from pulumi_vertex_training.core.running.hidden_input import hide_in_job, reveal_job, state_names
from pulumi_vertex_training.core.running.job_cache import job_cache_of
from pulumi_vertex_training.core.running.rerun_decision import decision_of, has_ended, is_gone
from pulumi_vertex_training.core.settings import TARGET_FIELDS, target_of
from pulumi_vertex_training.runs import adoption
from pulumi_vertex_training.runs.adoption import AdoptionError
from pulumi_vertex_training.runs.policies import rerun
from pulumi_vertex_training.runs.policies.deletion_policy import OnReplace
from pulumi_vertex_training.runs.policies.rerun import Action, Policy
from pulumi_vertex_training.runs.policies.run_status import LIVE, LookupResult, last_run
from vertex_training.fields.decode import UNKNOWN, Decoded, encode
from vertex_training.fields.values import NOT_KNOWN
from vertex_training.findings.problems import Problem, errors
from vertex_training.job.job_spec import OF_NEXT_RUN, parts


def is_due(inputs: JobInputs, released: Collection[str], *, recorded: int) -> bool:
    """Return whether a create adopts a job: it does if the state has no job of the resource.

    `recorded` is the generation of the run whose job the state has, 0 without one.
    """
    return inputs.adopt is not None and not recorded and _id(inputs.adopt) not in set(map(_id, released))


def adopt(
    declared: JobResourceType, endpoint: Endpoint, inputs: JobInputs, *, tell: Callable[[str], None]
) -> JobRecord:
    """Return the record of the adopted job.

    Raises AdoptionError for a job that differs from the declaration or belongs to another one.
    """
    record = _compared(declared, endpoint, inputs)
    OPERATION.note_made(record.name)
    tell(f"{_resource(declared, inputs)}: {adoption.sentence(declared.gateway, record)}")
    return record


def refusal(
    declared: JobResourceType, inputs: JobInputs, unknown: Collection[str], *, exists: bool
) -> Problem | None:
    """Return why the job cannot be adopted, for a plan; None if it can, and while that is not known.

    This is the only query of a check: a preview of an adoption that is not compared is worth nothing. It is
    made once for a resource, within a deadline.
    """
    if inputs.adopt is None or exists or any(path != "run" for path in unknown):
        return None

    def look(endpoint: Endpoint) -> str:
        try:
            record = _compared(declared, endpoint, inputs)
        except AdoptionError as error:
            return str(error)
        state = record.state.word.lower()
        OPERATION.say_once(
            f"{_resource(declared, inputs)} will adopt {declared.noun} {record.job_id}, which is {state}"
        )
        return ""

    error = QUERIES.ask_endpoint(
        inputs.target,
        look,
        unknown=f"whether {inputs.adopt} can be adopted",
    )
    return Problem(path="adopt", message=error) if error else None


def _compared(declared: JobResourceType, endpoint: Endpoint, inputs: JobInputs) -> JobRecord:
    return adoption.adopt(
        declared.gateway,
        endpoint,
        inputs.adopt or "",
        declared.as_declared(inputs),
        spec_kind=declared.spec,
        key=inputs.run if isinstance(inputs.run, str) else "",
        taking_over=inputs.taking_over,
    )


def _resource(declared: JobResourceType, inputs: JobInputs) -> str:
    return inputs.marks.get("resource", declared.noun)


def _id(name: str) -> str:
    return name.rpartition("/")[2]


MACHINE_TYPE = ".machine_spec.machine_type"


def check(declared: JobResourceType, call: Call) -> Checked:
    """Return the inputs in normal form with those that follow from them, or every reason to refuse them."""
    old = reveal_job(call.old_inputs)
    props = _named(declared, reveal_job(call.inputs), old)
    decoded = declared.decode_inputs(props)
    OPERATION.note_checked(declared.operation_key(props))
    inputs, problems = decoded.spec, decoded.problems
    if inputs is None and (inputs := _accepted_before(declared, decoded, old)) is not None:
        problems = tuple(dataclasses.replace(problem, level="warning") for problem in problems)
        OPERATION.say_once(f"{declared.resource(props)}: is kept. A new job with this spec would be refused:")
    if inputs is None:
        return Checked(problems=problems)
    resource = declared.operation_key(props)
    if call.old_inputs:
        OPERATION.note_existing(resource)
    # The check of a replacement gets no old inputs, and the resource exists.
    elif refused := refusal(declared, inputs, decoded.unknown, exists=OPERATION.exists(resource)):
        return Checked(problems=[refused])
    if conflict := declared.conflict(inputs, decoded.unknown):
        if not call.old_inputs and conflict.level == "error":
            return Checked(problems=[conflict])
        # An existing job is not refused for a conflict with another resource.
        problems = (*problems, dataclasses.replace(conflict, level="warning"))
    inputs, unknown = _as_submitted(declared, inputs, decoded.unknown, old)
    checked = _inputs_of_last_run(declared, completed(declared, inputs, unknown), old)
    for line in warnings(declared.resource(props), problems):
        OPERATION.say_once(line)
    if checked["spec_hash"] != old.get("spec_hash"):
        for sentence in declared.filled_in(props):
            OPERATION.say_once(f"{declared.resource(props)}: {sentence}")
    announce_cost(declared, inputs, unknown, old=old, checked=checked)
    if isinstance(checked["run"], str):
        OPERATION.runs.note_declared_run(
            DeclaredRun(
                key=checked["run"],
                rerun=Policy(checked["rerun"]),
                protect_running=bool(checked["protect_running"]),
                on_replace=OnReplace(checked["on_replace"]),
            )
        )
    return Checked(inputs=hide_in_job(checked))


def diff(declared: JobResourceType, call: Call) -> Difference:
    """Return what changes. In a deployment, print it in words, and decide by the rerun table."""
    id_ = call.id
    OPERATION.runs.note_released(id_)
    recorded, new = reveal_job(call.outputs), reveal_job(call.inputs)
    OPERATION.runs.note_recorded_run(recorded.get("run"))
    if begun_work.has_begun(id_):
        OPERATION.runs.note_interrupted_replacement(recorded.get("run"))
    if is_unknown(new):
        OPERATION.runs.note_deleted_first(id_)
    replaces = _replaced_by(declared, recorded, new)
    record_changed = any(
        recorded.get(name, absent) != new.get(name, absent) for name, absent in RECORD.items()
    )
    if OPERATION.was_checked(declared.operation_key(new)):
        OPERATION.runs.note_compared(id_)
        decision = decision_of(declared.gateway, id_, recorded, new, replaces, record_changed=record_changed)
        if decision.action is Action.REFUSE:
            raise Failure(decision.sentence(declared.resource(new)))
        gone = not replaces and is_gone(declared.gateway, decision, recorded)
        if gone or (not replaces and decision.reported and decision.action is Action.NOTHING):
            say(decision.sentence(declared.resource(new)))
        run = str(recorded.get("run"))
        if gone:
            replaces = ["state"]
            OPERATION.runs.note_reason(
                run, rerun.INTERRUPTED if decision.row == "interrupted" else rerun.GONE
            )
        elif replaces:
            _announce_cancellation(
                declared, id_, recorded, new, unless_unchanged=is_unknown(new["spec_hash"])
            )
            if new.get("run") == run:
                # The run does not see another location, nor a spec that `--target` leaves out of it.
                moved = set(replaces) & set(TARGET_FIELDS)
                OPERATION.runs.note_reason(run, rerun.MOVED if moved else rerun.SPEC)
        if not replaces:
            OPERATION.note_kept(id_, declared.operation_key(new), recorded)
    return Difference(
        changes=bool(replaces) or record_changed,
        replaces=state_names(replaces),
        delete_before_replace=True,
    )


def _announce_cancellation(
    declared: JobResourceType,
    id_: str,
    recorded: dict[str, Any],
    new: dict[str, Any],
    *,
    unless_unchanged: bool,
) -> None:
    """Print in a preview, on the row of a live job, that it will be cancelled. Costs no query of its own."""
    declaration = OPERATION.runs.job_declaration(declared.operation_key(new))
    place = target_of(recorded)
    if not declaration.is_preview or place is None or has_ended(recorded):
        return
    record = job_cache_of(declared.gateway.collection).record(place, id_)
    if isinstance(record, LookupResult) or last_run(None, record.state.name) not in LIVE:
        return
    from pulumi_vertex_training.runs.live_jobs import described  # imported only if needed

    unless = ", unless its spec turns out to be unchanged" if unless_unchanged else ""
    OPERATION.say_on(
        declaration.urn,
        f"{declared.resource(new)} is {described(record)}: up will cancel it and run it again{unless}",
    )


def completed(declared: JobResourceType, inputs: JobInputs, unknown: frozenset[str]) -> dict[str, Any]:
    """Return the inputs in normal form with those that follow from them, the hidden ones among them."""
    spec, unhashed = declared.spec_of(inputs), {path for path in unknown if root(path) in declared.hashed}
    directory, chosen = declared.spec.directory_path(inputs), False
    if declared.follows_run(inputs) and directory is not None:
        unhashed.discard(directory)
        spec = declared.spec.with_output_directory(spec, None)
        inputs = declared.spec.with_output_directory(inputs, run_directory(inputs))
        # A directory that the user gives is the user's to see, also while it is not known yet.
        chosen = directory not in unknown
        if unknown & {"run", "staging_bucket", "marks"}:
            unknown |= {directory}
    checked = complete(inputs, unknown=unknown | _unknown_disks(inputs, unknown))
    checked["output_path"] = directory if chosen else None
    checked["spec_hash"] = UNKNOWN if unhashed else declared.declared_hash(spec, inputs.staging_bucket)
    return dict(checked)


def _named(declared: JobResourceType, props: dict[str, Any], olds: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs with the name that the job goes by: renaming a resource does not run it again.

    As long as the run is the same, the name is the one under which the job was submitted. Display name and
    output directory follow it if they are not declared.
    """
    if "marks" in olds and olds.get("run") == props.get("run"):
        props = {**props, "marks": olds["marks"]}
    return {"display_name": declared.resource(props), **props}


def _as_submitted(
    declared: JobResourceType, inputs: JobInputs, unknown: frozenset[str], olds: dict[str, Any]
) -> tuple[JobInputs, frozenset[str]]:
    """Return the inputs with the labels and the display name of the present run, and the unknown paths.

    A job cannot change them and nothing runs because of them, so new ones wait for the next run.
    """
    if olds.get("run") != inputs.run:
        return inputs, unknown
    names = {name for name in OF_NEXT_RUN if name in declared.spec_fields}
    waiting = {path for path in unknown if root(path) in names}
    if not waiting and all((olds.get(name) or {}) == (getattr(inputs, name) or {}) for name in names):
        return inputs, unknown
    recorded = declared.read_inputs({name: olds[name] for name in declared.input_names if name in olds}).draft
    if recorded is None:
        return inputs, unknown
    kept = dataclasses.replace(inputs, **{name: getattr(recorded, name) for name in names})
    difference = declared.spec.compare(declared.spec_of(kept), declared.spec_of(inputs), unknown=waiting)
    if difference.paths:
        OPERATION.say_once(f"{declared.resource(olds)}: {difference.words}")
    return kept, unknown - waiting


def _accepted_before(declared: JobResourceType, decoded: Decoded[Any], olds: dict[str, Any]) -> Any | None:
    """Return the inputs of an unchanged job that a rule of this version refuses; else None.

    Otherwise an upgrade, or a type that Google retires, would stop every deployment of a stack with such a
    job.
    """
    inputs = decoded.draft
    if inputs is None or decoded.damaged or any(not problem.rule for problem in errors(decoded.problems)):
        return None
    same_place = all(olds.get(name) == getattr(inputs, name) for name in (*TARGET_FIELDS, "run"))
    recorded = olds.get("spec_hash")
    if not same_place or not recorded:
        return None
    return inputs if completed(declared, inputs, decoded.unknown)["spec_hash"] == recorded else None


def _unknown_disks(inputs: JobInputs, unknown: frozenset[str]) -> frozenset[str]:
    """Return the paths of undeclared disks of machines that are not known yet.

    The normal form fills in a disk by the machine type.
    """
    pools = {path.removesuffix(MACHINE_TYPE) for path in unknown if path.endswith(MACHINE_TYPE)}
    return frozenset(
        f"{place}.disk_spec"
        for path, part in parts(inputs)
        for position, pool in enumerate(part.worker_pool_specs)
        if (place := f"{path}.worker_pool_specs[{position}]".lstrip(".")) in pools and pool.disk_spec is None
    )


def _inputs_of_last_run(
    declared: JobResourceType, checked: dict[str, Any], olds: dict[str, Any]
) -> dict[str, Any]:
    """Return the inputs of a job that must not run again: those it was submitted with, and the new record."""
    if checked["rerun"] != Policy.NEVER.value or not olds.get("run") or olds["run"] != checked["run"]:
        return checked
    if target_of(olds) != target_of(checked):
        say(f"{declared.resource(checked)} stays: its location changed, but rerun is never")
    return {**olds, **{name: checked.get(name) for name in RECORD}}


def _replaced_by(declared: JobResourceType, recorded: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return the inputs whose change replaces the job. In a deployment, print the change in words."""
    replacing = (*declared.spec_fields, *TARGET_FIELDS, "run", "spec_hash")
    if all(recorded.get(name) == new.get(name) for name in replacing) and not is_unknown(new):
        return []
    was, will = _canonical(declared, recorded), _canonical(declared, new)
    replaces = [name for name in replacing if is_unknown(will.get(name)) or was.get(name) != will.get(name)]
    is_deployment = OPERATION.was_checked(declared.operation_key(will))
    if is_deployment and recorded.get("spec_hash") and recorded.get("spec_hash") == new.get("spec_hash"):
        # The same declaration, with defaults that another version filled in otherwise.
        replaces = [name for name in replaces if name not in declared.spec_fields]
    if replaces and is_deployment and (sentence := _sentence(declared, was, will)):
        say(f"{declared.resource(will)}: {sentence}")
    return replaces


def _canonical(declared: JobResourceType, props: dict[str, Any]) -> dict[str, Any]:
    """Return inputs or recorded outputs in one shape, including those that an older version recorded."""
    decoded = declared.read_inputs({name: props[name] for name in declared.input_names if name in props})
    inputs, unknown = decoded.draft, decoded.unknown
    if inputs is None:
        return props
    directory = declared.spec.directory_path(inputs)
    if declared.follows_run(inputs) or (inputs.staging_bucket and {"run", directory} <= unknown):
        # The run's own directory changes with every run and is no change of its own.
        inputs = declared.spec.with_output_directory(inputs, None)
        unknown -= {directory}
    return dict(encode(inputs, unknown=unknown))


def _sentence(declared: JobResourceType, old: dict[str, Any], new: dict[str, Any]) -> str:
    """Return what changes, pool by pool, and what happens to the job; "" if its spec stays."""
    was, will = declared.read_inputs(old), declared.read_inputs(new)
    if was.draft is None or will.draft is None:
        return ""
    unknown = {
        path
        for path in will.unknown
        if root(path) in declared.spec_fields
        # A disk that follows from a machine type is no change of its own.
        and path.removesuffix(".disk_spec") + MACHINE_TYPE not in will.unknown
    }
    difference = declared.spec.compare(
        declared.spec_of(was.draft), declared.spec_of(will.draft), unknown=unknown
    )
    moved = [
        f"{name}: {old.get(name)} -> {_shown(new.get(name))}"
        for name in TARGET_FIELDS
        if old.get(name) != new.get(name)
    ]
    if not moved:
        return difference.words
    it = declared.spec.it
    reason = f"{it} is replaced, because a {it.removeprefix('the ')} cannot move"
    return "; ".join([*moved, *difference.changes, reason])


def _shown(value: Any) -> str:
    return NOT_KNOWN if is_unknown(value) else str(value)
