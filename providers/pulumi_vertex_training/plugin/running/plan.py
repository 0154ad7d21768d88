"""Check and diff: the inputs as the state keeps them, and what becomes of the job that is there."""

from __future__ import annotations

import dataclasses
from typing import Any

from pulumi.dynamic import CheckResult, DiffResult

from pulumi_vertex_training.plugin import living
from pulumi_vertex_training.plugin.process import PLUGIN, say
from pulumi_vertex_training.plugin.provider import (
    Failure,
    complete,
    failures,
    inbound,
    is_unknown,
    outbound,
    warnings,
)
from pulumi_vertex_training.plugin.questions import place_of
from pulumi_vertex_training.plugin.running import adopting, remembered
from pulumi_vertex_training.plugin.running.comparison import MACHINE_TYPE, replaced_by
from pulumi_vertex_training.plugin.running.declaration import (
    PLACES,
    RECORD,
    Declared,
    RunningInputs,
    root,
    run_directory,
)
from pulumi_vertex_training.plugin.running.judgement import decision_of, is_gone
from pulumi_vertex_training.runs.rerun import Policy, Verdict
from vertex_training.fields.decode import UNKNOWN, Decoded
from vertex_training.findings.problems import errors
from vertex_training.job.job_spec import parts


def check(declared: Declared, olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
    """The inputs in normal form with what follows from them, or every reason why they are refused."""
    props = _named(declared, inbound(news), inbound(olds))
    decoded = declared.decode_inputs(props)
    PLUGIN.note_checked(declared.memory(props))
    inputs, problems = decoded.spec, decoded.problems
    if inputs is None and (inputs := _standing(declared, decoded, inbound(olds))) is not None:
        problems = tuple(dataclasses.replace(problem, level="warning") for problem in problems)
        PLUGIN.say_once(f"{declared.resource(props)}: stays as it is; a new job like it would be refused:")
    if inputs is None:
        return CheckResult(news, failures(problems))
    exists = f"exists {declared.memory(props)}"
    if olds:
        PLUGIN.remember(exists, True)
    # A check without old inputs of a resource that is there is that of the job which replaces it.
    elif refused := adopting.refusal(
        declared, inputs, decoded.unknown, exists=PLUGIN.recall(exists) is not None
    ):
        return CheckResult(news, failures([refused]))
    if rival := declared.rival(inputs, decoded.unknown):
        if not olds and rival.level == "error":
            return CheckResult(news, failures([rival]))
        # What exists is not refused for what another resource wants.
        problems = (*problems, dataclasses.replace(rival, level="warning"))
    checked = _kept(declared, completed(declared, inputs, decoded.unknown), inbound(olds))
    for line in warnings(declared.resource(props), problems):
        PLUGIN.say_once(line)
    if checked["spec_hash"] != olds.get("spec_hash") and (arithmetic := declared.reduction_arithmetic(props)):
        PLUGIN.say_once(f"{declared.resource(props)}: {arithmetic}")
    remembered.note_declared(checked)
    return CheckResult(outbound(checked), [])


def diff(declared: Declared, id_: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
    """What changes; said in words, and judged by the rerun table, where a deployment asks."""
    PLUGIN.note_released(id_)
    recorded, new = inbound(olds), inbound(news)
    remembered.note_recorded(recorded.get("run"))
    if is_unknown(new):
        remembered.note_goes_first(id_)
    replaces = replaced_by(declared, recorded, new)
    record_changed = any(
        recorded.get(name, absent) != new.get(name, absent) for name, absent in RECORD.items()
    )
    if PLUGIN.was_checked(declared.memory(new)):
        PLUGIN.remember(f"diff of {id_}", True)
        decision = decision_of(declared.kind, id_, recorded, new, replaces, record_changed=record_changed)
        if decision.verdict is Verdict.REFUSE:
            raise Failure(decision.sentence(declared.resource(new)))
        gone = not replaces and is_gone(declared.kind, decision, recorded)
        if gone or (not replaces and decision.told and decision.verdict is Verdict.NOTHING):
            say(decision.sentence(declared.resource(new)))
        if gone:
            replaces = ["state"]
        if not replaces:
            living.note(id_, declared.memory(new), recorded)
    return DiffResult(changes=bool(replaces) or record_changed, replaces=replaces, delete_before_replace=True)


def completed(declared: Declared, inputs: RunningInputs, unknown: frozenset[str]) -> dict[str, Any]:
    """The inputs as the state keeps them, with what follows from them filled in."""
    spec, unhashed = declared.spec_of(inputs), {path for path in unknown if root(path) in declared.hashed}
    directory = declared.spec.directory_path(inputs)
    if declared.follows_run(inputs) and directory is not None:
        unhashed.discard(directory)
        spec = declared.spec.with_output_directory(spec, None)
        inputs = declared.spec.with_output_directory(inputs, run_directory(inputs))
        if unknown & {"run", "staging_bucket", "marks"}:
            unknown |= {directory}
    checked = complete(inputs, unknown=unknown | _unknown_disks(inputs, unknown))
    checked["spec_hash"] = UNKNOWN if unhashed else declared.declared_hash(spec, inputs.staging_bucket)
    return dict(checked)


def _named(declared: Declared, props: dict[str, Any], olds: dict[str, Any]) -> dict[str, Any]:
    """The inputs with the name that the job goes by: renaming a resource does not run it again.

    As long as the run is the same, the name is the one under which the job was submitted. It is what the
    display name and the output directory follow where they are not declared.
    """
    if "marks" in olds and olds.get("run") == props.get("run"):
        props = {**props, "marks": olds["marks"]}
    return {"display_name": declared.resource(props), **props}


def _standing(declared: Declared, decoded: Decoded[Any], olds: dict[str, Any]) -> Any | None:
    """The inputs of a job that exists as it is declared, though a rule of this version refuses it; else None.

    Otherwise an upgrade, or a type that Google retires, would stop every deployment of a stack with such a
    job.
    """
    inputs = decoded.draft
    if inputs is None or decoded.damaged or any(not problem.rule for problem in errors(decoded.problems)):
        return None
    same_place = all(olds.get(name) == getattr(inputs, name) for name in (*PLACES, "run"))
    recorded = olds.get("spec_hash")
    if not same_place or not recorded:
        return None
    return inputs if completed(declared, inputs, decoded.unknown)["spec_hash"] == recorded else None


def _unknown_disks(inputs: RunningInputs, unknown: frozenset[str]) -> frozenset[str]:
    """The disks that are not declared, of machines that are not known yet: the service fills them in."""
    pools = {path.removesuffix(MACHINE_TYPE) for path in unknown if path.endswith(MACHINE_TYPE)}
    return frozenset(
        f"{place}.disk_spec"
        for path, part in parts(inputs)
        for position, pool in enumerate(part.worker_pool_specs)
        if (place := f"{path}.worker_pool_specs[{position}]".lstrip(".")) in pools and pool.disk_spec is None
    )


def _kept(declared: Declared, checked: dict[str, Any], olds: dict[str, Any]) -> dict[str, Any]:
    """The inputs of a job that is not to run again: what it was submitted with, and the new record."""
    if checked["rerun"] != Policy.NEVER.value or not olds.get("run") or olds["run"] != checked["run"]:
        return checked
    if place_of(olds) != place_of(checked):
        say(f"{declared.resource(checked)} stays: its place changed, and rerun is never")
    return {**olds, **{name: checked[name] for name in RECORD}}
