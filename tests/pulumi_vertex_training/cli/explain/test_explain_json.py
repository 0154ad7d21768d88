"""`explain --json`: its keys, its exit codes, one fact a case."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cli.explain import explanation
from pulumi_vertex_training.cli.explain import json as explain_json
from pulumi_vertex_training.cli.main import main
from support.tables import every_row
from vertex_training.findings.options import CheckOptions

IMAGE = "gcr.io/p/i:1"
REDUCTION = "us-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest"
Job = dict[str, Any]


def pool(count: Any = 1, machine: str = "n1-standard-4", image: str = IMAGE, **more: Any) -> Job:
    return {
        "machineSpec": {"machineType": machine},
        "replicaCount": count,
        "containerSpec": {"imageUri": image, **more},
    }


def pools(*specs: Job, **more: Any) -> Job:
    return {"workerPoolSpecs": list(specs), **more}


BIG = {"machineType": "n1-highmem-96", "acceleratorType": "NVIDIA_TESLA_V100", "acceleratorCount": 8}
REDUCING = pools(
    {**pool(), "machineSpec": BIG}, {**pool(4), "machineSpec": BIG}, pool(10, "n1-highcpu-16", REDUCTION)
)
JOB = {
    "displayName": "train",
    "labels": {"team": "vision"},
    "jobSpec": {
        **pools(pool(), pool(2), {}, pool()),
        "baseOutputDirectory": {"outputUriPrefix": "gs://bucket/out"},
    },
}
ROLES = {"chief": {"machine_type": "n1-standard-4"}, "worker": {"replica_count": 2}}
LEGACY = {
    "trainingInput": {
        "scaleTier": "CUSTOM",
        "masterType": "n1-standard-8",
        "masterConfig": {"imageUri": IMAGE},
        "workerType": "n1-standard-8",
        "workerCount": "2",
        "region": "europe-west4",
    }
}


class Explain:
    """The command on a document, in this process."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.file = folder / "job.json"
        self.capsys = capsys

    def __call__(self, document: Any, *words: str) -> Any:
        self.file.write_text(json.dumps(document))
        code = main(["explain", str(self.file), "--json", *words])
        captured = self.capsys.readouterr()
        assert captured.err == ""
        found = json.loads(captured.out)
        assert code == (2 if found["errors"] else 0)
        return found


@pytest.fixture
def explain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Explain:
    return Explain(tmp_path, capsys)


def dig(value: Any, path: str) -> Any:
    """`replicas.0.env.RANK`; a mapping or list that is not there is None."""
    for key in path.split("."):
        if isinstance(value, list):
            value = value[int(key)] if int(key) < len(value) else None
        else:
            value = None if value is None else value.get(key)
    return value


KEYS = {
    "form",
    "workerPoolSpecs",
    "customJob",
    "cost",
    "errors",
    "warnings",
    "replicas",
    "reductionServers",
    "framework",
    "sample",
}


@pytest.mark.parametrize(
    "document", [JOB, pools(pool()), ROLES, LEGACY, REDUCING], ids=lambda d: next(iter(d))
)
def test_the_keys_are_always_there(explain: Explain, document: Job) -> None:
    assert set(explain(document)) == KEYS


