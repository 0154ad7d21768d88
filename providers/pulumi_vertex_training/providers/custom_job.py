"""The provider of `CustomJob`: a training job, found again by its run's key, replaced on purpose."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from pulumi.dynamic import CheckResult, CreateResult, DiffResult, ReadResult, UpdateResult

from pulumi_vertex_training import adopting, remembered
from pulumi_vertex_training.adapter import (
    Failure,
    Provider,
    clean,
    complete,
    failures,
    inbound,
    is_unknown,
    outbound,
    warnings,
)
from pulumi_vertex_training.connection import endpoint_of
from pulumi_vertex_training.declaration import (
    HASHED,
    RECORD,
    SPEC_FIELDS,
    CustomJobInputs,
    another_directory,
    declared_hash,
    decode_inputs,
    follows_run,
    mark_labels,
    read_inputs,
    reduction_arithmetic,
    run_directory,
    spec_of,
)
from pulumi_vertex_training.judgement import allow_on_demand, decision_of, has_ended, is_gone
from pulumi_vertex_training.plugin import PLUGIN, engine_address, require_engine, say
from pulumi_vertex_training.sightings import place_of, settle_seconds
from vertex_training.cloud.custom_jobs import JobRecord
from vertex_training.cloud.errors import NotFound
from vertex_training.lifecycle.kinds import CUSTOM_JOB
from vertex_training.lifecycle.removal import remove
from vertex_training.lifecycle.removal_plan import OnDelete
from vertex_training.lifecycle.rerun import Policy, Verdict
from vertex_training.lifecycle.submission import Submission, find_or_submit
from vertex_training.specs import custom_job
from vertex_training.specs.custom_job_kind import CUSTOM_JOB as SPEC
from vertex_training.specs.decode import UNKNOWN, Decoded, encode
from vertex_training.topology.changes import NOT_KNOWN
from vertex_training.topology.problems import errors

REPLACING = (*SPEC_FIELDS, "endpoint", "project", "location", "run", "spec_hash")
INPUTS = tuple(item.name for item in dataclasses.fields(CustomJobInputs))


class CustomJobProvider(Provider):
    """Inputs: `declaration.CustomJobInputs`. Outputs besides: what the service says of the job."""

    @clean
    def check(self, _olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        props = _named(inbound(news), inbound(_olds))
        decoded = decode_inputs(props)
        PLUGIN.note_checked(_memory(props))
        inputs, problems = decoded.spec, decoded.problems
        if inputs is None and (inputs := _standing(decoded, inbound(_olds))) is not None:
            problems = tuple(dataclasses.replace(problem, level="warning") for problem in problems)
            PLUGIN.say_once(f"{_resource(props)}: stays as it is; a new job like it would be refused:")
        if inputs is None:
            return CheckResult(news, failures(problems))
        if _olds:
            PLUGIN.remember(f"exists {_resource(props)}", True)
        elif refused := adopting.refusal(inputs, decoded.unknown, exists=_exists(props)):
            return CheckResult(news, failures([refused]))
        checked = _kept(_checked(inputs, decoded.unknown), inbound(_olds))
        for line in warnings(_resource(props), problems):
            PLUGIN.say_once(line)
        if checked["spec_hash"] != _olds.get("spec_hash") and (arithmetic := reduction_arithmetic(props)):
            PLUGIN.say_once(f"{_resource(props)}: {arithmetic}")
        remembered.note_declared(checked)
        return CheckResult(outbound(checked), [])

    @clean
    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        PLUGIN.note_released(_id)
        recorded, declared = inbound(_olds), inbound(_news)
        remembered.note_recorded(recorded.get("run"))
        replaces = _replaces(recorded, declared)
        record_changed = any(
            recorded.get(name, absent) != declared.get(name, absent) for name, absent in RECORD.items()
        )
        if PLUGIN.was_checked(_memory(declared)):
            PLUGIN.remember(f"diff of {_id}", True)
            decision = decision_of(_id, recorded, declared, replaces, record_changed=record_changed)
            if decision.verdict is Verdict.REFUSE:
                raise Failure(decision.sentence(_resource(declared)))
            gone = not replaces and is_gone(decision, recorded)
            if gone or (not replaces and decision.told and decision.verdict is Verdict.NOTHING):
                say(decision.sentence(_resource(declared)))
            if gone:
                replaces = ["state"]
        return DiffResult(
            changes=bool(replaces) or record_changed, replaces=replaces, delete_before_replace=True
        )

    @clean
    def create(self, props: dict[str, Any]) -> CreateResult:
        raw = inbound(props)
        inputs = decode_inputs(raw).spec
        if inputs is None:
            raise ValueError("a custom job reached create with inputs that check refuses; please report this")
        if follows_run(inputs) and not PLUGIN.issued(inputs.run):
            inputs = dataclasses.replace(inputs, base_output_directory=another_directory(inputs))
        endpoint = endpoint_of(raw)
        recorded = remembered.recorded_generation(inputs.run)
        if adopting.is_due(inputs, PLUGIN.released(), recorded=recorded):
            return _created(raw, adopting.adopted(endpoint, inputs, tell=say), adopted=True)
        submission = Submission(
            key=inputs.run,
            spec_hash=inputs.spec_hash or "",
            issued_here=PLUGIN.issued(inputs.run),
            on_delete=OnDelete(inputs.on_delete),
            any_spec=inputs.rerun == Policy.NEVER.value,
            released=PLUGIN.released(),
            recorded=recorded,
            settle=settle_seconds(endpoint),
        )
        record, adopted = find_or_submit(
            CUSTOM_JOB,
            endpoint,
            _wire(inputs),
            submission,
            before_submit=require_engine,
            tell=lambda line: say(f"{_resource(raw)}: {line}"),
        )
        if adopted:
            say(f"{_resource(raw)}: adopted custom job {record.job_id} of an interrupted deployment")
        return _created(raw, record)

    @clean
    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        # The directory is where the job writes; a job that was made again under its key has one of its own.
        kept = {"base_output_directory": _olds.get("base_output_directory")}
        return UpdateResult({**_olds, **_news, **kept})

    @clean
    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        raw = inbound(props)
        try:
            record = CUSTOM_JOB.get(endpoint_of(raw), id_)
        except NotFound:
            if has_ended(raw) or raw.get("rerun") == Policy.NEVER.value or raw.get("adopt"):
                # A finished job is a steady state, and one that is not to be run again is not forgotten. One
                # that was adopted cannot be adopted once more: the next plan sees that it is gone.
                return ReadResult(id_, outbound(raw))
            return ReadResult(None, {})
        inputs = _as_it_lives(raw, record)
        return ReadResult(
            id_, outbound({**raw, **(inputs or {}), **_facts(record)}), inputs and outbound(inputs)
        )

    @clean
    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        if PLUGIN.made(_id):
            return  # another resource of this deployment has just adopted it
        PLUGIN.note_released(_id)
        raw = inbound(_props)
        remembered.note_recorded(raw.get("run"))
        name, endpoint = _resource(raw), endpoint_of(raw)
        declared = remembered.declared(raw.get("run"))
        same_run = declared is not None and declared["run"] == raw.get("run")
        if declared is not None and same_run and PLUGIN.recall(f"diff of {_id}") is None:
            # Replaced though nobody was asked: `pulumi up --replace`.
            allow_on_demand(name, declared, lambda: CUSTOM_JOB.get(endpoint, _id).state.name)
        remove(
            CUSTOM_JOB,
            endpoint,
            _id,
            label=name,
            tell=lambda line: say(f"{name}: {line}"),
            on_delete=OnDelete(raw.get("on_delete") or RECORD["on_delete"]),
            protect_running=bool((declared or raw).get("protect_running")),
        )


def _created(raw: dict[str, Any], record: JobRecord, *, adopted: bool = False) -> CreateResult:
    outs = {**raw, **_facts(record)}
    if record.wire:
        # An adopted job writes where the deployment that submitted it said.
        outs["base_output_directory"] = custom_job.output_directory(record.wire)
    # How a job ended that somebody else ran is no failure of this deployment.
    outs["asked_by"] = None if adopted and record.state.is_terminal else engine_address()
    return CreateResult(record.name, outbound(outs))


def _exists(props: dict[str, Any]) -> bool:
    """Whether this operation replaces the resource: then a check without old inputs is of the new job."""
    return PLUGIN.recall(f"exists {_resource(props)}") is not None


def _named(props: dict[str, Any], olds: dict[str, Any]) -> dict[str, Any]:
    """The inputs with the name that the job goes by: renaming a resource does not run it again.

    As long as the run is the same, the name is the one under which the job was submitted. It is what the
    display name and the output directory follow where they are not declared.
    """
    if "marks" in olds and olds.get("run") == props.get("run"):
        props = {**props, "marks": olds["marks"]}
    return {"display_name": _resource(props), **props}


def _standing(decoded: Decoded[CustomJobInputs], olds: dict[str, Any]) -> CustomJobInputs | None:
    """The inputs of a job that exists as it is declared, though a rule of this version refuses it; else None.

    Otherwise an upgrade, or a type that Google retires, would stop every deployment of a stack with such a
    job.
    """
    inputs = decoded.draft
    if inputs is None or decoded.damaged or any(not problem.rule for problem in errors(decoded.problems)):
        return None
    same_place = all(olds.get(name) == getattr(inputs, name) for name in (*_PLACES, "run"))
    recorded = olds.get("spec_hash")
    return (
        inputs
        if same_place and recorded and _checked(inputs, decoded.unknown)["spec_hash"] == recorded
        else None
    )


def _checked(inputs: CustomJobInputs, unknown: frozenset[str]) -> dict[str, Any]:
    """The inputs as the state keeps them, with what follows from them filled in."""
    spec, unhashed = spec_of(inputs), {path for path in unknown if _root(path) in HASHED}
    if follows_run(inputs):
        unhashed.discard("base_output_directory")
        spec = dataclasses.replace(spec, base_output_directory=None)
        inputs = dataclasses.replace(inputs, base_output_directory=run_directory(inputs))
        if unknown & {"run", "staging_bucket", "marks"}:
            unknown |= {"base_output_directory"}
    checked = complete(inputs, unknown=unknown | _unknown_disks(inputs, unknown))
    checked["spec_hash"] = UNKNOWN if unhashed else declared_hash(spec, inputs.staging_bucket)
    return dict(checked)


def _unknown_disks(inputs: CustomJobInputs, unknown: frozenset[str]) -> frozenset[str]:
    """The disks that are not declared, of machines that are not known yet: the service fills them in."""
    pools = {path.removesuffix(_MACHINE_TYPE) for path in unknown if path.endswith(_MACHINE_TYPE)}
    return frozenset(
        f"worker_pool_specs[{position}].disk_spec"
        for position, pool in enumerate(inputs.worker_pool_specs)
        if f"worker_pool_specs[{position}]" in pools and pool.disk_spec is None
    )


_MACHINE_TYPE = ".machine_spec.machine_type"


def _kept(checked: dict[str, Any], olds: dict[str, Any]) -> dict[str, Any]:
    """The inputs of a job that is not to run again: what it was submitted with, and the new record."""
    if checked["rerun"] != Policy.NEVER.value or not olds.get("run") or olds["run"] != checked["run"]:
        return checked
    if place_of(olds) != place_of(checked):
        say(f"{_resource(checked)} stays: its place changed, and rerun is never")
    return {**olds, **{name: checked[name] for name in RECORD}}


def _as_it_lives(recorded: dict[str, Any], record: JobRecord) -> dict[str, Any] | None:
    """The recorded inputs with what the service has instead; None where it has just that.

    A job cannot be changed, so this is a state that was put together by hand, or a service that took the job
    for another one than was sent. The hash then is the living job's, and the next plan shows the difference.
    """
    inputs = {name: recorded[name] for name in INPUTS if name in recorded}
    declared = read_inputs(inputs).draft
    if declared is None or not record.wire:
        return None
    spec = spec_of(declared)
    lives = SPEC.as_it_lives(spec, record.wire)
    if lives is spec:
        return None
    values = {name: getattr(lives, name) for name in SPEC_FIELDS}
    return {**inputs, **_checked(dataclasses.replace(declared, **values), frozenset())}


def _replaces(recorded: dict[str, Any], declared: dict[str, Any]) -> list[str]:
    """The inputs that make it another job; what changes is said where a deployment asks."""
    if all(recorded.get(name) == declared.get(name) for name in REPLACING) and not is_unknown(declared):
        return []
    old, new = _canonical(recorded), _canonical(declared)
    replaces = [name for name in REPLACING if is_unknown(new.get(name)) or old.get(name) != new.get(name)]
    asked = PLUGIN.was_checked(_memory(new))
    if asked and recorded.get("spec_hash") and recorded.get("spec_hash") == declared.get("spec_hash"):
        # The same declaration, with defaults that another version filled in otherwise.
        replaces = [name for name in replaces if name not in SPEC_FIELDS]
    if replaces and asked and (sentence := _sentence(old, new)):
        say(f"{_resource(new)}: {sentence}")
    return replaces


def _canonical(props: dict[str, Any]) -> dict[str, Any]:
    """Inputs or recorded outputs in one shape, also those that an older version recorded."""
    decoded = read_inputs({name: props[name] for name in INPUTS if name in props})
    inputs, unknown = decoded.draft, decoded.unknown
    if inputs is None:
        return props
    if follows_run(inputs) or (inputs.staging_bucket and {"run", "base_output_directory"} <= unknown):
        # It changes with every run, and says nothing of its own.
        inputs = dataclasses.replace(inputs, base_output_directory=None)
        unknown -= {"base_output_directory"}
    return dict(encode(inputs, unknown=unknown))


def _sentence(old: dict[str, Any], new: dict[str, Any]) -> str:
    """What changes, pool by pool and in words, and what becomes of the job; "" when its spec stays."""
    was, will = read_inputs(old), read_inputs(new)
    if was.draft is None or will.draft is None:
        return ""
    unknown = {
        path
        for path in will.unknown
        if _root(path) in SPEC_FIELDS
        # A disk that follows from a machine which is not known yet is no change of its own.
        and path.removesuffix(".disk_spec") + _MACHINE_TYPE not in will.unknown
    }
    difference = SPEC.compare(spec_of(was.draft), spec_of(will.draft), unknown=unknown)
    moved = [
        f"{name}: {old.get(name)} -> {_shown(new.get(name))}"
        for name in _PLACES
        if old.get(name) != new.get(name)
    ]
    if not moved:
        return difference.words
    reason = "the job is replaced, because a job stays where it was created"
    return "; ".join([*moved, *difference.changes, reason])


_PLACES = ("endpoint", "project", "location")


def _shown(value: Any) -> str:
    return NOT_KNOWN if is_unknown(value) else str(value)


def _root(path: str) -> str:
    """The field of the spec that a path begins with."""
    return re.split(r"[.\[]", path)[0]


def _wire(inputs: CustomJobInputs) -> dict[str, Any]:
    wire = custom_job.to_wire(spec_of(inputs))
    return {**wire, "labels": {**wire.get("labels", {}), **mark_labels(inputs.marks)}}


def _facts(record: JobRecord) -> dict[str, Any]:
    """What the service says, as outputs of the resource."""
    return {
        "name": record.name,
        "job_id": record.job_id,
        "state": record.state.name,
        "create_time": record.create_time,
        "start_time": record.start_time,
        "end_time": record.end_time,
        "error": record.error.message if record.error else None,
    }


def _resource(props: dict[str, Any]) -> str:
    return str(props.get("marks", {}).get("resource", "custom job"))


def _memory(props: dict[str, Any]) -> str:
    return f"job:{_resource(props)}"
