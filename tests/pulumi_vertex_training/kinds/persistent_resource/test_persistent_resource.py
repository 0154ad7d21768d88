"""The persistent resource's normal form, its JSON, the effects of changes, and the body of an update."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from google.cloud import aiplatform_v1 as api
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.kinds.persistent_resource.rules import id_problems, valid_id, validate
from pulumi_vertex_training.kinds.persistent_resource.spec import (
    PersistentResource,
    RayLogsSpec,
    RayMetricSpec,
    RaySpec,
    ResourceRuntimeSpec,
    ServiceAccountSpec,
    as_declared,
    effects_of_changes,
    from_wire,
    normalise,
    patch,
    to_wire,
)
from support.tables import every_row
from vertex_training.fields.decode import UNKNOWN, decode, encode
from vertex_training.fields.effects import Effect
from vertex_training.findings.options import CheckOptions
from vertex_training.job.job_spec import EncryptionSpec, PscInterfaceConfig
from vertex_training.topology.pools import DiskSpec, MachineSpec
from vertex_training.topology.rules.resource_pools import AutoscalingSpec, ResourcePool

CPU = MachineSpec(machine_type="n1-standard-4")
T4 = MachineSpec(machine_type="n1-standard-8", accelerator_type="NVIDIA_TESLA_T4", accelerator_count=1)
NEW = MachineSpec(machine_type="z9-standard-4")
TWO_TO_FOUR = AutoscalingSpec(min_replica_count=2, max_replica_count=4)


def pool(machine: MachineSpec = CPU, count: int = 2, **more: Any) -> ResourcePool:
    return ResourcePool(machine_spec=machine, replica_count=count, **more)


def resource(*pools: ResourcePool, **more: Any) -> PersistentResource:
    return PersistentResource(resource_pools=pools or (pool(),), **more)


def as_served(body: dict[str, Any], counts: dict[int, int] | None = None) -> dict[str, Any]:
    """Return the resource as the service returns it: parsed by Google's message, with defaults."""
    message = api.PersistentResource.pb()()
    json_format.ParseDict(
        {**body, "name": "projects/1/locations/us-central1/persistentResources/gpus"}, message
    )
    message.state = 3
    for i, one in enumerate(message.resource_pools):
        one.id = one.id or f"{one.machine_spec.machine_type}-{i}"
        one.disk_spec.boot_disk_type = one.disk_spec.boot_disk_type or "pd-ssd"
        one.disk_spec.boot_disk_size_gb = one.disk_spec.boot_disk_size_gb or 100
        one.used_replica_count = 1
        if one.HasField("autoscaling_spec"):
            one.replica_count = (counts or {}).get(i, one.autoscaling_spec.min_replica_count)
    return json_format.MessageToDict(message)


machines = st.sampled_from([CPU, T4, NEW])
disks = st.none() | st.builds(
    DiskSpec,
    boot_disk_type=st.sampled_from(["", "pd-ssd", "pd-standard"]),
    boot_disk_size_gb=st.sampled_from([100, 200]),
)
pools = st.builds(
    ResourcePool,
    machine_spec=machines,
    replica_count=st.integers(2, 4),
    disk_spec=disks,
    autoscaling_spec=st.none() | st.just(TWO_TO_FOUR),
)
texts = st.none() | st.sampled_from(["", "a"])
rays = st.builds(
    RaySpec,
    image_uri=texts,
    resource_pool_images=st.dictionaries(st.sampled_from(["a", "b"]), st.just("image")),
    head_node_resource_pool_id=texts,
    ray_metric_spec=st.none() | st.builds(RayMetricSpec, disabled=st.booleans()),
    ray_logs_spec=st.none() | st.builds(RayLogsSpec, disabled=st.booleans()),
)
accounts = st.builds(ServiceAccountSpec, enable_custom_service_account=st.booleans(), service_account=texts)
resources = st.builds(
    PersistentResource,
    resource_pools=st.lists(pools, min_size=1, max_size=3).map(tuple),
    display_name=st.sampled_from(["", "GPUs"]),
    labels=st.dictionaries(st.sampled_from(["team", "cost"]), st.sampled_from(["", "a"])),
    network=texts,
    reserved_ip_ranges=st.lists(st.just("range"), max_size=1).map(tuple),
    psc_interface_config=st.none() | st.builds(PscInterfaceConfig, network_attachment=texts),
    encryption_spec=st.none() | st.builds(EncryptionSpec, kms_key_name=st.sampled_from(["", "key"])),
    resource_runtime_spec=st.none()
    | st.builds(ResourceRuntimeSpec, service_account_spec=st.none() | accounts, ray_spec=st.none() | rays),
)


