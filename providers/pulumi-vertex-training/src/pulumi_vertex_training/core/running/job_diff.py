"""Check and diff of a job: the inputs as the state keeps them, and what a change of them does."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pulumi_vertex_training.core.call import Call, Checked, Difference, PropertyChange
from pulumi_vertex_training.core.engine import print_line
from pulumi_vertex_training.core.interrupted import creation_notes, deletion_notes
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.property_changes import property_changes
from pulumi_vertex_training.core.provider import Failure, complete, is_unknown, warnings
from pulumi_vertex_training.core.resource_context import DecidedRun, ResourceContext
from pulumi_vertex_training.core.running import adopting, ladder, max_cost, prerequisites
from pulumi_vertex_training.core.running.declaration import RECORD, JobInputs, JobResourceType, root
from pulumi_vertex_training.core.running.job_cache import job_cache_of
from pulumi_vertex_training.core.running.output.cost_line import announce_cost
from pulumi_vertex_training.core.running.output.ladder_lines import announce_ladder
from pulumi_vertex_training.core.running.rerun_facts import facts_of, has_ended
from pulumi_vertex_training.core.running.secret_variables import secret_variables
from pulumi_vertex_training.core.settings import TARGET_FIELDS, target_of
from pulumi_vertex_training.core.state.hidden_input import hide, reveal
from pulumi_vertex_training.runs import identity
from pulumi_vertex_training.runs.policies import rerun
from pulumi_vertex_training.runs.policies.rerun import Action, Policy
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
from vertex_training.job.checkpoints import AFTER_INTERRUPTION, folder_of_all_runs
from vertex_training.job.job_spec import OF_NEXT_RUN, parts

MACHINE_TYPE = ".machine_spec.machine_type"

_RUN_AGAIN = PropertyChange(path=("state",), kind="update", replaces=True)
"""The change of a job that runs again although its declaration stays."""

_WITHOUT_A_JOB = frozenset({"gone", "interrupted"})
"""Rows by which the job is created again because it does not exist."""


def check(declared: JobResourceType, call: Call) -> Checked:
    """Return the inputs in normal form with those that follow from them, or every reason to refuse them."""
    old, given = reveal(call.old_inputs), reveal(call.inputs)
    props = {**given, "identity": _identity(call, old)}
    if max_cost.declares_retries(declared, given):
        props["keeps_retries"] = True
    if call.old_inputs:
        props["marks"] = _marks(declared, props, old)
    return _checked(declared, call, props, old)


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
    """Return the inputs with a display name, which is the resource's unless one is declared."""
    return {"display_name": declared.resource(given), **given}


