"""Variables and arguments of other frameworks, for each role of a cluster."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vertex_cluster
from support.tables import every_row
from vertex_cluster import FRAMEWORKS, Cluster, ClusterError, framework_arguments, framework_settings

POOLS = (("10.0.0.1:1",), ("10.0.0.2:2", "10.0.0.3:3"), ("10.0.0.4:4",), ("10.0.0.5:5",))
NAMED = (("chief:2222",), ("worker-0:2222", "worker-1:2222"), ("server:2222",), ())
ROLES = {"chief": (0, 0), "worker": (1, 1), "parameter_server": (2, 0), "evaluator": (3, 0)}


def seen_from(role: str, pools: tuple[tuple[str, ...], ...] = POOLS) -> Cluster:
    pool, index = ROLES[role]
    return Cluster(pools=pools, pool=pool, index=index, source="CLUSTER_SPEC")


TORCH = {"MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "1", "WORLD_SIZE": "3"}
PET = {
    "PET_NNODES": "3",
    "PET_NPROC_PER_NODE": "1",
    "PET_MASTER_ADDR": "10.0.0.1",
    "PET_MASTER_PORT": "1",
}
JAX = {"coordinator_address": "10.0.0.1:1", "num_processes": "3"}
DMLC = {
    "DMLC_PS_ROOT_URI": "10.0.0.1",
    "DMLC_PS_ROOT_PORT": "1",
    "DMLC_NUM_WORKER": "2",
    "DMLC_NUM_SERVER": "1",
}
TRACKER = {"dmlc_tracker_uri": "10.0.0.1", "dmlc_tracker_port": "1"}
MACHINES = {"machines": "10.0.0.1:1,10.0.0.2:2,10.0.0.3:3", "num_machines": "3"}


def horovod(rank: int, *, size: int = 3, address: str = "10.0.0.1", port: str = "1") -> dict[str, str]:
    """Return the settings of one process on each machine."""
    return {
        "HOROVOD_CONTROLLER": "gloo",
        "HOROVOD_CPU_OPERATIONS": "gloo",
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": address,
        "HOROVOD_GLOO_RENDEZVOUS_PORT": port,
        "HOROVOD_HOSTNAME": f"replica{rank}",
        "HOROVOD_RANK": str(rank),
        "HOROVOD_SIZE": str(size),
        "HOROVOD_LOCAL_RANK": "0",
        "HOROVOD_LOCAL_SIZE": "1",
        "HOROVOD_CROSS_RANK": str(rank),
        "HOROVOD_CROSS_SIZE": str(size),
    }


TABLE: list[tuple[str, str, dict[str, str]]] = [
    ("torch", "chief", {**TORCH, "RANK": "0"}),
    ("torch", "worker", {**TORCH, "RANK": "2"}),
    ("torch", "parameter_server", {}),
    ("torch", "evaluator", {}),
    ("pytorch", "worker", {**TORCH, "RANK": "2"}),
    ("torchrun", "chief", {**PET, "PET_NODE_RANK": "0"}),
    ("torchrun", "worker", {**PET, "PET_NODE_RANK": "2"}),
    ("torchrun", "parameter_server", {}),
    ("torchrun", "evaluator", {}),
    ("jax", "chief", {**JAX, "process_id": "0"}),
    ("jax", "worker", {**JAX, "process_id": "2"}),
    ("jax", "parameter_server", {}),
    ("jax", "evaluator", {}),
    ("mxnet", "chief", {**DMLC, "DMLC_ROLE": "scheduler"}),
    ("mxnet", "worker", {**DMLC, "DMLC_ROLE": "worker", "DMLC_WORKER_ID": "1"}),
    ("mxnet", "parameter_server", {**DMLC, "DMLC_ROLE": "server"}),
    ("mxnet", "evaluator", {}),
    ("xgboost", "chief", {**TRACKER, "dmlc_task_id": "0000"}),
    ("xgboost", "worker", {**TRACKER, "dmlc_task_id": "0002"}),
    ("xgboost", "parameter_server", {}),
    ("xgboost", "evaluator", {}),
    ("lightgbm", "chief", {**MACHINES, "local_listen_port": "1"}),
    ("lightgbm", "worker", {**MACHINES, "local_listen_port": "3"}),
    ("lightgbm", "parameter_server", {}),
    ("lightgbm", "evaluator", {}),
    ("horovod", "chief", horovod(0)),
    ("horovod", "worker", horovod(2)),
    ("horovod", "parameter_server", {}),
    ("horovod", "evaluator", {}),
]


@every_row(
    ("framework", "role", "expected"),
    [pytest.param(*row, id=f"{row[0]}-{row[1]}") for row in TABLE],
)
def test_settings(framework: str, role: str, expected: dict[str, str]) -> None:
    assert framework_settings(seen_from(role), framework) == expected


def test_the_table_has_every_framework() -> None:
    assert {framework for framework, _, _ in TABLE} == set(FRAMEWORKS)


@pytest.mark.parametrize(
    ("framework", "name", "value"),
    [
        pytest.param("torchrun", "PET_NPROC_PER_NODE", "4", id="torchrun"),
        pytest.param("horovod", "HOROVOD_SIZE", "12", id="horovod, in all"),
        pytest.param("horovod", "HOROVOD_LOCAL_SIZE", "4", id="horovod, each"),
    ],
)
def test_several_processes_on_a_machine(framework: str, name: str, value: str) -> None:
    assert framework_settings(seen_from("chief"), framework, slots=4)[name] == value


@pytest.mark.parametrize("framework", ["torch", "jax", "mxnet", "xgboost", "lightgbm"])
def test_frameworks_that_count_replicas_refuse_slots(framework: str) -> None:
    with pytest.raises(ValueError, match=f"^slots is 2, but {framework} counts replicas"):
        framework_settings(seen_from("chief"), framework, slots=2)


@pytest.mark.parametrize("slots", [0, -1, True, 1.5, "2"])
def test_bad_slots(slots: int) -> None:
    with pytest.raises(ValueError, match=r"^slots is .+, not a whole number of at least 1\."):
        framework_settings(seen_from("chief"), "torchrun", slots=slots)


@pytest.mark.parametrize(
    ("framework", "hint"),
    [
        ("tourch", "Did you mean 'torch'"),
        ("lightgmb", "Did you mean 'lightgbm'"),
        ("ray", "Use one of torch,"),
    ],
)
def test_unknown_frameworks(framework: str, hint: str) -> None:
    with pytest.raises(ValueError, match=f"^'{framework}' is not a known framework. {hint}"):
        framework_settings(seen_from("chief"), framework)


@pytest.mark.parametrize(
    ("framework", "name", "value"),
    [
        pytest.param("mxnet", "DMLC_PS_ROOT_URI", "10.1.0.5", id="mxnet"),
        pytest.param("lightgbm", "machines", "10.1.0.5:2222,10.1.0.8:2222,10.1.0.8:2222", id="lightgbm"),
    ],
)
def test_names_are_resolved_by_the_caller(framework: str, name: str, value: str) -> None:
    found = framework_settings(
        seen_from("chief", NAMED), framework, resolve=lambda host: f"10.1.0.{len(host)}"
    )
    assert found[name] == value


@pytest.mark.parametrize(
    ("framework", "wanted"),
    [("mxnet", "MXNet needs an IP address"), ("lightgbm", "LightGBM needs an IPv4 address")],
)
def test_names_without_a_resolver(framework: str, wanted: str) -> None:
    with pytest.raises(ClusterError, match=rf"^CLUSTER_SPEC: cluster has the host 'chief', but {wanted}\."):
        framework_settings(seen_from("chief", NAMED), framework)


@pytest.mark.parametrize("framework", ["torch", "torchrun", "jax", "xgboost", "horovod"])
def test_frameworks_that_take_names(framework: str) -> None:
    assert "chief" in str(framework_settings(seen_from("chief", NAMED), framework))


LOOPBACK = (("127.0.0.1:1",), ("127.0.0.2:2", "127.0.0.3:3"), (), ())
IPV6 = (("[fd00::1]:2222",), ("[fd00::2]:2222", "[fd00::3]:2222"), ("[fd00::4]:2222",), ())


@pytest.mark.parametrize(
    ("framework", "name", "value"),
    [
        pytest.param("torch", "MASTER_ADDR", "fd00::1", id="torch"),
        pytest.param("torchrun", "PET_MASTER_ADDR", "[fd00::1]", id="torchrun"),
        pytest.param("jax", "coordinator_address", "[fd00::1]:2222", id="jax"),
        pytest.param("mxnet", "DMLC_PS_ROOT_URI", "fd00::1", id="mxnet"),
    ],
)
def test_ipv6(framework: str, name: str, value: str) -> None:
    assert framework_settings(seen_from("worker", IPV6), framework)[name] == value


@pytest.mark.parametrize("source", ["TF_CONFIG", ""])
@pytest.mark.parametrize("pools", [NAMED, (("10.0.0.1:1",), (), ("10.0.0.2:1",), ())])
def test_errors_name_the_variable(source: str, pools: tuple[tuple[str, ...], ...]) -> None:
    with pytest.raises(ClusterError, match=f"^{source or 'CLUSTER_SPEC'}: cluster "):
        framework_settings(Cluster(pools=pools, pool=0, index=0, source=source), "mxnet")


def test_lightgbm_finds_itself_on_loopback() -> None:
    """Replicas of an emulated job are at 127.0.0.1, 127.0.0.2, ...; no interface has the second."""
    found = framework_settings(seen_from("chief", LOOPBACK), "lightgbm")
    assert found["machines"] == "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"


def test_lightgbm_does_not_support_ipv6() -> None:
    with pytest.raises(ClusterError, match="LightGBM needs an IPv4 address"):
        framework_settings(seen_from("chief", IPV6), "lightgbm")


@pytest.mark.parametrize(
    ("framework", "expected"),
    [
        pytest.param(
            "torch",
            {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "2222"},
            id="torch",
        ),
        pytest.param(
            "jax",
            {"coordinator_address": "localhost:2222", "num_processes": "1", "process_id": "0"},
            id="jax",
        ),
        pytest.param("mxnet", {}, id="mxnet"),
        pytest.param(
            "horovod",
            horovod(0, size=1, address="localhost", port="2222") | {"HOROVOD_GLOO_IFACE": "lo"},
            id="horovod",
        ),
    ],
)
def test_a_single_chief(framework: str, expected: dict[str, str]) -> None:
    assert framework_settings(vertex_cluster.from_environment({}), framework) == expected


@pytest.mark.parametrize(
    ("pools", "message"),
    [
        pytest.param((("a:1",), ("b:1",), (), ()), "has 1 workers and 0 servers", id="no servers"),
        pytest.param((("a:1",), (), ("b:1",), ()), "has 0 workers and 1 servers", id="no workers"),
    ],
)
def test_mxnet_needs_workers_and_servers(pools: tuple[tuple[str, ...], ...], message: str) -> None:
    with pytest.raises(
        ClusterError, match=f"^CLUSTER_SPEC: cluster {message}, but MXNet needs at least one of each"
    ):
        framework_settings(seen_from("chief", pools), "mxnet")


def test_task_ids_of_xgboost_sort_as_text() -> None:
    pools = (("c:1",), tuple(f"w{number}:1" for number in range(10_000)), (), ())
    clusters = [Cluster(pools=pools, pool=1, index=index) for index in (8, 9, 9_998, 9_999)]
    ids = [framework_settings(cluster, "xgboost")["dmlc_task_id"] for cluster in clusters]
    assert ids == ["00009", "00010", "09999", "10000"]


def test_task_ids_of_xgboost_are_no_longer_than_needed() -> None:
    pools = (("c:1",), tuple(f"w{number}:1" for number in range(9_999)), (), ())
    assert framework_settings(Cluster(pools=pools, pool=0, index=0), "xgboost")["dmlc_task_id"] == "0000"


@pytest.mark.parametrize(
    ("framework", "expected"),
    [
        pytest.param(
            "jax", {"coordinator_address": "10.0.0.1:1", "num_processes": 3, "process_id": 2}, id="jax"
        ),
        pytest.param(
            "xgboost",
            {"dmlc_tracker_uri": "10.0.0.1", "dmlc_tracker_port": 1, "dmlc_task_id": "0002"},
            id="xgboost",
        ),
        pytest.param(
            "lightgbm",
            {"machines": MACHINES["machines"], "num_machines": 3, "local_listen_port": 3},
            id="lightgbm",
        ),
    ],
)
def test_arguments_have_numbers(framework: str, expected: dict[str, object]) -> None:
    assert framework_arguments(seen_from("worker"), framework) == expected


@pytest.mark.parametrize("framework", ["torch", "torchrun", "mxnet", "horovod"])
def test_environment_frameworks_have_no_arguments(framework: str) -> None:
    with pytest.raises(ValueError, match=f"^{framework} reads its settings from the environment"):
        framework_arguments(seen_from("chief"), framework)


@given(st.integers(0, 6), st.integers(0, 3))
def test_ranks_are_dense_and_all_replicas_name_the_same_chief(workers: int, servers: int) -> None:
    pools = (
        ("10.0.0.1:1",),
        tuple(f"10.0.1.{i}:1" for i in range(workers)),
        tuple(f"10.0.2.{i}:1" for i in range(servers)),
        ("10.0.3.1:1",),
    )
    replicas = [
        Cluster(pools=pools, pool=pool, index=index)
        for pool, addresses in enumerate(pools)
        for index in range(len(addresses))
    ]
    for framework, rank, shared in (
        ("torch", "RANK", "MASTER_ADDR"),
        ("torchrun", "PET_NODE_RANK", "PET_MASTER_ADDR"),
        ("jax", "process_id", "coordinator_address"),
        ("xgboost", "dmlc_task_id", "dmlc_tracker_uri"),
    ):
        found = [made for made in (framework_settings(one, framework) for one in replicas) if made]
        assert [int(one[rank]) for one in found] == list(range(1 + workers))
        assert len({one[shared] for one in found}) == 1
