"""The provider of `Run`: the key of a job's present run, recorded before the job is submitted.

A new run updates the record in place: generation + 1. The job takes the key as an input and is replaced with
it. Nothing is created in a cloud here.
"""

from __future__ import annotations

from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.core.call import Call, Checked, Created, Difference, Found, Values
from pulumi_vertex_training.core.connection import endpoint_of
from pulumi_vertex_training.core.engine import say
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.provider import Failure, Provider
from pulumi_vertex_training.core.run_context import JobDeclaration
from pulumi_vertex_training.core.running import begun_work
from pulumi_vertex_training.core.running import prerequisites as lookups
from pulumi_vertex_training.core.running.declaration import (
    JobResourceType,
    declared_in,
    models_kept_because,
)
from pulumi_vertex_training.core.running.hidden_input import LOOKUPS, hide_in_run, reveal_run
from pulumi_vertex_training.core.running.job_cache import job_cache_of
from pulumi_vertex_training.core.settings import TARGET_FIELDS, Target, target_of
from pulumi_vertex_training.runs import deletion, identity
from pulumi_vertex_training.runs.deletion import delete_orphaned_runs
from pulumi_vertex_training.runs.identity import RunKey, new_key
from pulumi_vertex_training.runs.policies import rerun
from pulumi_vertex_training.runs.policies.deletion_policy import OnDelete
from pulumi_vertex_training.runs.policies.rerun import (
    DEFAULT_LIMIT,
    Action,
    Decision,
    Facts,
    Policy,
    Rerun,
    decide,
)
from pulumi_vertex_training.runs.policies.run_status import (
    RECORD_CHANGES,
    RERUN_CHANGES,
    Change,
    LastRun,
    LookupResult,
    change_of,
    last_run,
)
from vertex_training.fields.decode import UNKNOWN, Unknown

POLICY = ("rerun", "rerun_limit", "protect_running", "on_delete", "adopt")
INPUTS = ("job", "spec", "run_token", "collection", *POLICY, *TARGET_FIELDS)
_OF_THE_JOB = frozenset({"first-run", "gone", "interrupted"})
"""Rows by which the job is created again under the recorded key, because there is no job."""


_REFUSED = "refused"
"""The recorded hash of a declaration that the job's check refuses, of a job that has never run."""


