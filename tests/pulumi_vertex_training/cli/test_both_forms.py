"""Each command reads a stack of dynamic resources and one of the package alike.

The same resources are written in both forms, and what a command makes of them is compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cli.core_names import in_core_names
from pulumi_vertex_training.cli.gc.stack_state import contents_of
from pulumi_vertex_training.cli.teams.drift import drift
from pulumi_vertex_training.cli.teams.drift.refresh import read as read_events
from pulumi_vertex_training.cli.teams.plan import costs
from pulumi_vertex_training.cli.teams.plan.checks import PlanContext
from pulumi_vertex_training.cli.teams.plan.plan import change_document
from pulumi_vertex_training.cli.teams.plan.preview import of_document
from pulumi_vertex_training.cli.teams.policy import of_plan
from pulumi_vertex_training.cli.teams.preflight.places import places_of
from pulumi_vertex_training.cli.teams.promote.stacks import resources_of
from pulumi_vertex_training.engine_values import ENGINES_UNKNOWN, SECRET, SIGNATURE
from pulumi_vertex_training.package.kinds import kind_of
from pulumi_vertex_training.runs.resource_names import can_make
from pulumi_vertex_training.timeouts import ORDINARY
from support.ground.specs.prices import REGION, table
from vertex_training import type_tokens

PLACE = {"endpoint": "emulator", "project": "local", "location": REGION}
MARKS = {"project": "digits", "stack": "dev", "resource": "train"}


def job(workers: Any, **more: Any) -> dict[str, Any]:
    pools = [
        {
            "machine_spec": {"machine_type": "n1-standard-4"},
            "replica_count": count,
            "container_spec": {"image_uri": "repo/a:1", "env": [{"name": "snake_name", "value": "a"}]},
        }
        for count in (1, workers)
    ]
    return {
        **PLACE,
        "display_name": "train",
        "worker_pool_specs": pools,
        "labels": {"my_team": "a", "myTeam": "b"},
        "scheduling": {"timeout": "86400s"},
        "rerun": "on_change",
        "on_delete": "cancel",
        "marks": MARKS,
        "__run": {"identity": "0123456789abcdef", "spec_hash": f"hash of {workers}"},
        **more,
    }


def bucket(**more: Any) -> dict[str, Any]:
    return {**PLACE, "name": "data-bucket", "force_destroy": True, "labels": {"my_team": "a"}, **more}


PACKAGE = {
    **PLACE,
    "bucket": "data-bucket",
    "source": "trainer",
    "prefix": "packages/code",
    "package_name": "trainer",
    "object_name": "packages/code/0123456789ab/trainer-1-py3-none-any.whl",
    "uri": "gs://data-bucket/packages/code/0123456789ab/trainer-1-py3-none-any.whl",
    "sha256": "0123456789ab" * 5 + "0123",
    "size": 17,
    "python_module": "trainer.task",
}
RUN = {
    "name": f"projects/local/locations/{REGION}/customJobs/17",
    "job_id": "17",
    "base_output_directory": "gs://data-bucket/train",
}


def ran(state: str) -> dict[str, Any]:
    return {**RUN, "state": state, "__run": {"key": "0123456789abcdef-1", "spec_hash": "hash of 1"}}


class Form:
    """A form of resources: their type tokens, and the names of their properties."""

    def __init__(self, token: Callable[[str], str], *, is_package: bool) -> None:
        self.token, self._is_package = token, is_package

    def props(self, resource: str, values: dict[str, Any]) -> dict[str, Any]:
        return kind_of(self.token(resource)).outward(values) if self._is_package else values

    def state(self, resource: str, inputs: dict[str, Any], **outputs: Any) -> dict[str, Any]:
        return {
            "type": self.token(resource),
            "urn": self.urn(resource),
            "id": outputs.get("name", "x"),
            "inputs": self.props(resource, inputs),
            "outputs": self.props(resource, {**inputs, **outputs}),
        }

    def urn(self, resource: str) -> str:
        return f"urn:pulumi:dev::digits::{self.token(resource)}::train"

    def step(self, op: str, old: dict[str, Any] | None, new: dict[str, Any] | None) -> dict[str, Any]:
        states = {"oldState": old, "newState": new}
        found = {side: state for side, state in states.items() if state}
        reasons = ["workerPoolSpecs" if self._is_package else "worker_pool_specs"] if op == "replace" else []
        urn = next(iter(found.values()))["urn"]
        return {"op": op, "urn": urn, "replaceReasons": reasons, **found}


DYNAMIC = Form(type_tokens.dynamic, is_package=False)
IN_PACKAGE = Form(type_tokens.package, is_package=True)


def plan_of(form: Form, config: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return what `plan` makes of a preview, without what names the form."""
    live = form.state("CustomJob", job(1), **ran("JOB_STATE_RUNNING"))
    steps = [
        form.step("replace", live, form.state("CustomJob", job(3))),
        form.step("update", form.state("StagingBucket", bucket()), None)
        | {"newState": form.state("StagingBucket", bucket(force_destroy=False, labels={"my_team": "b"}))},
        form.step("create", None, form.state("StagedPackage", PACKAGE)),
        form.step("create", None, form.state("CustomJob", job(ENGINES_UNKNOWN)))
        | {"urn": f"{form.urn('CustomJob')}-new"},
    ]
    previewed = of_document({"steps": steps, "config": config})
    context = PlanContext(previewed=previewed, folder=folder)
    policy, cost = of_plan.check(context), costs.cost_of_plan(previewed, table())
    assert policy is not None
    return {
        "changes": [{**change_document(one), "urn": ""} for one in previewed.plan.changes],
        "stopped": [one.stopped for one in previewed.plan.changes],
        "costs": [(one.name, one.sentence, one.ran, one.runs, one.starts) for one in cost.changes],
        "policy": [(one.severity, one.resource, one.message) for one in policy.findings],
        "places": [place.scope for place in places_of(previewed, ORDINARY)],
    }