FACTS: list[tuple[str, Job, str, str, Any]] = [
    ("a job", JOB, "", "form", "job"),
    ("pools", pools(pool()), "", "form", "pools"),
    ("roles", ROLES, "", "form", "roles"),
    ("a training input", LEGACY, "", "form", "training_input"),
    ("the machine", JOB, "", "workerPoolSpecs.0.machineSpec", {"machineType": "n1-standard-4"}),
    ("counts are strings", JOB, "", "workerPoolSpecs.1.replicaCount", "2"),
    ("the disk is filled in", JOB, "", "workerPoolSpecs.0.diskSpec.bootDiskType", "pd-ssd"),
    ("a gap stays", JOB, "", "workerPoolSpecs.2", {}),
    ("a trailing gap goes", pools(pool(), {}, {}), "", "workerPoolSpecs.1", None),
    ("the whole job", JOB, "", "customJob.displayName", "train"),
    ("its labels", JOB, "", "customJob.labels", {"team": "vision"}),
    ("its directory", JOB, "", "customJob.jobSpec.baseOutputDirectory.outputUriPrefix", "gs://bucket/out/"),
    ("pools have no name", pools(pool()), "", "customJob.displayName", None),
    ("roles are no job", ROLES, "", "customJob", None),
    ("but with a name", {**ROLES, "display_name": "n"}, "", "customJob.displayName", "n"),
    (
        "or with an account",
        {**ROLES, "service_account": "a@p.iam.gserviceaccount.com"},
        "",
        "customJob.jobSpec.serviceAccount",
        "a@p.iam.gserviceaccount.com",
    ),
    ("no invented addresses", JOB, "--framework jax", "sample.addresses", {}),
    ("no errors", JOB, "", "errors", []),
    ("no reduction servers", JOB, "", "reductionServers", None),
    ("a replica's name", JOB, "", "replicas.1.name", "workerpool1-0"),
    ("a replica's role", JOB, "", "replicas.3.role", "evaluator"),
    (
        "CLUSTER_SPEC is a mapping",
        JOB,
        "",
        "replicas.1.env.CLUSTER_SPEC.task",
        {"type": "workerpool1", "index": 0},
    ),
    ("TF_CONFIG is a mapping", JOB, "", "replicas.1.env.TF_CONFIG.task.type", "worker"),
    ("no TF_CONFIG alone", pools(pool()), "", "replicas.0.env.TF_CONFIG", None),
    ("chief alone", pools(pool()), "", "replicas.0.env.CLUSTER_SPEC.task.type", "chief"),
    (
        "documented",
        pools(pool()),
        "--contract documented",
        "replicas.0.env.CLUSTER_SPEC.task.type",
        "workerpool0",
    ),
    ("variables are texts", JOB, "", "replicas.2.env.RANK", "2"),
    ("the directory", JOB, "", "replicas.0.env.AIP_MODEL_DIR", "gs://bucket/out/model/"),
    ("no trial", JOB, "", "replicas.0.env.CLOUD_ML_TRIAL_ID", None),
    ("a trial", JOB, "--trial 3", "replicas.0.env.CLOUD_ML_TRIAL_ID", "3"),
    ("a trial's directory", JOB, "--trial 3", "replicas.0.env.AIP_MODEL_DIR", "gs://bucket/out/3/model/"),
    ("the sample trial", JOB, "--trial 3", "sample.trial", "3"),
    ("the sample job", JOB, "", "sample.jobId", explanation.SAMPLE_JOB_ID),
    ("the sample is used", JOB, "", "replicas.0.env.CLOUD_ML_JOB_ID", explanation.SAMPLE_JOB_ID),
    ("the location", JOB, "--location europe-west1", "sample.location", "europe-west1"),
    ("the file's location", LEGACY, "", "sample.location", "europe-west4"),
    ("an own variable", pools(pool(env=[{"name": "A", "value": "b"}])), "", "replicas.0.env.A", "b"),
    (
        "an own TF_CONFIG alone",
        pools(pool(env=[{"name": "TF_CONFIG", "value": "{}"}])),
        "",
        "replicas.0.env.TF_CONFIG",
        "{}",
    ),
    ("one replica", JOB, "--replica workerpool1-1", "replicas.0.name", "workerpool1-1"),
    ("and no other", JOB, "--replica workerpool1-1", "replicas.1", None),
    ("the legacy name", LEGACY, "", "replicas.2.aiPlatformName", "worker-replica-1"),
    ("the legacy task", LEGACY, "", "replicas.0.aiPlatformEnv.CLUSTER_SPEC.task.type", "master"),
    (
        "one replica by its legacy name",
        LEGACY,
        "--replica worker-replica-1",
        "replicas.0.name",
        "workerpool1-1",
    ),
    ("a job has no legacy names", JOB, "", "replicas.0.aiPlatformEnv", None),
    ("required bandwidth", REDUCING, "", "reductionServers.requiredGbps", 500),
    ("required replicas", REDUCING, "", "reductionServers.replicas", 16),
    ("declared replicas", REDUCING, "", "reductionServers.declaredReplicas", 10),
    ("the machine of reduction servers", REDUCING, "", "reductionServers.machineType", "n1-highcpu-16"),
    ("too few is a warning", REDUCING, "", "warnings.0.rule", "reduction-bandwidth"),
    ("settings of pytorch", JOB, "--framework torch", "replicas.2.frameworkSettings.RANK", "2"),
    ("settings of jax", JOB, "--framework jax", "replicas.1.frameworkSettings.process_id", "1"),
    ("none for an evaluator", JOB, "--framework xgboost", "replicas.3.frameworkSettings", {}),
    ("addresses for lightgbm", JOB, "--framework lightgbm", "replicas.0.frameworkSettings.num_machines", "3"),
    (
        "TensorFlow needs no settings",
        JOB,
        "--framework multiworkermirroredstrategy",
        "replicas.0.frameworkSettings",
        None,
    ),
]