class RunProvider(Provider):
    """The provider of `Run`.

    Inputs: `job` (the name that the job goes by), `spec` (the declaration; check replaces it by its hash),
    `run_token`, `collection` (that of the kind of job, absent for custom jobs), the policies, and the target
    of the job. An edit of policies or target alone is no change. Outputs besides: `generation`, `key`,
    `reruns`, the number of reruns on failure in a row, and `reason`, why it runs again. `reason` is an input
    as well if check knows it, so that a preview shows it.
    """

    checks_texts = False

    def check(self, call: Call) -> Checked:
        new, old = reveal_run(call.inputs), reveal_run(call.old_inputs)
        known = new.pop(LOOKUPS, None)
        checked = _checked(new, old)
        _note_declaration(new, checked, known if isinstance(known, dict) else {})
        OPERATION.note_checked(_operation_key(checked))
        OPERATION.runs.note_run_target(_operation_key(checked), target_of(new))
        return Checked(inputs=hide_in_run({**checked, **_reason(old, checked)}))

    def diff(self, call: Call) -> Difference:
        old, new = reveal_run(call.outputs), reveal_run(call.inputs)
        if not OPERATION.was_checked(_operation_key(new)):
            return Difference(changes=False)
        facts = _facts(old, new)
        decision = decide(facts)
        OPERATION.runs.note_run_decision(old["key"], facts, decision)
        OPERATION.runs.note_recorded_reason(old["key"], str(old.get("why") or ""))
        if decision.action is Action.REFUSE:
            raise Failure(decision.sentence(new["job"]))
        runs = decision.action is Action.RUN and decision.row not in _OF_THE_JOB
        place = OPERATION.runs.run_target(_operation_key(new))
        if (runs or _moves(old, place)) and not _may_adopt(old, new):
            declared = _declared(new)
            lookups.require(
                declared,
                new["job"],
                OPERATION.runs.job_declaration(_job_key(declared, new["job"])),
                key=old["key"],
                place=target_of(old) or place,
                certain=facts.change is not Change.SPEC_UNKNOWN,
            )
        if runs:
            say(decision.sentence(new["job"]))
        return Difference(changes=runs or _is_fixed(old, new))

    def create(self, call: Call) -> Created:
        key = new_key()
        return Created(id=key.identity, outputs=_issue(key, reveal_run(call.inputs), why=rerun.FIRST))

    def update(self, call: Call) -> Values:
        recorded = RunKey(identity=call.id, generation=int(call.outputs["generation"]))
        new = reveal_run(call.inputs)
        noted = OPERATION.runs.run_decision(call.outputs["key"])
        if _is_fixed(reveal_run(call.outputs), new):
            return _issue(recorded, new, noted.decision if noted else None, why=rerun.FIRST)
        why = rerun.code_of(noted.facts, noted.decision) if noted else ""
        return _issue(recorded.next(), new, noted.decision if noted else None, why=why)

    def read(self, call: Call) -> Found | None:
        return Found(outputs=call.outputs)

    def delete(self, call: Call) -> None:
        """Delete live jobs of the run that no state records, and the kept records of its earlier runs.

        The recorded job is deleted by its own delete, before.
        """
        run = reveal_run(call.outputs)
        place, key = target_of(run), identity.parse(str(run["key"]))
        if place is None:
            return
        endpoint, declared = endpoint_of(run), _declared(run)
        keep_record = run.get("on_delete") == OnDelete.CANCEL.value

        def tell(line: str) -> None:
            say(f"{run['job']}: {line}")

        known = OPERATION.runs.released() | OPERATION.all_made()
        try:
            jobs = job_cache_of(declared.gateway.collection).settled(place, endpoint)
            before_delete = declared.before_delete(
                kept_because=models_kept_because(run.get("on_delete")), tell=tell
            )
            delete_orphaned_runs(
                declared.gateway,
                endpoint,
                key,
                recorded=OPERATION.runs.recorded_generation(str(key)),
                among=jobs,
                tell=tell,
                before_delete=before_delete,
                keep_record=keep_record,
                protect_running=bool(run.get("protect_running")),
                keep=known,
            )
            if not keep_record:
                deletion.delete_records(
                    declared.gateway,
                    endpoint,
                    deletion.ended_runs(jobs, key, without=known),
                    before_delete=before_delete,
                )
        except NotFound as error:
            say(f"warning: {run['job']}: jobs that its runs may have left behind cannot be listed: {error}")