@given(resources)
def test_normalise_is_idempotent(spec: PersistentResource) -> None:
    assert normalise(normalise(spec)) == normalise(spec)


@given(resources)
def test_wire_round_trip(spec: PersistentResource) -> None:
    assert as_declared(from_wire(as_served(to_wire(spec))), spec) == normalise(spec)


@given(resources)
def test_the_patch_of_an_unchanged_resource_is_empty(spec: PersistentResource) -> None:
    assert patch(spec, normalise(spec)).mask == ()


@given(resources, resources)
def test_an_update_turns_the_old_resource_into_the_new_one(
    old: PersistentResource, new: PersistentResource
) -> None:
    replaced = [name for name, effect in effects_of_changes(old, new).items() if effect is Effect.REPLACE]
    new = dataclasses.replace(new, **{name: getattr(old, name) for name in replaced})
    live = as_served(to_wire(old))
    update = patch(old, new, live=live)
    assert as_declared(from_wire(as_served({**live, **update.body})), new) == normalise(new)


@given(resources)
def test_state_round_trip(spec: PersistentResource) -> None:

    decoded = decode(PersistentResource, encode(normalise(spec)))
    assert decoded.draft is not None
    assert normalise(decoded.draft) == normalise(spec)


def test_the_size_of_an_autoscaled_pool_never_drifts() -> None:
    declared = resource(pool(autoscaling_spec=TWO_TO_FOUR))
    live = from_wire(as_served(to_wire(declared), counts={0: 4}))
    assert effects_of_changes(as_declared(live, declared), declared) == {}


def test_the_size_of_any_other_pool_drifts() -> None:
    declared = resource(pool(count=2))
    live = from_wire(as_served(to_wire(resource(pool(count=3)))))
    assert effects_of_changes(as_declared(live, declared), declared) == {"resource_pools": Effect.UPDATE}


def test_reordered_pools_are_matched_by_id() -> None:
    declared = resource(pool(id="a", count=1), pool(T4, id="b", autoscaling_spec=TWO_TO_FOUR, count=0))
    served = as_served(to_wire(declared), counts={1: 3})
    served["resourcePools"].reverse()
    live = as_declared(from_wire(served), declared)
    assert [(one.id, one.replica_count) for one in live.resource_pools] == [("b", 0), ("a", 1)]


def test_undeclared_labels_are_ignored() -> None:
    served = as_served(to_wire(resource(labels={"team": "a"}), ownership_labels={"pulumi-stack": "dev"}))
    served["labels"]["goog-system"] = "x"
    assert from_wire(served).labels == {"team": "a"}


def test_ownership_labels_survive_an_update_of_the_labels() -> None:
    update = patch(resource(), resource(labels={"team": "a"}), ownership_labels={"pulumi-stack": "dev"})
    assert (update.body, update.mask) == ({"labels": {"team": "a", "pulumi-stack": "dev"}}, ("labels",))


def test_a_new_size_is_sent_with_the_live_pools() -> None:
    live = as_served(to_wire(resource(pool(), pool(T4))))
    update = patch(resource(pool(), pool(T4)), resource(pool(), pool(T4, 5)), live=live)
    assert update.mask == ("resource_pools.replica_count",)
    sent = [(one["id"], one["replicaCount"]) for one in update.body["resourcePools"]]
    assert sent == [("n1-standard-4-0", "2"), ("n1-standard-8-1", "5")]
    assert not any("usedReplicaCount" in one for one in update.body["resourcePools"])


