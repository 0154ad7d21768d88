"""`framework=` on the real engine and emulator: choices, the variables of replicas, and what changes."""

from __future__ import annotations

import json
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import vertex_cluster
from pulumi_vertex_training.cloud import logs
from support.client.engine import Engine, Result
from support.client.shared_engine import mentions
from support.tables import not_empty
from support.waiting import eventually
from vertex_training.topology.presets.launchers import command

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parent / "launched"
"""The program of the replicas, which prints what it finds, and a stand-in for torchrun."""

DOCKERFILE = (
    "FROM python:3.11-slim\nWORKDIR /app\nENV PYTHONPATH=/app\nCOPY . /app\n"
    "COPY --from=vertex_cluster . vertex_cluster\n"
)
PROGRAM = """
repository = vt.ImageRepository("images", force_destroy=True)
image = vt.TrainingImage("launched", repository=repository, source="launched", vertex_cluster=True)

def job(name, counts, framework, command=(), accelerators=0, own=(), **container):
    machine = vt.MachineSpecArgs(machine_type="n1-standard-8")
    if accelerators:
        machine = vt.MachineSpecArgs(
            machine_type="n1-standard-8", accelerator_type="NVIDIA_TESLA_T4", accelerator_count=accelerators
        )
    pools = [
        vt.WorkerPoolSpecArgs(
            machine_spec=machine,
            replica_count=count,
            container_spec=vt.ContainerSpecArgs(
                args=["python3", "-m", "found", "--epochs=3"],
                command=list(command) or None,
                env=[vt.EnvVarArgs(name=key, value=value) for key, value in own],
                **{"image_uri": image.uri, **container},
            ),
        )
        for count in counts
    ]
    made = vt.CustomJob(name, worker_pool_specs=pools, framework=framework, wait="done", on_replace="delete")
    pulumi.export(name, [made.state, made.id])
"""
JOBS = """
job("jax", [1, 2], "jax", own=[("JAX_CPU_COLLECTIVES_IMPLEMENTATION", "mpi")])
job("alone", [1], "jax")
job("lightgbm", [1, 2], "lightgbm")
job("mxnet", [1, 1, 2], "mxnet")
job("torch", [1, 1], "pytorch", accelerators=2)
"""
BY_HAND = f"""
job("jax", [1, 2], None, {command("jax")!r}, own=[("JAX_CPU_COLLECTIVES_IMPLEMENTATION", "mpi")])
job("alone", [1], None, {command("jax")!r})
job("lightgbm", [1, 2], None, {command("lightgbm")!r})
job("mxnet", [1, 1, 2], None, {command("mxnet")!r})
job("torch", [1, 1], None, {command("pytorch")!r}, 2, own=[("PET_NPROC_PER_NODE", "2")])
"""
PREBUILT = """
job("boosted", [1], "xgboost", image_uri=None)
job("wrong", [1], "pytroch")
"""
REPLICAS = {"jax": 3, "alone": 1, "lightgbm": 3, "mxnet": 4, "torch": 2}


@dataclass(frozen=True, kw_only=True)
class Found:
    """The output of one replica: the arguments of its program and its variables."""

    arguments: list[str]
    variables: dict[str, str]

    @property
    def cluster(self) -> vertex_cluster.Cluster:
        return vertex_cluster.from_environment(self.variables)


@dataclass(frozen=True, kw_only=True)
class Steps:
    """A deployment with presets, then previews of it unchanged, written manually, and with mistakes."""

    up: Result
    same: Result
    by_hand: Result
    mistakes: Result
    outputs: dict[str, Any]
    found: dict[str, list[Found]]


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    source = engine.folder / "infra" / "launched"
    shutil.copytree(FOLDER, source)
    (source / "Dockerfile").write_text(DOCKERFILE)
    engine.write(PROGRAM + JOBS)
    up = engine.up().ok()
    outputs = engine.outputs()
    found = {name: replicas_of(engine, outputs[name][1], count) for name, count in REPLICAS.items()}
    same = engine.preview().ok()
    engine.write(PROGRAM + BY_HAND)
    by_hand = engine.preview().ok()
    engine.write(PROGRAM + PREBUILT)
    mistakes = engine.preview().failed()
    return Steps(up=up, same=same, by_hand=by_hand, mistakes=mistakes, outputs=outputs, found=found)


