"""Check and diff of a job: the inputs as the state keeps them, and what a change of them does."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pulumi_vertex_training.core.call import Call, Checked, Difference
from pulumi_vertex_training.core.engine import say
from pulumi_vertex_training.core.interrupted import begun_creations, begun_work
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.provider import Failure, complete, is_unknown, warnings
from pulumi_vertex_training.core.run_context import DecidedRun, DeclaredPolicies, JobDeclaration
from pulumi_vertex_training.core.running import adopting, prerequisites
from pulumi_vertex_training.core.running.cost_line import announce_cost
from pulumi_vertex_training.core.running.declaration import RECORD, JobInputs, JobResourceType, root
from pulumi_vertex_training.core.running.hidden_input import KEY_INPUT, LOOKUPS, hide, reveal, state_names
from pulumi_vertex_training.core.running.job_cache import job_cache_of
from pulumi_vertex_training.core.running.rerun_decision import facts_of, has_ended
from pulumi_vertex_training.core.settings import TARGET_FIELDS, target_of
from pulumi_vertex_training.runs import identity
from pulumi_vertex_training.runs.policies import rerun
from pulumi_vertex_training.runs.policies.deletion_policy import OnReplace
from pulumi_vertex_training.runs.policies.rerun import Action, Policy, decide
from pulumi_vertex_training.runs.policies.run_status import (
    LIVE,
    RECORD_CHANGES,
    Change,
    LastRun,
    LookupResult,
    change_of,
    last_run,
)
from vertex_training.fields.decode import UNKNOWN, Decoded, encode
from vertex_training.fields.values import NOT_KNOWN
from vertex_training.findings.problems import errors
from vertex_training.job.job_spec import OF_NEXT_RUN, parts

MACHINE_TYPE = ".machine_spec.machine_type"

_WITHOUT_A_JOB = frozenset({"gone", "interrupted"})
"""Rows by which the job is created again because it does not exist."""


def check(declared: JobResourceType, call: Call) -> Checked:
    """Return the inputs in normal form with those that follow from them, or every reason to refuse them."""
    old, given = reveal(call.old_inputs), reveal(call.inputs)
    known, key = given.pop(LOOKUPS, None), given.pop(KEY_INPUT, None)
    resource = declared.operation_key(call.urn, given)
    OPERATION.note_checked(resource)
    OPERATION.note_key(resource, key)
    _note_declaration(declared, resource, given, known if isinstance(known, dict) else {}, call.urn)
    props = {**given, "identity": _identity(resource, old, call.seed)}
    if old:
        OPERATION.note_existing(resource)
        props["marks"] = _marks(declared, props, old)
    return _checked(declared, resource, props, old)


def _marks(declared: JobResourceType, props: dict[str, Any], old: Mapping[str, Any]) -> Any:
    """Return the names of the job's declaration: those that its run has, until it runs again.

    Renaming a resource does not run its job again.
    """
    given, recorded = props.get("marks", {}), old.get("marks")
    if recorded is None or recorded == given:
        return given
    decoded = declared.decode_inputs(_named(declared, {**props, "marks": recorded}))
    if decoded.draft is None:
        return recorded
    change = _change(old, completed(declared, decoded.draft, decoded.unknown))
    return recorded if change in RECORD_CHANGES else given


def _named(declared: JobResourceType, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs with a display name, which is that of the resource unless one is declared."""
    return {"display_name": declared.resource(given), **given}


def _checked(
    declared: JobResourceType, resource: str, given: Mapping[str, Any], old: dict[str, Any]
) -> Checked:
    props = _named(declared, given)
    decoded = declared.decode_inputs(props)
    inputs, problems = decoded.spec, decoded.problems
    if inputs is None and (inputs := _accepted_before(declared, decoded, old)) is not None:
        problems = tuple(dataclasses.replace(problem, level="warning") for problem in problems)
        OPERATION.say_once(f"{declared.resource(props)}: is kept. A new job with this spec would be refused:")
    if inputs is None:
        return Checked(problems=problems)
    # The check of a replacement gets no old inputs, and the resource exists.
    if not old and (
        refused := adopting.refusal(
            declared,
            inputs,
            decoded.unknown,
            key=OPERATION.key_of(resource),
            exists=OPERATION.exists(resource),
        )
    ):
        return Checked(problems=[refused])
    if conflict := declared.conflict(inputs, decoded.unknown):
        if not old and conflict.level == "error":
            return Checked(problems=[conflict])
        # An existing job is not refused for a conflict with another resource.
        problems = (*problems, dataclasses.replace(conflict, level="warning"))
    checked = completed(declared, inputs, decoded.unknown)
    change = _change(old, checked)
    if old:
        OPERATION.runs.note_change(resource, change)
        if change in RECORD_CHANGES:
            kept, unknown = _as_submitted(declared, inputs, decoded.unknown, old)
            if kept is not inputs:
                inputs, checked = kept, completed(declared, kept, unknown)
    checked = _inputs_of_last_run(declared, checked, old)
    for line in warnings(declared.resource(props), problems):
        OPERATION.say_once(line)
    if checked["spec_hash"] != old.get("spec_hash"):
        for sentence in declared.filled_in(props):
            OPERATION.say_once(f"{declared.resource(props)}: {sentence}")
    announce_cost(declared, resource, inputs, decoded.unknown, old=old, checked=checked)
    OPERATION.runs.note_policies(
        resource,
        DeclaredPolicies(
            rerun=Policy(checked["rerun"]),
            protect_running=bool(checked["protect_running"]),
            on_replace=OnReplace(checked["on_replace"]),
        ),
    )
    return Checked(inputs=hide(checked))


