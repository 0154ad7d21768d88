from __future__ import annotations

import pytest

from support.ground.jobs import EMPTY, REDUCTION_SERVER, pool
from support.tables import every_row
from vertex_training.findings.options import CheckOptions
from vertex_training.topology.rules.frameworks import FRAMEWORKS, framework_problems, named

SERVERS = pool(2, image=REDUCTION_SERVER)


def found(framework, *pools):
    options = CheckOptions(framework=framework)
    return [
        (problem.rule, problem.level, problem.path)
        for problem in framework_problems(pools, "worker_pool_specs", options)
    ]


@every_row(
    ("framework", "pools", "findings"),
    [
        pytest.param("MultiWorkerMirroredStrategy", [pool(), pool(3)], [], id="equal machines without GPUs"),
        pytest.param("MultiWorkerMirroredStrategy", [pool(gpus=2), pool(3, gpus=2)], [], id="equal GPUs"),
        pytest.param(
            "MultiWorkerMirroredStrategy",
            [pool(gpus=2), pool(3, gpus=1)],
            [("equal-accelerators", "error", "worker_pool_specs[1].machine_spec.accelerator_count")],
            id="other GPUs",
        ),
        pytest.param(
            None,
            [pool(gpus=2), pool(3, gpus=1)],
            [("equal-accelerators", "warning", "worker_pool_specs[1].machine_spec.accelerator_count")],
            id="other GPUs, nothing declared",
        ),
        pytest.param(
            "ParameterServerStrategy",
            [pool(gpus=2), pool(3, gpus=1), pool()],
            [],
            id="other GPUs do not matter to parameter servers",
        ),
        pytest.param("MultiWorkerMirroredStrategy", [pool(), pool(), SERVERS], [], id="reduction servers"),
        pytest.param(
            "MultiWorkerMirroredStrategy",
            [pool(), pool(), pool()],
            [("parameter-servers-unused", "error", "worker_pool_specs[2].replica_count")],
            id="parameter servers beside a mirrored strategy",
        ),
        pytest.param(
            "ParameterServerStrategy",
            [pool(), pool()],
            [("parameter-servers-needed", "error", "worker_pool_specs[2]")],
            id="no parameter servers",
        ),
        pytest.param(
            "ParameterServerStrategy",
            [pool(), pool(), SERVERS],
            [("reduction-servers-unused", "error", "worker_pool_specs[2].replica_count")],
            id="reduction servers with ParameterServerStrategy",
        ),
        pytest.param("ParameterServerStrategy", [pool(), pool(), pool(), pool()], [], id="one evaluator"),
        pytest.param(
            "ParameterServerStrategy",
            [pool(), pool(), pool(), pool(2)],
            [("evaluators-unused", "error", "worker_pool_specs[3].replica_count")],
            id="two evaluators",
        ),
        pytest.param(
            "pytorch",
            [pool(), pool(), EMPTY, pool(2)],
            [("evaluators-unused", "warning", "worker_pool_specs[3].replica_count")],
            id="two evaluators of torch are advice",
        ),
        pytest.param("MirroredStrategy", [pool(gpus=4)], [], id="one machine"),
        pytest.param(
            "MirroredStrategy",
            [pool(gpus=1), pool(gpus=1)],
            [("one-machine", "error", "worker_pool_specs[1].replica_count")],
            id="two machines of a strategy for one",
        ),
        pytest.param(
            "lightgbm",
            [pool(), pool(), SERVERS],
            [("reduction-servers-unused", "warning", "worker_pool_specs[2].replica_count")],
            id="reduction servers of lightgbm",
        ),
        pytest.param("jax", [pool(), pool(), SERVERS], [], id="reduction servers of jax"),
        pytest.param(
            "torch",
            [pool(gpus=1), pool()],
            [("equal-accelerators", "warning", "worker_pool_specs[1].machine_spec.accelerator_count")],
            id="other GPUs with torch, by its other name, are advice",
        ),
        pytest.param("", [pool()], [("framework-unknown", "error", "framework")], id="no framework"),
        pytest.param("mxnet", [pool(), pool(2), pool(2)], [], id="servers of mxnet"),
        pytest.param(
            "mxnet",
            [pool()],
            [
                ("workers-needed", "warning", "worker_pool_specs[1]"),
                ("parameter-servers-needed", "warning", "worker_pool_specs[2]"),
            ],
            id="a scheduler of mxnet alone",
        ),
        pytest.param(
            "ParameterServerStrategy",
            [pool(), EMPTY, pool(2)],
            [("workers-needed", "error", "worker_pool_specs[1]")],
            id="no workers",
        ),
        pytest.param(
            "TPUStrategy",
            [pool(gpus=1)],
            [("tpu-needed", "error", "worker_pool_specs[0].machine_spec.machine_type")],
            id="a strategy for TPUs on GPUs",
        ),
        pytest.param(
            "MirroredStrategy",
            [pool(machine="ct5lp-hightpu-4t")],
            [("tpu-needed", "error", "worker_pool_specs[0].machine_spec.machine_type")],
            id="a strategy for GPUs on TPUs",
        ),
        pytest.param("TPUStrategy", [pool(machine="ct5lp-hightpu-4t")], [], id="TPUs"),
        pytest.param("pytorch", [pool(machine="ct5lp-hightpu-4t")], [], id="torch on TPUs"),
        pytest.param("xgboost", [pool(gpus=1), pool(2)], [], id="xgboost on unequal machines"),
        pytest.param("tenserflow", [pool()], [("framework-unknown", "error", "framework")], id="unknown"),
    ],
)
def test_findings(framework, pools, findings):
    assert found(framework, *pools) == findings


def test_an_unknown_name_gets_the_nearest():
    [problem] = framework_problems([pool()], "", CheckOptions(framework="MultiWorkerMiroredStrategy"))
    assert "did you mean MultiWorkerMirroredStrategy" in problem.message


@every_row("name", FRAMEWORKS)
@every_row("spelling", ["{}", "tf.distribute.{}", "tf.distribute.experimental.{}"])
def test_names_in_any_spelling(name, spelling):
    assert named(spelling.format(name).upper()) is FRAMEWORKS[name]