@every_row(
    ("document", "switches", "path", "value"), [fact[1:] for fact in FACTS], ids=[fact[0] for fact in FACTS]
)
def test_a_fact(explain: Explain, document: Job, switches: str, path: str, value: Any) -> None:
    assert dig(explain(document, *switches.split()), path) == value


def without(document: Job, *keys: str) -> Job:
    return {key: item for key, item in document.items() if key not in keys}


UNKNOWN = pools(pool(machine="n9-standard-4"))
LEGACY_GPU = pools(
    {
        **pool(),
        "machineSpec": {
            "machineType": "n1-standard-4",
            "acceleratorType": "NVIDIA_TESLA_K80",
            "acceleratorCount": 1,
        },
    }
)
GPU = pools(
    {
        **pool(),
        "machineSpec": {
            "machineType": "n1-standard-4",
            "acceleratorType": "NVIDIA_TESLA_P4",
            "acceleratorCount": 1,
        },
    }
)

FINDINGS: list[tuple[str, Any, str, str, str, str]] = [
    (
        "two chiefs",
        pools(pool(2)),
        "",
        "errors",
        "worker_pool_specs[0].replica_count",
        "Distributed training",
    ),
    (
        "an unknown machine",
        UNKNOWN,
        "",
        "errors",
        "worker_pool_specs[0].machine_spec.machine_type",
        "Configure compute",
    ),
    (
        "allowed",
        UNKNOWN,
        "--allow-unknown-types",
        "warnings",
        "worker_pool_specs[0].machine_spec.machine_type",
        "",
    ),
    ("a retired GPU", LEGACY_GPU, "", "errors", "worker_pool_specs[0].machine_spec.accelerator_type", ""),
    (
        "no such GPU in the region",
        GPU,
        "--location me-west1",
        "errors",
        "worker_pool_specs[0].machine_spec.accelerator_type",
        "",
    ),
    ("no job name", without(JOB, "displayName"), "", "errors", "display_name", ""),
    (
        "the path in a role",
        {"chief": {"machine_type": "x"}},
        "",
        "errors",
        "chief.machine_type",
        "Configure compute",
    ),
    ("no mapping", [1], "", "errors", "", "ours"),
    ("no job", {"a": 1}, "", "errors", "", "ours"),
    (
        "a framework without servers",
        JOB,
        "--framework ParameterServerStrategy",
        "errors",
        "worker_pool_specs[2]",
        "TensorFlow",
    ),
]