def _identity(resource: str, old: Mapping[str, Any], seed: bytes) -> str:
    """Return the identity of the runs: the recorded one, else a new one for a resource without a record."""
    if old.get("identity"):
        return str(old["identity"])
    recorded = OPERATION.runs.recorded_run(resource)
    return recorded.identity if recorded else identity.new_identity(seed)


def _note_declaration(
    declared: JobResourceType, resource: str, given: Mapping[str, Any], known: Mapping[str, Any], urn: str
) -> None:
    """Keep what the program declares, and where a line about it is shown."""
    passed_over = known.get("passed_over")
    OPERATION.runs.note_declaration(
        resource,
        JobDeclaration(
            values=declared.inputs_in(given),
            passed_over=tuple(passed_over) if isinstance(passed_over, list) else (),
            urn=urn,
            is_preview=known.get("is_preview") is True,
        ),
    )


def _change(old: Mapping[str, Any], new: Mapping[str, Any]) -> Change:
    """Return what the declaration changes; a resource without a record has everything to run."""
    hashed, token = new["spec_hash"], new.get("run_token")
    return change_of(
        recorded=(old.get("spec_hash"), old.get("run_token")),
        declared=(None if hashed is UNKNOWN else hashed, token),
        record_changed=_record_changed(old, new),
    )


def _record_changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    return any(old.get(name, absent) != new.get(name, absent) for name, absent in RECORD.items())


def diff(declared: JobResourceType, call: Call) -> Difference:
    """Return what changes. In a deployment, print it in words, and decide by the rerun table."""
    recorded, new = reveal(call.outputs), reveal(call.inputs)
    resource, name = declared.operation_key(call.urn, new), declared.resource(new)
    OPERATION.runs.note_released(call.id)
    OPERATION.runs.note_recorded_run(resource, recorded.get("run"))
    if (key := OPERATION.key_of(resource)) and recorded.get("run"):
        for of_note in (key, begun_creations.key_without_stack(call.urn)):
            begun_creations.forget(str(recorded["run"]), of_note)
    if is_unknown(new):
        OPERATION.runs.note_deleted_first(call.id)
    replaces = _replaced_by(declared, resource, recorded, new)
    if OPERATION.was_checked(resource):
        OPERATION.runs.note_compared(resource)
        replaces = _decided(declared, resource, call.id, recorded, new, replaces)
        if not replaces:
            OPERATION.note_kept(call.id, resource, recorded)
        else:
            _announce_cancellation(
                declared, resource, call.id, recorded, name, unless_unchanged=is_unknown(new["spec_hash"])
            )
    return Difference(
        changes=bool(replaces) or _record_changed(recorded, new),
        replaces=state_names(replaces),
        delete_before_replace=True,
    )