def _checked(declared: JobResourceType, call: Call, given: Mapping[str, Any], old: dict[str, Any]) -> Checked:
    props = _named(declared, given)
    decoded = declared.decode_inputs(props)
    inputs, problems = decoded.spec, decoded.problems
    if inputs is None and (inputs := _accepted_before(declared, decoded, old)) is not None:
        problems = tuple(dataclasses.replace(problem, level="warning") for problem in problems)
        OPERATION.print_once(
            f"{declared.resource(props)}: is kept. A new job with this spec would be refused:"
        )
    if inputs is None:
        return Checked(problems=problems)
    # The check of a replacement gets no old inputs, and the resource exists.
    if not old and (
        refused := adopting.refusal(
            declared, inputs, decoded.unknown, key=call.key, exists=bool(call.context.recorded)
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
        call.context.change = change
        if change in RECORD_CHANGES:
            kept, unknown = _as_submitted(declared, inputs, decoded.unknown, old)
            if kept is not inputs:
                inputs, checked = kept, completed(declared, kept, unknown)
    if (not old or change not in RECORD_CHANGES or old.get("max_cost") != inputs.max_cost) and (
        unbounded := [
            *max_cost.refusals(declared, inputs, decoded.unknown),
            *ladder.unbounded(declared, inputs, decoded.unknown),
        ]
    ):
        return Checked(problems=unbounded)
    # The check of a replacement gets no old inputs.
    former = old or reveal(call.context.recorded)
    checked = {**_inputs_of_last_run(declared, checked, old), **ladder.recorded_locations(inputs, former)}
    for line in warnings(declared.resource(props), (*problems, *secret_variables(inputs))):
        OPERATION.print_once(line)
    if checked["spec_hash"] != old.get("spec_hash"):
        for sentence in declared.filled_in(props):
            OPERATION.print_once(f"{declared.resource(props)}: {sentence}")
    announce_cost(declared, call, inputs, decoded.unknown, old=old, checked=checked)
    announce_ladder(declared, call, inputs, decoded.unknown, old=old, checked=checked)
    if not old and not call.context.recorded:
        max_cost.announce_first(declared, call, inputs, decoded.unknown, declared.resource(props))
    return Checked(inputs=hide(checked))


def _identity(call: Call, old: Mapping[str, Any]) -> str:
    """Return the identity of the runs: the recorded one, else a new one for a resource without a record."""
    if old.get("identity"):
        return str(old["identity"])
    recorded = call.context.recorded_run
    return recorded.identity if recorded else identity.new_identity(call.seed)


def _change(old: Mapping[str, Any], new: Mapping[str, Any]) -> Change:
    """Return what the declaration changes; a resource without a record has everything to run."""
    hashed, token = new["spec_hash"], new.get("run_token")
    return change_of(
        recorded=(old.get("spec_hash"), old.get("run_token")),
        declared=(None if hashed is UNKNOWN else hashed, token),
        record_changed=any(_differs(old, new, name, absent) for name, absent in RECORD.items()),
    )


def _differs(old: Mapping[str, Any], new: Mapping[str, Any], name: str, absent: object) -> bool:
    return bool(old.get(name, absent) != new.get(name, absent))


def diff(declared: JobResourceType, call: Call) -> Difference:
    """Return what changes. In a deployment, print it in words, and decide by the rerun table."""
    recorded, new = reveal(call.outputs), reveal(call.inputs)
    context = call.context
    OPERATION.note_released(call.id)
    context.places |= ladder.recorded_places(recorded)
    context.note_recorded_run(recorded.get("run"), recorded.get("checkpoints"))
    if call.key and recorded.get("run"):
        for of_note in (call.key, creation_notes.key_without_stack(call.urn)):
            creation_notes.forget(str(recorded["run"]), of_note)
    context.has_unknown = is_unknown(new)
    replaces = _replaced_by(declared, context, recorded, new)
    if context.checked is not None:
        context.is_compared = True
        replaces = _decided(declared, call, recorded, new, replaces)
        if not replaces:
            OPERATION.note_kept(call.id, context, recorded)
        elif call.is_preview:
            _announce_cancellation(declared, call, recorded, new)
    edited = [name for name, absent in RECORD.items() if _differs(recorded, new, name, absent)]
    return Difference(
        changes=bool(replaces or edited),
        properties=(*replaces, *property_changes(recorded, new, edited)),
        delete_before_replace=True,
    )


def _decided(
    declared: JobResourceType,
    call: Call,
    recorded: Mapping[str, Any],
    new: Mapping[str, Any],
    replaces: tuple[PropertyChange, ...],
) -> tuple[PropertyChange, ...]:
    """Return the changes that replace the job, by the rerun table. Print the decision. Raises Failure."""
    name, change = declared.resource(new), call.context.change
    moved = {each.path[0] for each in replaces}.intersection(TARGET_FIELDS)
    if replaces and change in RECORD_CHANGES:
        change = Change.SPEC
    facts = ladder.facts_of(
        declared, call.id, recorded, new, facts_of(declared.gateway, call.id, change, recorded, new)
    )
    decision, stops = max_cost.decide_with(declared, call, facts, recorded, new)
    if decision.action is Action.REFUSE:
        raise Failure(decision.sentence(name))
    if decision.action is Action.NOTHING:
        if decision.reported:
            print_line(decision.sentence(name))
        return replaces
    # In a preview the program looks up, for all jobs at the same time; it cannot know of the next run of one
    # with `adopt`.
    by_program = call.is_preview and not new.get("adopt")
    if decision.row not in _WITHOUT_A_JOB and not by_program:
        prerequisites.require(
            declared,
            name,
            call,
            identity=identity.identity_of(str(recorded.get("run"))),
            place=target_of(recorded),
            certain=change is not Change.SPEC_UNKNOWN,
        )
    if not moved:
        print_line(decision.sentence(name) + ladder.last_rung(declared, recorded))
    if stops and call.is_preview:
        OPERATION.print_on(call.urn, stops)
    why, reruns = rerun.MOVED if moved else rerun.code_of(facts, decision), decision.reruns
    if facts.last_run is LastRun.STOPPED and (counted := rerun.reruns_of(deletion_notes.reason_of(call.id))):
        # A rerun on failure was interrupted before it was submitted: it counts.
        why, reruns = deletion_notes.reason_of(call.id), counted
    elif facts.last_run is LastRun.STOPPED and deletion_notes.reason_of(call.id) == rerun.ON_DEMAND:
        why = rerun.ON_DEMAND  # the replacement that was requested then begins a new training
    tried = ladder.tried_of(recorded) if decision.row == rerun.NEXT_RUNG else ()
    call.context.decided = DecidedRun(why=why, reruns=reruns, climbs=decision.climbs, tried=tried)
    kept = recorded.get("checkpoints")
    if kept and rerun.resumes(why) and new.get("resume") in (None, AFTER_INTERRUPTION):
        print_line(f"{name}: the next run continues from the checkpoints in {kept}, if there are any")
    return replaces or (_RUN_AGAIN,)


def _announce_cancellation(
    declared: JobResourceType, call: Call, recorded: Mapping[str, Any], new: Mapping[str, Any]
) -> None:
    """Print on the row of a live job that it will be cancelled. Costs no query of its own."""
    place = target_of(recorded)
    if place is None or has_ended(recorded):
        return
    record = job_cache_of(declared.gateway.collection).record(place, call.id)
    if isinstance(record, LookupResult) or last_run(None, record.state.name) not in LIVE:
        return
    from pulumi_vertex_training.runs.monitoring import live_jobs  # imported only if needed

    inputs = declared.read_inputs(new).draft
    spec = None if inputs is None else declared.spec_of(inputs)
    again = live_jobs.run_again(folder_of_all_runs(new.get("resume"), spec))
    unless = ", unless its spec turns out to be unchanged" if is_unknown(new["spec_hash"]) else ""
    words = live_jobs.described(record.state.word, live_jobs.size(record), live_jobs.since(record))
    OPERATION.print_on(call.urn, f"{declared.resource(new)} is {words}: up will cancel it{again}{unless}")


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
        OPERATION.print_once(f"{declared.resource(olds)}: {difference.words}")
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
        print_line(f"{declared.resource(checked)} stays: its location changed, but rerun is never")
    kept = {name: value for name, value in olds.items() if name not in RECORD}
    return {**kept, **{name: checked[name] for name in RECORD if name in checked}}


def _replaced_by(
    declared: JobResourceType, context: ResourceContext, recorded: dict[str, Any], new: dict[str, Any]
) -> tuple[PropertyChange, ...]:
    """Return the changes that replace the job. In a deployment, print them in words."""
    replacing = (*declared.spec_fields, *TARGET_FIELDS, "run_token", "spec_hash")
    if all(recorded.get(name) == new.get(name) for name in replacing) and not is_unknown(new):
        return ()
    was, will = _canonical(declared, recorded), _canonical(declared, new)
    replaces = [name for name in replacing if is_unknown(will.get(name)) or was.get(name) != will.get(name)]
    is_deployment = context.checked is not None
    if is_deployment and recorded.get("spec_hash") and recorded.get("spec_hash") == new.get("spec_hash"):
        # The same declaration, with defaults that another version filled in otherwise.
        replaces = [name for name in replaces if name not in declared.spec_fields]
    if replaces and is_deployment and (sentence := _sentence(declared, was, will)):
        print_line(f"{declared.resource(will)}: {sentence}")
    if "spec_hash" not in replaces:
        return property_changes(was, will, replaces, replacing=replaces, effects=declared.spec.effects)
    # The hash covers a bucket, too; it is no property that is shown.
    bucket = ["staging_bucket"] if was.get("staging_bucket") != will.get("staging_bucket") else []
    names = [*(name for name in replaces if name != "spec_hash"), *bucket]
    return property_changes(was, will, names, replacing=names, effects=declared.spec.effects) or (_RUN_AGAIN,)


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
        f"{name}: {old.get(name)} -> {NOT_KNOWN if is_unknown(new.get(name)) else new.get(name)}"
        for name in TARGET_FIELDS
        if old.get(name) != new.get(name)
    ]
    if not moved:
        return difference.words
    it = declared.spec.it
    reason = f"{it} is replaced, because a {it.removeprefix('the ')} cannot move"
    return "; ".join([*moved, *difference.changes, reason])