def test_resizing_a_pool_keeps_the_size_of_an_autoscaled_one() -> None:
    scaled = pool(T4, autoscaling_spec=TWO_TO_FOUR)
    live = as_served(to_wire(resource(pool(), scaled)), counts={1: 4})
    update = patch(resource(pool(), scaled), resource(pool(count=3), scaled), live=live)
    assert [one["replicaCount"] for one in update.body["resourcePools"]] == ["3", "4"]


@pytest.mark.parametrize(
    ("change", "effect"),
    [
        pytest.param({"display_name": "b"}, Effect.UPDATE, id="display name"),
        pytest.param({"labels": {"a": "b"}}, Effect.UPDATE, id="labels"),
        pytest.param({"resource_pools": (pool(count=5),)}, Effect.UPDATE, id="size"),
        pytest.param({"resource_pools": (pool(T4),)}, Effect.REPLACE, id="machine"),
        pytest.param({"resource_pools": (pool(), pool(T4))}, Effect.REPLACE, id="another pool"),
        pytest.param({"resource_pools": (pool(id="a"),)}, Effect.REPLACE, id="id"),
        pytest.param({"resource_pools": (pool(autoscaling_spec=TWO_TO_FOUR),)}, Effect.REPLACE, id="limits"),
        pytest.param(
            {"resource_pools": (pool(disk_spec=DiskSpec(boot_disk_size_gb=200)),)}, Effect.REPLACE, id="disk"
        ),
        pytest.param({"network": "projects/1/global/networks/n"}, Effect.REPLACE, id="network"),
        pytest.param({"encryption_spec": EncryptionSpec(kms_key_name="k")}, Effect.REPLACE, id="key"),
        pytest.param(
            {"resource_runtime_spec": ResourceRuntimeSpec(ray_spec=RaySpec())}, Effect.REPLACE, id="Ray"
        ),
    ],
)
def test_effects_of_changes(change: dict[str, Any], effect: Effect) -> None:
    old = resource()
    assert effects_of_changes(old, dataclasses.replace(old, **change)) == {next(iter(change)): effect}


def test_fields_that_cannot_change_in_place() -> None:
    with pytest.raises(ValueError, match="cannot change its network"):
        patch(resource(), resource(network="projects/1/global/networks/n"))


@pytest.mark.parametrize(
    "same",
    [
        pytest.param({"resource_pools": (pool(disk_spec=DiskSpec()),)}, id="the default disk"),
        pytest.param({"psc_interface_config": PscInterfaceConfig()}, id="an empty interface"),
        pytest.param({"resource_runtime_spec": ResourceRuntimeSpec()}, id="an empty runtime"),
        pytest.param({"network": ""}, id="no network"),
    ],
)
def test_equal_spellings(same: dict[str, Any]) -> None:
    assert effects_of_changes(resource(), dataclasses.replace(resource(), **same)) == {}


def rules(spec: PersistentResource, **options: Any) -> list[tuple[str, str]]:
    return [(one.rule, one.path) for one in validate(spec, options=CheckOptions(**options))]


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        pytest.param(resource(), [], id="right"),
        pytest.param(
            resource(pool(NEW)),
            [("machine-type", "resource_pools[0].machine_spec.machine_type")],
            id="machine",
        ),
        pytest.param(
            resource(pool(disk_spec=DiskSpec(boot_disk_size_gb=10))),
            [("disk-size", "resource_pools[0].disk_spec.boot_disk_size_gb")],
            id="disk",
        ),
        pytest.param(
            resource(pool(count=-1)),
            [("resource-pool-replicas", "resource_pools[0].replica_count")],
            id="negative",
        ),
        pytest.param(
            resource(pool(count=0, autoscaling_spec=TWO_TO_FOUR)), [], id="autoscaled without count"
        ),
        pytest.param(
            resource(pool(count=9, autoscaling_spec=TWO_TO_FOUR)),
            [("resource-pool-autoscaling", "resource_pools[0].replica_count")],
            id="count outside",
        ),
        pytest.param(
            resource(pool(autoscaling_spec=AutoscalingSpec(max_replica_count=4))),
            [("resource-pool-autoscaling", "resource_pools[0].autoscaling_spec.min_replica_count")],
            id="down to nothing",
        ),
        pytest.param(
            resource(
                pool(autoscaling_spec=AutoscalingSpec(max_replica_count=4)),
                resource_runtime_spec=ResourceRuntimeSpec(ray_spec=RaySpec(image_uri="ray")),
            ),
            [],
            id="a Ray pool down to nothing",
        ),
        pytest.param(
            resource(network="projects/p/global/networks/n"), [("network", "network")], id="network by id"
        ),
        pytest.param(
            resource(reserved_ip_ranges=("r",)),
            [("reserved-ip-ranges", "reserved_ip_ranges")],
            id="ranges of no network",
        ),
        pytest.param(
            resource(
                resource_runtime_spec=ResourceRuntimeSpec(
                    service_account_spec=ServiceAccountSpec(enable_custom_service_account=True),
                    ray_spec=RaySpec(image_uri="ray"),
                )
            ),
            [("runtime-account", "resource_runtime_spec.service_account_spec.service_account")],
            id="Ray without its account",
        ),
        pytest.param(
            resource(resource_runtime_spec=ResourceRuntimeSpec(ray_spec=RaySpec())),
            [("ray-image", "resource_runtime_spec.ray_spec.image_uri")],
            id="Ray without an image",
        ),
    ],
)
def test_rules(spec: PersistentResource, found: list[tuple[str, str]]) -> None:
    assert rules(spec) == found


