"""CLUSTER_SPEC and TF_CONFIG in every form that was documented or seen, and the errors of other forms."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vertex_cluster
from support.tables import every_row
from vertex_cluster import Cluster, ClusterError, parse_cluster_spec, parse_tf_config

# Vertex AI documentation, "Distributed training", with a job filled in.
DOCUMENTED = {
    "cluster": {
        "workerpool0": ["cmle-training-workerpool0-ab-0:2222"],
        "workerpool1": ["cmle-training-workerpool1-ab-0:2222", "cmle-training-workerpool1-ab-1:2222"],
        "workerpool2": ["cmle-training-workerpool2-ab-0:2222", "cmle-training-workerpool2-ab-1:2222"],
        "workerpool3": [
            "cmle-training-workerpool3-ab-0:2222",
            "cmle-training-workerpool3-ab-1:2222",
            "cmle-training-workerpool3-ab-2:2222",
        ],
    },
    "environment": "cloud",
    "task": {"type": "workerpool0", "index": 0, "trial": "TRIAL_ID"},
    "job": {"worker_pool_specs": [{"replica_count": 1}]},
}

# The log of a real job.
OBSERVED = (
    '{"cluster":{"workerpool0":["cmle-training-workerpool0-b644f12a34-0:2222"],"workerpool1":'
    '["cmle-training-workerpool1-b644f12a34-0:2222","cmle-training-workerpool1-b644f12a34-1:2222"]},'
    '"environment":"cloud","task":{"type":"workerpool0","index":0},'
    '"job":"{\\"python_module\\":\\"\\",\\"package_uris\\":[],\\"job_args\\":[]}","open_ports":[3333]}'
)

# The log of a real job of one replica.
OBSERVED_ALONE = (
    '{"cluster":{"chief":["cmle-training-workerpool0-33d7222dd4-0:2222"]},"environment":"cloud",'
    '"task":{"type":"chief","index":0}}'
)

# Vertex AI documentation, "The format of TF_CONFIG".
TF_CONFIG: dict[str, Any] = {
    "cluster": {
        "chief": ["training-workerpool0-ab-0:2222"],
        "ps": ["training-workerpool2-ab-0:2222"],
        "worker": ["training-workerpool1-ab-0:2222", "training-workerpool1-ab-1:2222"],
    },
    "environment": "cloud",
    "job": {},
    "task": {"cloud": "id", "index": 0, "trial": "1", "type": "worker"},
}


def spec(cluster: object = None, task: object = None, **others: object) -> str:
    """Return CLUSTER_SPEC of a chief and two workers, seen from the second worker, with parts replaced."""
    usual = {"workerpool0": ["a:1"], "workerpool1": ["b:1", "c:1"]}
    return json.dumps(
        {
            "cluster": usual if cluster is None else cluster,
            "task": {"type": "workerpool1", "index": 1} if task is None else task,
            **others,
        }
    )


def test_documented_form() -> None:
    cluster = parse_cluster_spec(json.dumps(DOCUMENTED))
    assert cluster.pools == tuple(tuple(addresses) for addresses in DOCUMENTED["cluster"].values())  # type: ignore[attr-defined]
    assert (cluster.pool, cluster.index, cluster.trial) == (0, 0, "TRIAL_ID")
    assert (cluster.role, cluster.name, cluster.is_chief) == ("chief", "workerpool0-0", True)
    assert cluster.job == DOCUMENTED["job"]
    assert cluster.source == "CLUSTER_SPEC"
    assert cluster.open_ports == ()


def test_observed_form() -> None:
    cluster = parse_cluster_spec(OBSERVED)
    assert [len(pool) for pool in cluster.pools] == [1, 2, 0, 0]
    assert (cluster.host, cluster.port) == ("cmle-training-workerpool0-b644f12a34-0", 2222)
    assert cluster.trial is None
    assert cluster.job == {"python_module": "", "package_uris": [], "job_args": []}
    assert cluster.open_ports == (3333,)


@pytest.mark.parametrize(
    "text",
    [
        OBSERVED_ALONE,
        OBSERVED_ALONE.replace(',"index":0', ""),
        OBSERVED_ALONE.replace("chief", "workerpool0"),
        json.dumps(
            {
                "cluster": {
                    "chief": ["cmle-training-workerpool0-33d7222dd4-0:2222"],
                    "workerpool0": ["cmle-training-workerpool0-33d7222dd4-0:2222"],
                },
                "task": {"type": "chief", "index": 0},
            }
        ),
    ],
    ids=["chief", "no index", "workerpool0", "both names"],
)
def test_one_replica(text: str) -> None:
    cluster = parse_cluster_spec(text)
    assert cluster.pools == (("cmle-training-workerpool0-33d7222dd4-0:2222",), (), (), ())
    assert (cluster.pool, cluster.index, cluster.is_chief) == (0, 0, True)


@pytest.mark.parametrize(
    ("kind", "index", "role", "name", "port"),
    [
        ("workerpool0", 0, "chief", "workerpool0-0", 1),
        ("workerpool1", 0, "worker", "workerpool1-0", 2),
        ("workerpool1", 1, "worker", "workerpool1-1", 3),
        ("workerpool3", 0, "evaluator", "workerpool3-0", 4),
    ],
)
def test_each_replica_knows_itself(kind: str, index: int, role: str, name: str, port: int) -> None:
    pools = {"workerpool0": ["h:1"], "workerpool1": ["h:2", "h:3"], "workerpool3": ["h:4"]}
    cluster = parse_cluster_spec(spec(pools, {"type": kind, "index": index}))
    assert (cluster.role, cluster.name, cluster.port, cluster.host) == (role, name, port, "h")
    assert (cluster.chief_address, cluster.chief_host, cluster.chief_port) == ("h:1", "h", 1)


def test_a_server_after_a_skipped_pool() -> None:
    cluster = parse_cluster_spec(
        spec({"workerpool0": ["a:1"], "workerpool2": ["b:1"]}, {"type": "workerpool2", "index": 0})
    )
    assert cluster.pools == (("a:1",), (), ("b:1",), ())
    assert cluster.role == "parameter_server"


def test_older_ai_platform_names() -> None:
    pools = {"master": ["m:2222"], "worker": ["w0:2222", "w1:2222"], "ps": ["p:2222"]}
    cluster = parse_cluster_spec(spec(pools, {"type": "ps", "index": 0, "trial": ""}))
    assert cluster.pools == (("m:2222",), ("w0:2222", "w1:2222"), ("p:2222",), ())
    assert (cluster.role, cluster.trial) == ("parameter_server", None)


def test_ipv6_addresses() -> None:
    cluster = parse_cluster_spec(spec({"workerpool0": ["[::1]:2222"]}, {"type": "workerpool0", "index": 0}))
    assert (cluster.host, cluster.port) == ("::1", 2222)


def test_tf_config() -> None:
    cluster = parse_tf_config(json.dumps(TF_CONFIG))
    assert [len(pool) for pool in cluster.pools] == [1, 2, 1, 0]
    assert (cluster.role, cluster.index, cluster.trial) == ("worker", 0, "1")
    assert cluster.address == "training-workerpool1-ab-0:2222"
    assert cluster.source == "TF_CONFIG"


def test_tf_config_with_master() -> None:
    text = json.dumps({"cluster": {"master": ["m:1"]}, "task": {"type": "master", "index": 0}})
    assert parse_tf_config(text).is_chief


def test_tf_config_of_an_evaluator_has_no_address() -> None:
    cluster = parse_tf_config(json.dumps({**TF_CONFIG, "task": {"type": "evaluator", "index": 0}}))
    assert (cluster.role, cluster.name) == ("evaluator", "workerpool3-0")
    with pytest.raises(
        ClusterError, match=r"^TF_CONFIG: cluster does not list this evaluator.* CLUSTER_SPEC"
    ):
        _ = cluster.address


def test_tf_config_does_not_know_worker_pools() -> None:
    with pytest.raises(ClusterError, match=r"^TF_CONFIG: cluster\.workerpool0 is not a known pool\."):
        parse_tf_config(OBSERVED)


def test_environment_prefers_cluster_spec() -> None:
    both = {"CLUSTER_SPEC": OBSERVED, "TF_CONFIG": json.dumps(TF_CONFIG)}
    assert vertex_cluster.from_environment(both).source == "CLUSTER_SPEC"
    assert vertex_cluster.from_environment({**both, "CLUSTER_SPEC": ""}).source == "TF_CONFIG"


def test_without_variables_it_is_a_single_chief(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = Cluster(pools=(("localhost:2222",), (), (), ()), pool=0, index=0)
    assert vertex_cluster.from_environment({}) == alone
    assert vertex_cluster.from_environment({"CLUSTER_SPEC": " ", "TF_CONFIG": ""}) == alone
    monkeypatch.delenv("TF_CONFIG", raising=False)
    monkeypatch.setenv("CLUSTER_SPEC", OBSERVED)
    assert vertex_cluster.from_environment() == parse_cluster_spec(OBSERVED)


BAD = {
    "not JSON": ("{'cluster'", "", "begins with \"{'cluster'\" and is not JSON: Expecting property name"),
    "a list": ("[1]", "", "is [1], not a JSON object"),
    "nested too deeply": ("[" * 100_000, "", "is nested too deeply"),
    "no cluster": ('{"task": {}}', "cluster", "is missing"),
    "cluster is text": (spec("x"), "cluster", 'is "x", not a JSON object'),
    "unknown pool": (spec({"workerpool4": ["a:1"]}), "cluster.workerpool4", "is not a known pool"),
    "pool is text": (spec({"workerpool0": "a:1"}), "cluster.workerpool0", 'is "a:1", not a list'),
    "no port": (spec({"workerpool0": ["host"]}), "cluster.workerpool0[0]", 'is "host", not host:port'),
    "no host": (spec({"workerpool0": [":1"]}), "cluster.workerpool0[0]", 'is ":1", not host:port'),
    "port 0": (spec({"workerpool0": ["a:0"]}), "cluster.workerpool0[0]", 'is "a:0", not host:port'),
    "port 65536": (
        spec({"workerpool0": ["a:65536"]}),
        "cluster.workerpool0[0]",
        'is "a:65536", not host:port',
    ),
    "port ²": (spec({"workerpool0": ["a:²"]}), "cluster.workerpool0[0]", 'is "a:²", not host:port'),
    "bare IPv6": (spec({"workerpool0": ["::1:22"]}), "cluster.workerpool0[0]", 'is "::1:22", not host:port'),
    "address is a number": (spec({"workerpool0": [7]}), "cluster.workerpool0[0]", "is 7, not host:port"),
    "same address twice": (
        spec({"workerpool0": ["a:1"], "workerpool1": ["b:1", "a:1"]}),
        "cluster.workerpool1[1]",
        'is "a:1", the same as cluster.workerpool0[0]',
    ),
    "two names disagree": (
        spec({"workerpool0": ["a:1"], "chief": ["b:1"]}),
        "cluster.chief",
        "lists different chiefs than the other name of this pool",
    ),
    "no chief": (spec({"workerpool1": ["b:1"]}), "cluster", "has 0 replicas in the first pool"),
    "two chiefs": (spec({"workerpool0": ["a:1", "b:1"]}), "cluster", "has 2 replicas in the first pool"),
    "no task": (json.dumps({"cluster": {"chief": ["a:1"]}}), "task", "is missing"),
    "no type": (spec(task={"index": 0}), "task.type", "is null, not a string"),
    "unknown type": (spec(task={"type": "wrker"}), "task.type", 'is "wrker", which is not a pool'),
    "no index among several": (
        spec(task={"type": "workerpool1"}),
        "task.index",
        "is null, not a whole number",
    ),
    "index is text": (spec(task={"type": "workerpool1", "index": "0"}), "task.index", 'is "0", not a whole'),
    "index is true": (
        spec(task={"type": "workerpool1", "index": True}),
        "task.index",
        "is true, not a whole",
    ),
    "index below 0": (
        spec(task={"type": "workerpool1", "index": -1}),
        "task.index",
        "is -1, not a whole number",
    ),
    "index too high": (
        spec(task={"type": "workerpool1", "index": 2}),
        "task.index",
        "is 2, but workerpool1 has 2 replicas",
    ),
    "own pool not listed": (
        spec(task={"type": "workerpool3", "index": 0}),
        "task.index",
        "is 0, but workerpool3 has 0 replicas",
    ),
    "trial is a list": (spec(task={"type": "workerpool0", "index": 0, "trial": []}), "task.trial", "is []"),
    "open_ports is text": (spec(open_ports="3333"), "open_ports", 'is "3333", not a list of ports'),
    "job is a list": (spec(job=["secret"]), "job", "is neither a JSON object nor a string that holds one"),
    "job is no JSON": (spec(job="secret"), "job", "is not JSON: Expecting value: line 1 column 1"),
}


@every_row(("text", "path", "message"), BAD.values(), ids=BAD.keys())
def test_an_error_has_the_path_the_problem_and_the_remedy(text: str, path: str, message: str) -> None:
    with pytest.raises(ClusterError) as caught:
        parse_cluster_spec(text)
    error = caught.value
    assert (error.variable, error.path) == ("CLUSTER_SPEC", path)
    assert error.message.startswith(message)
    assert error.remedy
    assert str(error) == f"CLUSTER_SPEC{': ' + path if path else ''} {error.message}. {error.remedy}."
    assert "\n" not in str(error)
    assert "secret" not in str(error)  # what a job is given may be
    assert len(str(error)) < 300


def test_long_values_are_cut() -> None:
    with pytest.raises(ClusterError, match=r'is "x{50,60}\.\.\., not a JSON object'):
        parse_cluster_spec(spec("x" * 1000))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["a:1", "workerpool0"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
POOLS = st.dictionaries(
    st.sampled_from(["workerpool0", "workerpool1", "workerpool2", "workerpool3", "chief", "x"]),
    st.lists(st.sampled_from(["a:1", "b:1", "c:1", "d:1", "bad"]), max_size=3),
)
VALID_POOLS = st.lists(st.integers(1, 3), max_size=3).map(
    lambda sizes: {
        f"workerpool{pool}": [f"h{pool}{number}:1" for number in range(size)]
        for pool, size in enumerate([1, *sizes])
    }
)
TASKS = st.fixed_dictionaries(
    {"type": st.sampled_from(["workerpool0", "workerpool1", "chief", "x"]), "index": st.integers(-1, 3)}
)


@given(
    cluster=VALID_POOLS | POOLS | JSON_VALUES,
    task=TASKS | JSON_VALUES,
    others=st.dictionaries(st.text(), JSON_VALUES),
)
def test_any_json_is_a_cluster_or_a_cluster_error(
    cluster: object, task: object, others: dict[str, object]
) -> None:
    text = json.dumps({**others, "cluster": cluster, "task": task})
    with contextlib.suppress(ClusterError):
        parsed = parse_cluster_spec(text)
        assert len(parsed.pools[0]) == 1
        assert parsed.address in parsed.pools[parsed.pool]
        assert 1 <= parsed.port <= 65535


@given(st.text())
def test_any_text_is_a_cluster_or_a_cluster_error(text: str) -> None:
    with pytest.raises(ClusterError):
        parse_cluster_spec(text)