def replicas_of(engine: Engine, job: str, count: int) -> list[Found]:
    """Return what the replicas of a job printed, the chief's first."""

    def printed() -> list[Found] | None:
        entries = logs.newest(engine.endpoint(), job.rpartition("/")[2], count=200)
        lines = [each.message.partition("found ")[2] for each in entries if each.message.startswith("found ")]
        return (
            [Found(arguments=words, variables=env) for words, env in map(json.loads, lines)]
            if len(lines) >= count
            else None
        )

    replicas = eventually(printed)
    return sorted(replicas, key=lambda each: (each.cluster.pool, each.cluster.index))


def chosen(found: Found, prefix: str) -> dict[str, str]:
    return {name: value for name, value in found.variables.items() if name.startswith(prefix)}


def test_all_jobs_succeed(steps: Steps) -> None:
    assert {name: state for name, (state, _) in steps.outputs.items()} == dict.fromkeys(REPLICAS, "SUCCEEDED")


def test_the_program_gets_its_own_arguments(steps: Steps) -> None:
    for name in ("jax", "alone", "lightgbm", "mxnet"):
        assert [each.arguments for each in steps.found[name]] == [["--epochs=3"]] * REPLICAS[name]


def test_the_launcher_sets_what_vertex_cluster_would(steps: Steps) -> None:
    for name, prefix in (("lightgbm", "LIGHTGBM_"), ("mxnet", "DMLC_")):
        for each in not_empty(steps.found[name]):
            settings = vertex_cluster.framework_settings(each.cluster, name, resolve=socket.gethostbyname)
            if name == "lightgbm":
                settings = {f"LIGHTGBM_{key.upper()}": value for key, value in settings.items()}
            assert chosen(each, prefix) == settings


def test_jax_finds_its_coordinator_and_an_own_variable_wins(steps: Steps) -> None:
    for rank, each in enumerate(not_empty(steps.found["jax"])):
        assert chosen(each, "JAX_") == {
            "JAX_COORDINATOR_ADDRESS": each.cluster.chief_address,
            "JAX_NUM_PROCESSES": "3",
            "JAX_PROCESS_ID": str(rank),
            "JAX_CPU_COLLECTIVES_IMPLEMENTATION": "mpi",
        }


def test_a_job_of_one_replica_is_a_cluster_of_one(steps: Steps) -> None:
    [alone] = steps.found["alone"]
    assert alone.variables["JAX_NUM_PROCESSES"] == "1"
    assert alone.variables["JAX_PROCESS_ID"] == "0"
    assert alone.variables["JAX_COORDINATOR_ADDRESS"] == alone.cluster.chief_address


def test_torchrun_starts_one_process_for_each_accelerator(steps: Steps) -> None:
    for rank, each in enumerate(not_empty(steps.found["torch"])):
        expected = vertex_cluster.framework_settings(each.cluster, "torchrun", slots=2)
        assert chosen(each, "PET_") == expected
        assert expected["PET_NODE_RANK"] == str(rank)
        assert each.arguments[:1] == ["--no_python"]
        assert each.arguments[2:] == ["-m", "found", "--epochs=3"]


def test_a_deployment_says_what_was_chosen(steps: Steps) -> None:
    said = mentions(steps.up.output, "jax: ")
    assert "framework jax chooses the launcher of jax" in said
    assert "worker_pool_specs[1].container_spec.command" in said
    assert "PET_NPROC_PER_NODE=2, one process for each accelerator" in mentions(steps.up.output, "torch: ")


def test_an_unchanged_program_and_the_choices_by_hand_change_nothing(steps: Steps) -> None:
    for preview in (steps.same, steps.by_hand):
        assert "to create" not in preview.output
        assert "to update" not in preview.output
        assert "to replace" not in preview.output
        assert "chooses" not in preview.output


def test_a_wrong_name_lists_the_known_ones(steps: Steps) -> None:
    said = steps.mistakes.output
    assert "did you mean pytorch?" in said
    assert "tensorflow, pytorch, torchrun, horovod, jax, mxnet, xgboost, lightgbm, adanet" in said


def test_the_image_is_chosen(steps: Steps) -> None:
    assert "the image us-docker.pkg.dev/vertex-ai/training/xgboost-cpu.2-1:latest" in steps.mistakes.output
