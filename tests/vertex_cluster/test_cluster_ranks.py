"""The two conventions of ranks, and paths of Cloud Storage."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from vertex_cluster import Cluster, ClusterError, all_replicas, gcs_path, gs_uri, parse_tf_config, trainers

POOLS = (("a:1",), ("b:1", "c:1"), ("d:1",), ("e:1",))


@pytest.mark.parametrize(
    ("pool", "index", "among_trainers", "among_all"),
    [(0, 0, 0, 0), (1, 0, 1, 1), (1, 1, 2, 2), (2, 0, None, 3), (3, 0, None, 4)],
)
def test_ranks(pool: int, index: int, among_trainers: int | None, among_all: int) -> None:
    cluster = Cluster(pools=POOLS, pool=pool, index=index)
    assert (trainers(cluster).rank, trainers(cluster).world_size) == (among_trainers, 3)
    assert trainers(cluster).addresses == ("a:1", "b:1", "c:1")
    assert (all_replicas(cluster).rank, all_replicas(cluster).world_size) == (among_all, 5)
    assert all_replicas(cluster).addresses == ("a:1", "b:1", "c:1", "d:1", "e:1")


def test_a_skipped_pool_takes_no_ranks() -> None:
    cluster = Cluster(pools=(("a:1",), (), ("b:1", "c:1"), ()), pool=2, index=1)
    assert (trainers(cluster).rank, trainers(cluster).world_size) == (None, 1)
    assert (all_replicas(cluster).rank, all_replicas(cluster).world_size) == (2, 3)


@given(st.lists(st.integers(0, 4), min_size=3, max_size=3))
def test_addresses_are_ordered_by_rank(sizes: list[int]) -> None:
    pools = tuple(tuple(f"h{pool}-{i}:1" for i in range(size)) for pool, size in enumerate([1, *sizes]))
    for pool, addresses in enumerate(pools):
        for index, address in enumerate(addresses):
            cluster = Cluster(pools=pools, pool=pool, index=index)
            for ranks in (trainers(cluster), all_replicas(cluster)):
                if ranks.rank is None:
                    assert address not in ranks.addresses
                else:
                    assert ranks.addresses[ranks.rank] == address


def test_tf_config_cannot_count_all_replicas() -> None:
    text = json.dumps(
        {"cluster": {"chief": ["a:1"], "worker": ["b:1"]}, "task": {"type": "worker", "index": 0}}
    )
    cluster = parse_tf_config(text)
    assert trainers(cluster).rank == 1
    with pytest.raises(ClusterError, match=r"^TF_CONFIG: cluster does not list evaluators"):
        all_replicas(cluster)


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("gs://bucket", "/gcs/bucket"),
        ("gs://bucket/", "/gcs/bucket/"),
        ("gs://bucket/data/digits.csv.gz", "/gcs/bucket/data/digits.csv.gz"),
        ("gs://bucket/run 1/model/", "/gcs/bucket/run 1/model/"),
    ],
)
def test_storage_paths(uri: str, path: str) -> None:
    assert gcs_path(uri) == path
    assert gcs_path(path) == path
    assert gs_uri(path) == uri
    assert gs_uri(uri) == uri


def test_other_paths_are_unchanged() -> None:
    assert gcs_path("data/digits.csv") == "data/digits.csv"
    assert gcs_path("/tmp/../x") == "/tmp/../x"


@pytest.mark.parametrize("location", ["gs://", "gs:///x", "gs://b/../c", "gs://b/./c", "s3://b/x"])
def test_uris_without_a_path(location: str) -> None:
    with pytest.raises(ValueError, match=r"^'.*' .+\. .+\.$"):
        gcs_path(location)


@pytest.mark.parametrize("location", ["/tmp/x", "data", "/gcs/", "/gcs//x", "/gcs/b/../c"])
def test_paths_without_a_uri(location: str) -> None:
    with pytest.raises(ValueError, match=r"^'.*' .+\. .+\.$"):
        gs_uri(location)


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="/."), min_size=1), st.lists(st.text(min_size=3))
)
def test_path_round_trip(bucket: str, parts: list[str]) -> None:
    uri = "/".join(["gs:/", bucket, *(part.replace("/", "-") for part in parts)])
    assume(not {"..", "."} & set(uri.split("/")))
    assert gs_uri(gcs_path(uri)) == uri
