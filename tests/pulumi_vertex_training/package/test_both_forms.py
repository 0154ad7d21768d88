"""Each provider driven by dynamic resources and by the package: both forms make equal plans."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pulumi.dynamic.dynamic import serialize_provider

from pulumi_vertex_training import providers
from pulumi_vertex_training.cli.migration import rewrite
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.engine_values import SECRET, SIGNATURE
from pulumi_vertex_training.package import adapter
from pulumi_vertex_training.package.kinds import PACKAGE, PackageKind, kind_of
from pulumi_vertex_training.package.wire import names
from pulumi_vertex_training.package.wire.properties import Properties
from pulumi_vertex_training.program.resource import ProviderReference
from pulumi_vertex_training.registry import RESOURCES, type_token
from vertex_training.fields.schema import camel_case, field_types, snake_case

DYNAMIC_PROVIDER = "pulumi:providers:pulumi-python"
MARKS = {"project": "digits", "stack": "dev", "resource": "it"}
PLACE = {"endpoint": "emulator", "project": "local", "location": "us-central1"}
POOL = {
    "machine_spec": {"machine_type": "n1-standard-4"},
    "replica_count": 1,
    "container_spec": {"image_uri": "gcr.io/p/i", "env": [{"name": "A_B", "value": "c_d"}]},
}
STUDY = {
    "metrics": [{"metric_id": "loss", "goal": "MINIMIZE"}],
    "parameters": [{"parameter_id": "rate", "double_value_spec": {"min_value": 0.1, "max_value": 1.0}}],
}


JOB = {"display_name": "it", "worker_pool_specs": [POOL], "staging_bucket": "a-bucket"}
OTHER_JOB = {**JOB, "worker_pool_specs": [POOL, POOL]}


def handed_over(job: dict[str, Any]) -> dict[str, Any]:
    """Return a job as a program in Python hands it to a schedule."""
    return {
        "job": "it",
        "collection": "customJobs",
        "parent": "projects/local/locations/us-central1",
        "request": {"declaration": {**job, **PLACE}},
    }


@dataclass(frozen=True, kw_only=True)
class Case:
    """Inputs of a kind, and changes of them that make different plans.

    `in_package` has the inputs that a program with the package gives instead of those of a program in Python.
    """

    declared: dict[str, Any]
    changes: tuple[dict[str, Any], ...]
    in_package: dict[str, dict[str, Any]] = field(default_factory=dict)

    def of_package(self, inputs: dict[str, Any]) -> dict[str, Any]:
        job = self.in_package.get(str(inputs["request"])) if "request" in inputs else None
        return (
            inputs
            if job is None
            else {
                **{name: value for name, value in inputs.items() if name not in handed_over({})},
                "custom_job": job,
            }
        )


MACHINES = {"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1}

CASES = {
    "PersistentResource": Case(
        declared={"resource_pools": [MACHINES], "labels": {"my_team": "a"}},
        changes=(
            {},
            {"resource_pools": [{**MACHINES, "replica_count": 2}]},
            {"reboot_token": "again"},
            {"resource_pools": [MACHINES, MACHINES]},
        ),
    ),
    "TrainingImage": Case(
        declared={
            **{"repository": "us-docker.pkg.dev/p/images", "name": "it", "source": "."},
            **{"base_image": "python:3.11-slim", "env": {"a_b": "c"}},
        },
        changes=({}, {"tags": ["stable"]}, {"env": {"a_b": "d"}}, {"exclude": ["*.py"]}),
    ),
    "Model": Case(
        declared={
            **{"display_name": "it", "artifact_uri": "gs://a-bucket/it"},
            "container_spec": {"image_uri": "gcr.io/p/i"},
        },
        changes=(
            {},
            {"labels": {"my_team": "b"}},
            {"artifact_uri": "gs://a-bucket/b"},
            {"on_delete": "delete"},
        ),
    ),
    "TrainingSchedule": Case(
        declared={"schedule": "0 3 * * *", "schedule_id": "it", **handed_over(JOB)},
        changes=({}, {"schedule": "0 4 * * *"}, handed_over(OTHER_JOB), {"schedule_id": "other"}),
        in_package={str(handed_over(job)["request"]): job for job in (JOB, OTHER_JOB)},
    ),
    "CustomJob": Case(
        declared={"display_name": "it", "worker_pool_specs": [POOL], "labels": {"my_team": "a"}},
        changes=(
            {},
            {"labels": {"my_team": "b"}},
            {"keep_runs": 2},
            {"run_token": "again"},
            {"worker_pool_specs": [{**POOL, "disk_spec": {"boot_disk_size_gb": 200}}]},
        ),
    ),
    "HyperparameterTuningJob": Case(
        declared={
            "display_name": "it",
            "study_spec": STUDY,
            "max_trial_count": 2,
            "parallel_trial_count": 1,
            "trial_job_spec": {"worker_pool_specs": [POOL]},
        },
        changes=({}, {"max_trial_count": 3}, {"rerun": "on_failure"}),
    ),
    "TrainingPipeline": Case(
        declared={"display_name": "it", "custom_task": {"worker_pool_specs": [POOL]}},
        changes=({}, {"labels": {"my_team": "b"}}, {"custom_task": {"worker_pool_specs": [POOL, POOL]}}),
    ),
    "ImageRepository": Case(
        declared={"location": "us-central1", "labels": {"my_team": "a"}},
        changes=({}, {"labels": {"my_team": "b"}}, {"location": "europe-west4"}),
    ),
    "StagedPackage": Case(
        declared={"bucket": "a-bucket", "source": "train.py", "prefix": "packages/it"},
        changes=({}, {"source": "other.py"}, {"bucket": "b-bucket"}),
    ),
    "StagedFile": Case(
        declared={"bucket": "a-bucket", "source": "train.py", "prefix": "files/it"},
        changes=({}, {"source": "other.py"}),
    ),
    "StagedFolder": Case(
        declared={"bucket": "a-bucket", "source": ".", "prefix": "folders/it"},
        changes=({}, {"include": ["train.py"]}, {"on_delete": "keep"}),
    ),
    "StagingBucket": Case(
        declared={"location": "us-central1", "labels": {"my_team": "a"}, "force_destroy": True},
        changes=(
            {},
            {"labels": {"my_team": "b"}},
            {"location": "europe-west4"},
            {"versioning": {"enabled": True}},
        ),
    ),
}


def test_each_kind_of_the_package_has_a_case() -> None:
    assert set(CASES) == set(RESOURCES)


@pytest.mark.parametrize("resource", CASES)
def test_both_forms_make_the_same_plans(
    resource: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("train.py", "other.py"):
        (tmp_path / name).write_text(f"print({name!r})\n")
    kind, case = kind_of(f"{PACKAGE}:index:{resource}"), CASES[resource]
    found = [plans(kind, case) for plans in (_of_dynamic, _of_package)]
    assert found[0] == found[1]
    changed = [changes for _, changes, _ in found[0]]
    assert not changed[0]
    assert any(changed)


@pytest.mark.parametrize("resource", CASES)
def test_a_state_moves_between_the_forms(
    resource: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("print()\n")
    kind, case = kind_of(f"{PACKAGE}:index:{resource}"), CASES[resource]
    OPERATION.begin()
    OPERATION.configure(lambda _: None)
    labels = {"marks": MARKS} if "marks" in field_types(kind.inputs) else {}
    place = {name: value for name, value in PLACE.items() if name in field_types(kind.inputs)}
    checked = providers.provider_of(f"{resource}Provider").check({}, {**place, **labels, **case.declared})
    own = {"__provider": rewrite.pickled(resource)}
    assert own["__provider"] == serialize_provider(ProviderReference(f"{resource}Provider"))
    outputs = _recorded(checked.inputs)
    if resource == "TrainingPipeline":
        outputs["state"] = "PIPELINE_STATE_SUCCEEDED"
    before = dynamic_state(resource, {**checked.inputs, **own}, {**outputs, **own})

    there = rewrite.rewritten(before, "package")
    assert [(one.kind, one.name) for one in there.moved] == [
        ("StackKey", "vertex-training"),
        (resource, "it"),
    ]
    assert "pulumi-python" not in str(there.state)
    moved = there.state["deployment"]["resources"][-1]
    request = adapter.Request(
        kind=kind,
        urn=moved["urn"],
        inputs=Properties(values=moved["inputs"]),
        outputs=Properties(values=moved["outputs"]),
    )
    assert not adapter.diff(request).changes
    back = rewrite.rewritten(there.state, "dynamic")
    assert _without_providers(back.state) == _without_providers(before)


def test_the_names_in_a_secret_are_converted_too() -> None:
    secret = {SIGNATURE: SECRET, "plaintext": json.dumps([POOL])}
    hidden = {SIGNATURE: SECRET, "ciphertext": "c2VjcmV0"}
    inputs = {"worker_pool_specs": secret, "display_name": hidden, "labels": hidden}
    moved = rewrite.rewritten(dynamic_state("CustomJob", inputs, inputs), "package").state
    found = moved["deployment"]["resources"][-1]["inputs"]
    assert '"machineType": "n1-standard-4"' in found["workerPoolSpecs"]["plaintext"]
    assert found["displayName"] == found["labels"] == hidden
    back = rewrite.rewritten(moved, "dynamic").state["deployment"]["resources"][-1]["inputs"]
    assert json.loads(back["worker_pool_specs"]["plaintext"]) == [POOL]
    with pytest.raises(names.EncryptedError):
        rewrite.rewritten(dynamic_state("CustomJob", {"worker_pool_specs": hidden}, {}), "package")


def test_other_resources_keep_their_provider() -> None:
    """Move a stack with a dynamic resource of the program; first one in which only the key was made."""
    state = dynamic_state("StagingBucket", {"name": "b"}, {"name": "b"})
    *first, ours = state["deployment"]["resources"]
    theirs = {
        **ours,
        "type": "pulumi-python:dynamic:Mine",
        "urn": "urn:pulumi:dev::digits::pulumi-python:dynamic:Mine::m",
    }
    there = rewrite.rewritten({"deployment": {"resources": [*first, theirs]}}, "package")
    assert [one.kind for one in there.moved] == ["StackKey"]
    kept = there.state["deployment"]["resources"]
    assert [one["type"] for one in kept[1:3]] == [DYNAMIC_PROVIDER, "pulumi:providers:vertex-training"]
    assert kept[2]["inputs"]["stackKey"] == "5eed"
    assert kept[-1] == theirs
    both = rewrite.rewritten({"deployment": {"resources": [*first, theirs, ours]}}, "package").state
    back = rewrite.rewritten(both, "dynamic").state["deployment"]["resources"]
    assert [one["id"] for one in back if one["type"] == DYNAMIC_PROVIDER] == ["1d"]
    assert {one.get("provider") for one in back[2:]} == {ours["provider"]}


def test_a_state_is_not_moved_twice_or_by_halves() -> None:
    state = dynamic_state("StagingBucket", {"name": "b"}, {"name": "b"})
    assert not rewrite.rewritten(state, "dynamic").moved
    assert not rewrite.rewritten({"version": 3, "deployment": None}, "package").moved
    moved = rewrite.rewritten(state, "package").state
    listed = [*state["deployment"]["resources"], *moved["deployment"]["resources"]]
    with pytest.raises(rewrite.NotMovedError, match="have both forms"):
        rewrite.rewritten({"deployment": {"resources": listed}}, "package")
    pending = {"deployment": {**state["deployment"], "pending_operations": [{"type": "creating"}]}}
    with pytest.raises(rewrite.NotMovedError, match="pulumi refresh --clear-pending-creates"):
        rewrite.rewritten(pending, "package")


def dynamic_state(resource: str, inputs: dict[str, Any], outputs: dict[str, Any]) -> dict[str, Any]:
    """Return the exported state of a stack with a dynamic resource."""
    start, own = "urn:pulumi:dev::digits::", {"__provider": rewrite.pickled("StackKey")}
    stack, provider = f"{start}pulumi:pulumi:Stack::digits-dev", f"{start}{DYNAMIC_PROVIDER}::default"
    of = {"custom": True, "parent": stack, "provider": f"{provider}::1d"}
    listed = [
        {"urn": stack, "type": "pulumi:pulumi:Stack"},
        {"urn": provider, "type": DYNAMIC_PROVIDER, "id": "1d", "inputs": {"vertex-training:project": "p"}},
        {
            **of,
            "urn": f"{start}{type_token('StackKey')}::vertex-training",
            "type": type_token("StackKey"),
            "id": "5eed",
            "inputs": own,
            "outputs": {**own, "key": "5eed"},
            "propertyDependencies": {"__provider": []},
        },
        {
            **of,
            "urn": f"{start}acme:index:Team${type_token(resource)}::it",
            "type": type_token(resource),
            "id": "it",
            "inputs": inputs,
            "outputs": outputs,
            "propertyDependencies": {"__provider": [], "display_name": [stack]},
        },
    ]
    return {"version": 3, "deployment": {"resources": listed}}


def _without_providers(state: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in one.items() if name != "provider"}
        for one in state["deployment"]["resources"]
        if one["type"] != DYNAMIC_PROVIDER
    ]


def _of_dynamic(kind: PackageKind, case: Case) -> list[Any]:
    provider, found = providers.provider_of(f"{kind.resource}Provider"), []
    place = {name: value for name, value in PLACE.items() if name in field_types(kind.inputs)}
    for change in case.changes:
        OPERATION.begin()
        OPERATION.configure(lambda _: None)
        marks = {"marks": MARKS} if "marks" in field_types(kind.inputs) else {}
        declared = {**place, **marks, **case.declared}
        first = provider.check({}, declared).inputs
        second = provider.check(first, {**declared, **change})
        assert not second.failures
        plan = provider.diff("id", _recorded(first), second.inputs)
        found.append((_bare(second.inputs), plan.changes, sorted(plan.replaces or ())))
    return found


def _of_package(kind: PackageKind, case: Case) -> list[Any]:
    urn, found = f"urn:pulumi:dev::digits::{kind.token}::it", []
    for change in case.changes:
        OPERATION.begin()
        OPERATION.configure(lambda _: None)
        declared, changed = (
            case.of_package(inputs) for inputs in (case.declared, {**case.declared, **change})
        )
        first, _ = adapter.check(adapter.Request(kind=kind, urn=urn, inputs=_wire(kind, declared)))
        second, reasons = adapter.check(
            adapter.Request(kind=kind, urn=urn, inputs=_wire(kind, changed), old_inputs=first)
        )
        assert not reasons
        inward = kind.inward(first.values)
        recorded = Properties(values=kind.outward(_recorded(inward)))
        plan = adapter.diff(
            adapter.Request(kind=kind, urn=urn, id="id", outputs=recorded, old_inputs=first, inputs=second)
        )
        checked, _ = kind.split(kind.inward(second.values))
        found.append((_bare(checked), plan.changes, sorted(map(snake_case, plan.replaces))))
    return found


def _wire(kind: PackageKind, props: dict[str, Any]) -> Properties:
    return Properties(values=names.outward(props, kind.inputs))


def _recorded(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the outputs of a resource that was created with these inputs."""
    run = inputs.get("__run")
    if run is None:
        return inputs
    ended = {"state": "JOB_STATE_SUCCEEDED", "name": "id"}
    return {**inputs, **ended, "__run": {**run, "key": f"{run['identity']}-1", "reruns": 0}}


def _bare(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return inputs without those that are None, and without the identity, which is random."""
    found = {name: value for name, value in inputs.items() if value is not None and name != "custom_job"}
    if "__run" in found:
        found["__run"] = {name: value for name, value in found["__run"].items() if name != "identity"}
    return found


@pytest.mark.parametrize("resource", RESOURCES)
def test_each_name_comes_back_from_the_wire(resource: str) -> None:
    kind = kind_of(f"{PACKAGE}:index:{resource}")
    known = [*field_types(kind.inputs), *kind.option_names, *kind.outputs]
    assert [name for name in known if snake_case(camel_case(name)) != name] == []