@pytest.mark.parametrize(
    ("document", "switches", "level", "path", "source"),
    [f[1:] for f in FINDINGS],
    ids=[f[0] for f in FINDINGS],
)
def test_a_finding(
    explain: Explain, document: Any, switches: str, level: str, path: str, source: str
) -> None:
    found = explain(document, *switches.split())[level]
    assert path in [finding["path"] for finding in found]
    (finding, *_) = [finding for finding in found if finding["path"] == path]
    assert set(finding) == {"path", "message", "rule", "source"}
    assert source in finding["source"]


LISTED: list[tuple[str, Any, int]] = [
    ("a bad machine", UNKNOWN, 1),
    ("a bad label", {**JOB, "labels": {"A": "b"}}, 4),
    ("a count of no number", pools(pool(), pool("three")), 0),
    ("a misspelt count", pools(pool(), {**without(pool(), "replicaCount"), "replicaCuont": 3}), 0),
    ("no count", pools(pool(), without(pool(), "replicaCount")), 0),
    ("a negative count", pools(pool(), pool(-1)), 0),
    ("two chiefs", pools(pool(2)), 0),
    ("no chief", pools({}, pool(2)), 0),
    ("five pools", pools(pool(), pool(), pool(), pool(), pool()), 0),
    ("not a pool", pools(pool(), 5), 0),
    ("not labels", {**JOB, "labels": 5}, 4),
    ("an unknown role", {"chief": {"replica_count": 1}, "wroker": {"replica_count": 2}}, 0),
    (
        "a role twice",
        {"chief": {"replica_count": 1}, "worker": {"replica_count": 2}, "workers": {"replica_count": 3}},
        0,
    ),
    ("a misspelt count in a role", {"chief": {"replica_count": 1}, "worker": {"replica_cuont": 2}}, 0),
    ("a legacy count of no number", {"trainingInput": {**LEGACY["trainingInput"], "workerCount": "x"}}, 0),
    ("a framework that does not fit", JOB, 4),
    ("more than can be listed", pools(pool(), pool(10**9)), 0),
    ("more than can be counted", pools(pool(), pool(10**30)), 0),
    ("a legacy job of too many", {"trainingInput": {**LEGACY["trainingInput"], "workerCount": 10**15}}, 0),
]


@every_row(("document", "count"), [each[1:] for each in LISTED], ids=[each[0] for each in LISTED])
def test_replicas_are_listed_with_errors_if_their_number_is_clear(
    explain: Explain, document: Any, count: int
) -> None:
    found = explain(document, "--framework", "ParameterServerStrategy")
    assert found["errors"] or found["warnings"]
    assert len(found["replicas"]) == count


def test_a_retired_gpu_is_allowed_for_old_jobs(explain: Explain) -> None:
    assert explain(LEGACY_GPU, "--allow-legacy-types")["errors"] == []


def test_too_many_replicas_are_a_warning_of_ours(explain: Explain) -> None:
    (warning,) = explain(pools(pool(), pool(5000)))["warnings"]
    assert warning["rule"] == "listed-replicas"
    assert warning["message"].startswith("5001 replicas are too many to list their environments")
    assert warning["source"].startswith("ours")


def test_variables_that_double_each_other_are_refused_before_they_grow(explain: Explain) -> None:
    names = [f"V{i}" for i in range(60)]
    env = [{"name": "V0", "value": "x" * 10}]
    env += [{"name": new, "value": f"$({old})$({old})"} for old, new in pairwise(names)]
    found = explain(pools(pool(env=env)))
    (error,) = found["errors"]
    assert error["path"] == "worker_pool_specs[0].container_spec.env[14].value"
    assert error["rule"] == "long-variable"
    assert found["replicas"] == []


def test_escaped_references_do_not_grow(explain: Explain) -> None:
    env = [{"name": "A", "value": "x" * 100_000}, {"name": "B", "value": "$$(A)" * 10}]
    assert explain(pools(pool(env=env)))["replicas"][0]["env"]["B"] == "$(A)" * 10