def test_a_region_without_the_accelerator() -> None:
    machine = MachineSpec(machine_type="a4-highgpu-8g", accelerator_type="NVIDIA_B200", accelerator_count=8)
    found = rules(resource(pool(machine)), location="europe-west6")
    assert ("region-accelerator", "resource_pools[0].machine_spec.accelerator_type") in found


@pytest.mark.parametrize("given", ["gpus", "a", "a-1", "a" * 63])
def test_valid_ids(given: str) -> None:
    assert list(id_problems(given)) == []


@pytest.mark.parametrize("given", ["", "1a", "a-", "A", "a_b", "a" * 64])
def test_invalid_ids(given: str) -> None:
    assert [one.rule for one in id_problems(given)] == ["resource-id"]


@pytest.mark.parametrize(("text", "becomes"), [("GPU pool", "gpu-pool"), ("9 live", "live"), ("##", "")])
def test_the_nearest_id(text: str, becomes: str) -> None:
    assert valid_id(text) == becomes


def test_fields_of_the_service_are_rejected_by_name() -> None:
    problems = decode(
        PersistentResource,
        {"state": "RUNNING", "resource_pools": [{"machine_spec": {}, "used_replica_count": 1}]},
    ).problems
    reported = {one.path for one in problems if "set by the service" in one.message}
    assert reported == {"state", "resource_pools[0].used_replica_count"}


EVERYTHING: dict[str, Any] = {
    "resource_pools": [
        {"id": "a", "machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1},
        {
            "id": "b",
            "machine_spec": {
                "machine_type": "n1-standard-8",
                "accelerator_type": "NVIDIA_TESLA_T4",
                "accelerator_count": 1,
            },
            "replica_count": 2,
            "disk_spec": {"boot_disk_type": "pd-ssd", "boot_disk_size_gb": 200},
            "autoscaling_spec": {"min_replica_count": 1, "max_replica_count": 3},
        },
    ],
    "network": "projects/1/global/networks/n",
    "reserved_ip_ranges": ["r"],
    "encryption_spec": {"kms_key_name": "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"},
    "resource_runtime_spec": {
        "service_account_spec": {"enable_custom_service_account": True, "service_account": "a@p"},
        "ray_spec": {"resource_pool_images": {"a": "i", "b": "i"}, "head_node_resource_pool_id": "a"},
    },
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


@every_row("place", list(places(EVERYTHING)), ids=lambda place: ".".join(map(str, place)))
def test_an_unknown_value_breaks_no_rule(place: tuple[Any, ...]) -> None:
    hidden: Any = copy.deepcopy(EVERYTHING)
    below = hidden
    for key in place[:-1]:
        below = below[key]
    below[place[-1]] = UNKNOWN
    options = CheckOptions(location="us-central1")
    decoded = decode(PersistentResource, hidden).then(normalise, lambda spec: validate(spec, options=options))
    assert decoded.problems == ()