def test_a_plan_is_the_same(tmp_path: Path) -> None:
    settings = tmp_path / "policies.json"
    settings.write_text(
        json.dumps(
            {
                "machine-types": {"enforcementLevel": "mandatory", "allow": ["e2-*"]},
                "required-labels": {"enforcementLevel": "advisory", "keys": ["owner", "my_team"]},
            }
        )
    )
    config = {"vertex-training:policyConfig": str(settings)}
    dynamic, package = (plan_of(form, config, tmp_path) for form in (DYNAMIC, IN_PACKAGE))
    assert package == dynamic
    (replaced, *_) = [one for one in dynamic["changes"] if one["effect"] == "replace"]
    assert replaced["words"] == ["workers: 1 -> 3 x n1-standard-4; chief unchanged"]
    assert replaced["reasons"]
    assert [one for one in dynamic["stopped"] if one] != []
    assert any("force_destroy: true -> false" in one["words"] for one in dynamic["changes"])
    assert any(sentence.startswith("$2.20 -> $4.40") for _, sentence, *_ in dynamic["costs"])
    assert any("machine-types" in message for *_, message in dynamic["policy"])
    assert [one.name for one in dynamic["places"][0].subjects] == ["train", "train-new"]


def test_the_update_of_a_job_that_a_deployment_waits_for_has_words() -> None:
    state = IN_PACKAGE.state("CustomJob", job(1), **ran("JOB_STATE_RUNNING"))
    step = IN_PACKAGE.step("update", state, state) | {"detailedDiff": {"wait": {"kind": "update"}}}
    (change,) = of_document({"steps": [step]}).plan.changes
    assert change.changes == ("the deployment waits for the job, or records its end",)