def _checked(new: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs as the state keeps them.

    The name stays the old one until the job has to run again.
    """
    declaration = new.get("spec")
    if not isinstance(declaration, dict):
        return {**new, "job": old.get("job", new["job"])}
    declared = _declared(new)
    spec = _hash(declared, declaration, new["job"])
    if spec is UNKNOWN:
        return {**new, "spec": spec}
    if old.get("spec", _REFUSED) == _REFUSED:
        is_refused = declared.is_refused({"display_name": new["job"], **declaration})
        return {**new, "spec": _REFUSED if is_refused else spec}
    if isinstance(old["spec"], str):
        under_old_name = spec if old["job"] == new["job"] else _hash(declared, declaration, old["job"])
        renamed = {**new, "job": old["job"], "spec": under_old_name}
        if _change(old, renamed) in RECORD_CHANGES:
            return renamed
        if declared.is_refused({"display_name": new["job"], **declaration}):
            # The job's check gives the reasons. Nothing is submitted, so no run may be recorded.
            return {**new, "job": old["job"], "spec": old["spec"]}
    return {**new, "spec": spec}


def _is_fixed(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Return whether the first declaration was refused, so that nothing has run, and this one is not."""
    return bool(old.get("spec") == _REFUSED != new.get("spec"))


def _note_declaration(new: dict[str, Any], checked: dict[str, Any], known: dict[str, Any]) -> None:
    """Keep what the program declares, which the inputs of a diff have as a hash alone."""
    values = new.get("spec")
    urn, passed_over = known.get("urn"), known.get("passed_over")
    declaration = JobDeclaration(
        values=values if isinstance(values, dict) else {},
        passed_over=tuple(passed_over) if isinstance(passed_over, list) else (),
        urn=urn if isinstance(urn, str) else "",
        is_preview=known.get("is_preview") is True,
    )
    # A renamed job goes by its old name until it runs again.
    for name in {new["job"], checked["job"]}:
        OPERATION.runs.note_job_declaration(_job_key(_declared(new), name), declaration)


def _job_key(declared: JobResourceType, name: str) -> str:
    return declared.operation_key({"marks": {"resource": name}})


def _moves(old: dict[str, Any], place: Target | None) -> bool:
    """Return whether the job is replaced because its target changes."""
    return place is not None and target_of(old) not in (None, place)


def _may_adopt(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Return whether an existing job may become this run's: it is not submitted, so it needs nothing."""
    place = target_of(old)
    if not new.get("adopt") or place is None:
        return False
    return not isinstance(job_cache_of(_declared(new).gateway.collection).of_run(place, old["key"]), str)


def _declared(props: dict[str, Any]) -> JobResourceType:
    """Return the resource type of the run's job."""
    return declared_in(props.get("collection") or registry.CUSTOM_JOB.collection)


def _hash(declared: JobResourceType, declaration: dict[str, Any], name: str) -> str | Unknown:
    return declared.declaration_hash({"display_name": name, **declaration})


def _operation_key(props: dict[str, Any]) -> str:
    return f"run:{props.get('collection')}:{props.get('job')}"


def _facts(old: dict[str, Any], new: dict[str, Any]) -> Facts:
    change = _change(old, new)
    rerun = Rerun(
        policy=Policy(new.get("rerun") or Policy.ON_CHANGE.value),
        limit=int(new.get("rerun_limit", DEFAULT_LIMIT)),
    )
    protect = bool(new.get("protect_running"))
    return Facts(
        change=change,
        last_run=_last_run_state(old, new, change, rerun.policy, protect=protect),
        rerun=rerun,
        reruns=int(old.get("reruns") or 0),
        protect_running=protect,
    )


def _last_run_state(
    old: dict[str, Any], new: dict[str, Any], change: Change, policy: Policy, *, protect: bool
) -> LastRun:
    """Return the state of the last run; NOT_KNOWN, without a query, where it makes no difference."""
    retried = policy in (Policy.ON_FAILURE, Policy.ALWAYS) and change in RECORD_CHANGES
    protected = protect and change in RERUN_CHANGES and policy is not Policy.NEVER
    place = OPERATION.runs.run_target(_operation_key(new))
    if place is None or not (retried or protected):
        return LastRun.NOT_KNOWN
    states = job_cache_of(_declared(new).gateway.collection)
    found = states.record_of_run(place, old["key"])
    if (
        not isinstance(found, LookupResult)
        and begun_work.stopped(found.state.name)
        and begun_work.has_begun(found.name)
    ):
        return LastRun.STOPPED
    seen = states.of_run(place, old["key"])
    if seen is LookupResult.ABSENT and old.get("adopt"):
        # An adopted job does not have the key.
        seen = states.of_job(place, old["adopt"])
    return last_run(None, seen)


def _change(recorded: dict[str, Any], declared: dict[str, Any]) -> Change:
    if _is_fixed(recorded, declared):
        return Change.NOTHING
    spec = declared.get("spec")
    return change_of(
        recorded=(recorded.get("spec"), recorded.get("run_token")),
        declared=(None if spec is UNKNOWN else spec, declared.get("run_token")),
    )


def _reason(recorded: dict[str, Any], declared: dict[str, Any]) -> dict[str, Any]:
    """Return the input that says why the job runs again, if a comparison of the inputs can tell."""
    change = _change(recorded, declared) if "spec" in recorded else Change.NOTHING
    if change in RECORD_CHANGES:
        return {}
    return {"reason": UNKNOWN if change is Change.SPEC_UNKNOWN else change.value}


def _issue(
    key: RunKey, props: dict[str, Any], decision: Decision | None = None, *, why: str
) -> dict[str, Any]:
    OPERATION.runs.note_issued(str(key))
    OPERATION.runs.note_reason(str(key), why)
    inputs = {name: props[name] for name in INPUTS if name in props}
    outs = {
        **inputs,
        "generation": key.generation,
        "key": str(key),
        "reruns": decision.reruns if decision else 0,
        "reason": decision.reason if decision else None,
        "why": why or None,
    }
    return hide_in_run(outs)