def test_auto_reduction_servers(explain: Explain) -> None:
    found = explain(pools(*REDUCING["workerPoolSpecs"][:2], {"replicaCount": "auto"}))
    assert found["reductionServers"]["replicas"] == 16
    assert found["workerPoolSpecs"][2]["replicaCount"] == "16"
    assert len(found["reductionServers"]["arithmetic"]) >= 3


def test_what_could_not_be_read_is_left_out_of_the_normal_form(explain: Explain) -> None:
    found = explain(pools({"replicaCount": 1, "machineSpec": {}, "containerSpec": {"imageUri": 5}}))
    assert found["workerPoolSpecs"][0]["machineSpec"] == {}
    assert found["workerPoolSpecs"][0]["containerSpec"] == {}
    assert "known" not in json.dumps(found["customJob"])


def test_a_file_that_cannot_be_read_has_the_same_keys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "job.yaml").write_text("a: 1\na: 2")
    assert main(["explain", str(tmp_path / "job.yaml"), "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert set(found) == KEYS
    (error,) = found["errors"]
    assert "line 2, column 1: the key 'a' is given twice" in error["message"]
    assert error["path"] == "FILE"


def test_every_environment_is_that_of_the_replica(explain: Explain) -> None:
    """Check that the text made of shared parts is each replica's environment."""
    document = pools(pool(env=[{"name": "A", "value": 'é\n"'}]), pool(30), pool(2), pool())
    for contract in ("observed", "documented"):
        found = explain(document, "--contract", contract, "--trial", "2")["replicas"]
        explained = explanation.explanation_of(
            document,
            options=CheckOptions(),
            contract=contract,
            trial="2",  # type: ignore[arg-type]
        )
        assert len(found) == 34
        for there, replica in zip(found, explained.replicas, strict=True):
            here = replica.environment
            assert there["env"] == {
                "CLUSTER_SPEC": here.cluster_spec,
                "TF_CONFIG": here.tf_config,
                **here.variables,
            }


def test_a_replica_is_one_line(explain: Explain) -> None:
    texts: list[str] = []
    explained = explanation.explanation_of(JOB, options=CheckOptions())
    explain_json.write(explained, explained.replicas, texts.append)
    lines = "".join(texts).splitlines()
    assert sum('"name": "workerpool' in line and '"CLUSTER_SPEC"' in line for line in lines) == 4


def test_invented_addresses_are_marked(explain: Explain) -> None:
    found = explain(JOB, "--framework", "lightgbm")
    machines = found["replicas"][0]["frameworkSettings"]["machines"].split(",")
    assert {each.partition(":")[0] for each in machines} == set(found["sample"]["addresses"].values())
    assert "cmle-training-workerpool0-22085aa929-0" in found["sample"]["addresses"]


def test_an_unknown_replica_is_one_more_error(explain: Explain) -> None:
    found = explain(UNKNOWN, "--replica", "workerpool0-1")
    assert [error["path"] for error in found["errors"]][-1] == "--replica"


def test_what_is_printed_can_be_explained_again(explain: Explain) -> None:
    reducing = {**ROLES, "reduction_servers": {"replica_count": 2}}
    for document in (JOB, pools(pool()), ROLES, {**ROLES, "labels": {"a": "b"}}, REDUCING, reducing):
        printed = explain(document)
        again = explain(printed)
        assert again["workerPoolSpecs"] == printed["workerPoolSpecs"]
        for level in ("errors", "warnings"):
            assert [each["rule"] for each in again[level]] == [each["rule"] for each in printed[level]]


@pytest.mark.parity("Custom jobs: accelerators")
def test_accelerators_are_devices_of_the_emulator(explain: Explain) -> None:
    machine = {"machineType": "g2-standard-24", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 2}
    found = explain(pools({**pool(), "machineSpec": machine}, pool(1)))
    first, second = found["replicas"]
    assert first["emulatorEnv"] == {
        "VERTEX_CLUSTER_LOCAL_DEVICES": "2",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
    }
    assert "emulatorEnv" not in second