def drift_of(form: Form, old: dict[str, Any], new: dict[str, Any] | None, resource: str) -> dict[str, Any]:
    op = "delete" if new is None else "same" if old["inputs"] == new["inputs"] else "update"
    metadata = {"urn": form.urn(resource), "old": old, "new": new, "op": op}
    found = drift.report(read_events([{"resOutputsEvent": {"metadata": metadata}}]))
    return {
        "drifts": [
            {**drift.drift_document(one, ""), "urn": "", "repair": one.repair[:3]} for one in found.drifts
        ],
        "progress": [(one.name, one.old, one.new) for one in found.progress],
        "unchanged": found.unchanged,
    }


@pytest.mark.parametrize(
    ("resource", "old", "new"),
    [
        ("CustomJob", (job(1), ran("JOB_STATE_RUNNING")), (job(1), ran("JOB_STATE_CANCELLED"))),
        ("CustomJob", (job(1), ran("JOB_STATE_RUNNING")), (job(1), ran("JOB_STATE_SUCCEEDED"))),
        ("CustomJob", (job(1), ran("JOB_STATE_RUNNING")), (job(2), ran("JOB_STATE_RUNNING"))),
        ("StagingBucket", (bucket(), {}), (bucket(labels={"my_team": "b"}), {})),
        ("StagingBucket", (bucket(), {}), (bucket(), {"drift": ["a sentence"]})),
        ("StagedPackage", (PACKAGE, {}), None),
    ],
)
def test_a_drift_is_the_same(resource: str, old: Any, new: Any) -> None:
    def found(form: Form) -> dict[str, Any]:
        states = [one and form.state(resource, one[0], **one[1]) for one in (old, new)]
        return drift_of(form, states[0], states[1], resource)

    assert found(IN_PACKAGE) == found(DYNAMIC)
    assert found(DYNAMIC)["drifts"] or found(DYNAMIC)["progress"]


def test_a_state_is_the_same() -> None:
    def resources(form: Form) -> list[dict[str, Any]]:
        return [
            form.state("CustomJob", job(1), **ran("JOB_STATE_SUCCEEDED")),
            form.state("StagingBucket", bucket()),
            form.state("StagedPackage", PACKAGE),
        ]

    def contents(form: Form) -> Any:
        return contents_of({"deployment": {"resources": resources(form)}})

    assert contents(IN_PACKAGE) == contents(DYNAMIC)
    assert contents(DYNAMIC).kept == {"0123456789abcdef", "17"}
    assert contents(DYNAMIC).objects == {PACKAGE["uri"]}

    def promoted(form: Form) -> Any:
        return [
            (
                one.kind,
                one.name,
                one.is_job,
                [one.text(name) for name in ("endpoint", "uri", "python_module")],
            )
            for one in resources_of(resources(form))
        ]

    assert promoted(IN_PACKAGE) == promoted(DYNAMIC)
    assert len(promoted(DYNAMIC)) == 3


def test_an_encrypted_secret_of_a_state_stays_as_it_is() -> None:
    secret = {SIGNATURE: SECRET, "ciphertext": "v1:abc"}
    entry = IN_PACKAGE.state("CustomJob", job(1), **ran("JOB_STATE_SUCCEEDED"))
    entry["inputs"] = {**entry["inputs"], "workerPoolSpecs": secret}
    assert contents_of({"deployment": {"resources": [entry]}}).kept == {"0123456789abcdef", "17"}
    found = in_core_names(entry)["inputs"]
    assert (found["worker_pool_specs"], found["on_delete"]) == (secret, "cancel")


@pytest.mark.parametrize("token", [type_tokens.dynamic, type_tokens.package])
def test_what_a_resource_can_make(token: Callable[[str], str]) -> None:
    assert can_make(token("TrainingImage"), "image")
    assert not can_make(token("TrainingImage"), "bucket")


@pytest.mark.parametrize(
    "token",
    [
        "",
        "pulumi-python:dynamic:CustomJob",
        "vertex-training:index:",
        "vertex-training:other:CustomJob",
        "pulumi-python:dynamic/model:CustomJob",
        "acme:index:CustomJob",
    ],
)
def test_other_types_are_not_of_this_project(token: str) -> None:
    assert type_tokens.resource_of(token) == ""
