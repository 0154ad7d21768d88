"""The provider of `Run`: the key of a job's present run, recorded before the job is submitted.

A new run updates the record in place: generation + 1. The job takes the key as an input and is replaced with
it. Nothing is ever created in a cloud here.
"""

from __future__ import annotations

from typing import Any

from pulumi.dynamic import CheckResult, CreateResult, DiffResult, ReadResult, UpdateResult

from pulumi_vertex_training.adapter import Provider, clean, inbound, outbound
from pulumi_vertex_training.declaration import declaration_hash, is_refused
from pulumi_vertex_training.plugin import PLUGIN, say
from vertex_training.lifecycle.identity import RunKey, due, new_key
from vertex_training.specs.decode import UNKNOWN, Unknown

INPUTS = ("job", "spec", "run_token")


class RunProvider(Provider):
    """Inputs: `job` (the name that the job goes by), `spec` (the declaration; check replaces it by its hash),
    `run_token`. Outputs besides: `generation`, `key`."""

    @clean
    def check(self, _olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        checked = _checked(inbound(news), inbound(_olds))
        PLUGIN.note_checked(_memory(checked))
        return CheckResult(outbound(checked), [])

    @clean
    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        old, new = inbound(_olds), inbound(_news)
        if not PLUGIN.was_checked(_memory(new)):
            return DiffResult(changes=False)
        reason = due(_known(old), _known(new))
        if reason is not None:
            say(f"{new['job']} will run again: {reason}")
        return DiffResult(changes=reason is not None)

    @clean
    def create(self, props: dict[str, Any]) -> CreateResult:
        key = new_key()
        return CreateResult(key.identity, _issue(key, inbound(props)))

    @clean
    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        recorded = RunKey(identity=_id, generation=int(_olds["generation"]))
        return UpdateResult(_issue(recorded.next(), inbound(_news)))

    @clean
    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        return ReadResult(id_, outbound(inbound(props)))

    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        return


def _checked(new: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """The inputs as the state keeps them. The name stays the old one until the job has to run again."""
    declaration = new.get("spec")
    if not isinstance(declaration, dict):
        return {**new, "job": old.get("job", new["job"])}
    if _hash(declaration, new["job"]) is UNKNOWN:
        return {**new, "spec": UNKNOWN}
    if isinstance(old.get("spec"), str):
        renamed = {**new, "job": old["job"], "spec": _hash(declaration, old["job"])}
        if due(old, renamed) is None:
            return renamed
        if is_refused({"display_name": new["job"], **declaration}):
            # The job's check says why. Nothing is submitted, so nothing of it may be recorded as a run.
            return {**new, "job": old["job"], "spec": old["spec"]}
    return {**new, "spec": _hash(declaration, new["job"])}


def _hash(declaration: dict[str, Any], name: str) -> str | Unknown:
    return declaration_hash({"display_name": name, **declaration})


def _memory(props: dict[str, Any]) -> str:
    return f"run:{props.get('job')}"


def _known(props: dict[str, Any]) -> dict[str, Any]:
    spec = props.get("spec")
    return {"spec": None if spec is UNKNOWN else spec, "run_token": props.get("run_token")}


def _issue(key: RunKey, props: dict[str, Any]) -> dict[str, Any]:
    PLUGIN.note_issued(str(key))
    inputs = {name: props.get(name) for name in INPUTS}
    return outbound({**inputs, "generation": key.generation, "key": str(key)})