def _decided(
    declared: JobResourceType,
    resource: str,
    id_: str,
    recorded: Mapping[str, Any],
    new: Mapping[str, Any],
    replaces: list[str],
) -> list[str]:
    """Return the inputs that replace the job, by the rerun table. Print the decision. Raises Failure."""
    name, change = declared.resource(new), OPERATION.runs.change(resource)
    moved = set(replaces) & set(TARGET_FIELDS)
    if replaces and change in RECORD_CHANGES:
        change = Change.SPEC
    facts = facts_of(declared.gateway, id_, change, recorded, new)
    decision = decide(facts)
    if decision.action is Action.REFUSE:
        raise Failure(decision.sentence(name))
    if decision.action is Action.NOTHING:
        if decision.reported:
            say(decision.sentence(name))
        return replaces
    # In a preview the program looks up, for all jobs at the same time; it cannot know of the next run of one
    # with `adopt`.
    by_program = OPERATION.runs.declaration(resource).is_preview and not new.get("adopt")
    if decision.row not in _WITHOUT_A_JOB and not by_program:
        prerequisites.require(
            declared,
            name,
            OPERATION.runs.declaration(resource),
            replaced=id_,
            identity=identity.identity_of(str(recorded.get("run"))),
            place=target_of(recorded),
            certain=change is not Change.SPEC_UNKNOWN,
        )
    if not moved:
        say(decision.sentence(name))
    why, reruns = rerun.MOVED if moved else rerun.code_of(facts, decision), decision.reruns
    if facts.last_run is LastRun.STOPPED and (counted := rerun.reruns_of(begun_work.reason_of(id_))):
        # A rerun on failure was interrupted before it was submitted: it counts.
        why, reruns = begun_work.reason_of(id_), counted
    OPERATION.runs.note_decided(resource, DecidedRun(why=why, reruns=reruns))
    # The engine asks for the name of a property that replaces the resource, even of one that is equal.
    return replaces or ["state"]


def _announce_cancellation(
    declared: JobResourceType,
    resource: str,
    id_: str,
    recorded: Mapping[str, Any],
    name: str,
    *,
    unless_unchanged: bool,
) -> None:
    """Print in a preview, on the row of a live job, that it will be cancelled. Costs no query of its own."""
    declaration = OPERATION.runs.declaration(resource)
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
        f"{name} is {described(record)}: up will cancel it and run it again{unless}",
    )


def completed(declared: JobResourceType, inputs: JobInputs, unknown: frozenset[str]) -> dict[str, Any]:
    """Return the inputs in normal form with those that follow from them, the hidden ones among them."""
    spec, unhashed = declared.spec_of(inputs), {path for path in unknown if root(path) in declared.hashed}
    checked = complete(inputs, unknown=unknown | _unknown_disks(inputs, unknown))
    checked["spec_hash"] = UNKNOWN if unhashed else declared.declared_hash(spec, inputs.staging_bucket)
    return dict(checked)


def _as_submitted(
    declared: JobResourceType, inputs: JobInputs, unknown: frozenset[str], olds: dict[str, Any]
) -> tuple[JobInputs, frozenset[str]]:
    """Return the inputs with the labels and the display name of the present run, and the unknown paths.

    A job cannot change them and nothing runs because of them, so new ones wait for the next run.
    """
    names = {name for name in OF_NEXT_RUN if name in declared.spec_fields}
    waiting = {path for path in unknown if root(path) in names}
    if not waiting and all((olds.get(name) or {}) == (getattr(inputs, name) or {}) for name in names):
        return inputs, unknown
    recorded = declared.read_inputs(declared.inputs_in(olds)).draft
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
    same_place = all(olds.get(name) == getattr(inputs, name) for name in (*TARGET_FIELDS, "run_token"))
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
    if checked["rerun"] != Policy.NEVER.value or not olds:
        return checked
    if target_of(olds) != target_of(checked):
        say(f"{declared.resource(checked)} stays: its location changed, but rerun is never")
    return {**olds, **{name: checked.get(name) for name in RECORD}}


def _replaced_by(
    declared: JobResourceType, resource: str, recorded: dict[str, Any], new: dict[str, Any]
) -> list[str]:
    """Return the inputs whose change replaces the job. In a deployment, print the change in words."""
    replacing = (*declared.spec_fields, *TARGET_FIELDS, "run_token", "spec_hash")
    if all(recorded.get(name) == new.get(name) for name in replacing) and not is_unknown(new):
        return []
    was, will = _canonical(declared, recorded), _canonical(declared, new)
    replaces = [name for name in replacing if is_unknown(will.get(name)) or was.get(name) != will.get(name)]
    is_deployment = OPERATION.was_checked(resource)
    if is_deployment and recorded.get("spec_hash") and recorded.get("spec_hash") == new.get("spec_hash"):
        # The same declaration, with defaults that another version filled in otherwise.
        replaces = [name for name in replaces if name not in declared.spec_fields]
    if replaces and is_deployment and (sentence := _sentence(declared, was, will)):
        say(f"{declared.resource(will)}: {sentence}")
    return replaces


def _canonical(declared: JobResourceType, props: dict[str, Any]) -> dict[str, Any]:
    """Return inputs or recorded outputs in one shape, including those that an older version recorded."""
    decoded = declared.read_inputs(declared.inputs_in(props))
    inputs, unknown = decoded.draft, decoded.unknown
    if inputs is None:
        return props
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
