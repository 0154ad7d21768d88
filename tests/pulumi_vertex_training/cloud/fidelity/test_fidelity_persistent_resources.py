"""The requests for a persistent resource equal those of Google's own clients for the same one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from google.cloud.aiplatform_v1 import PersistentResourceServiceClient
from google.cloud.aiplatform_v1 import types as api
from google.protobuf.field_mask_pb2 import FieldMask

from pulumi_vertex_training.kinds.persistent_resource import gateway as persistent_resources
from pulumi_vertex_training.kinds.persistent_resource.spec import PersistentResource, patch, to_wire
from support.client.clients.recorded_requests import Recorder, Sent, all_fields, enum_names, fields_in
from support.scripted_service import Answer, Asked
from vertex_training.fields.decode import decode

PARENT = "projects/my-project/locations/us-central1"
NAME = f"{PARENT}/persistentResources/gpus"
KEY = f"{PARENT}/keyRings/r/cryptoKeys/k"
OUTPUT_ONLY = {*PersistentResource.SERVER_OWNED, "resource_pools.used_replica_count"}
ALL = all_fields(api.PersistentResource, leave_out=OUTPUT_ONLY)

EVERYTHING: dict[str, Any] = {
    "display_name": "everything",
    "labels": {"team": "vision", "run": "a-1"},
    "resource_pools": [
        {
            "id": "head",
            "machine_spec": {
                "machine_type": "a2-highgpu-1g",
                "accelerator_type": "NVIDIA_TESLA_A100",
                "accelerator_count": 1,
                "gpu_partition_size": "1g.5gb",
                "reservation_affinity": {
                    "reservation_affinity_type": "SPECIFIC_RESERVATION",
                    "key": "compute.googleapis.com/reservation-name",
                    "values": ["projects/my-project/zones/us-central1-a/reservations/r"],
                },
            },
            "replica_count": 2,
            "disk_spec": {"boot_disk_type": "pd-standard", "boot_disk_size_gb": 200},
            "autoscaling_spec": {"min_replica_count": 1, "max_replica_count": 4},
        },
        {
            "machine_spec": {"machine_type": "ct5lp-hightpu-4t", "tpu_topology": "2x2"},
            "replica_count": 1,
            "disk_spec": {"boot_disk_type": "pd-ssd", "boot_disk_size_gb": 100},
        },
    ],
    "network": "projects/12345/global/networks/net",
    "reserved_ip_ranges": ["vertex-ai-ip-range", "second"],
    "psc_interface_config": {
        "network_attachment": "projects/my-project/regions/us-central1/networkAttachments/a",
        "dns_peering_configs": [
            {"domain": "my-internal.corp.", "target_project": "other", "target_network": "net"}
        ],
    },
    "encryption_spec": {"kms_key_name": KEY},
    "resource_runtime_spec": {
        "service_account_spec": {
            "enable_custom_service_account": True,
            "service_account": "trainer@my-project.iam.gserviceaccount.com",
        },
        "ray_spec": {
            "image_uri": "ray",
            "resource_pool_images": {"head": "ray-head"},
            "head_node_resource_pool_id": "head",
            "ray_metric_spec": {"disabled": True},
            "ray_logs_spec": {"disabled": True},
        },
    },
}
"""Every field once, more than the service would allow together."""

LEAST: dict[str, Any] = {
    "resource_pools": [
        {
            "machine_spec": {"machine_type": "n1-standard-4"},
            "replica_count": 1,
            "disk_spec": {"boot_disk_type": "pd-ssd", "boot_disk_size_gb": 100},
        }
    ]
}


def answer(asked: Asked) -> Answer:
    """Answer with a finished operation, and a read with the resource."""
    if asked.method == "GET":
        return Answer(document={"name": NAME, "state": "RUNNING"})
    operation: dict[str, Any] = {"name": f"{PARENT}/operations/99", "done": True}
    kind = "protobuf.Empty" if asked.method == "DELETE" else "cloud.aiplatform.v1.PersistentResource"
    return Answer(document={**operation, "response": {"@type": f"type.googleapis.com/google.{kind}"}})


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with Recorder(answer) as made:
        yield made


@pytest.fixture
def client(recorder: Recorder) -> PersistentResourceServiceClient:
    return recorder.client(PersistentResourceServiceClient)


def spec_of(declared: dict[str, Any]) -> PersistentResource:
    spec = decode(PersistentResource, declared).spec
    assert spec is not None
    return spec


def normal(sent: Sent) -> Sent:
    """Return a request with its body as the API's message; the name in the body repeats the path."""
    if not sent.body:
        return Sent(method=sent.method, path=sent.path, query=sent.query)
    read = sent.normal(api.PersistentResource)
    body = {name: value for name, value in read.body.items() if name != "name"}
    return Sent(method=read.method, path=read.path, query=read.query, body=body)


def ours(recorder: Recorder, declared: dict[str, Any]) -> Sent:
    persistent_resources.create(recorder.google(), "gpus", to_wire(spec_of(declared)))
    return normal(recorder.one())


def theirs(recorder: Recorder, client: PersistentResourceServiceClient, declared: dict[str, Any]) -> Sent:
    client.create_persistent_resource(
        parent=PARENT,
        persistent_resource=api.PersistentResource(**declared),
        persistent_resource_id="gpus",
    )
    return normal(recorder.one())


def test_the_resource_with_everything_has_every_field_of_the_installed_api() -> None:
    """Fail for a field that a newer API version adds, until it is declared in this module."""
    document = api.PersistentResource.to_dict(
        api.PersistentResource(**EVERYTHING), use_integers_for_enums=False
    )
    plain = {name: value for name, value in document.items() if name not in OUTPUT_ONLY}
    assert fields_in(api.PersistentResource, plain) - OUTPUT_ONLY == ALL


def test_what_we_send_has_every_field_of_the_installed_api(recorder: Recorder) -> None:
    assert fields_in(api.PersistentResource, ours(recorder, EVERYTHING).body) == ALL


@pytest.mark.parity(
    "Persistent resources: requests", same="our gateway sends what Google's generated client and the SDK send"
)
@pytest.mark.parametrize("declared", [LEAST, EVERYTHING], ids=["the least", "everything"])
def test_a_creation(
    recorder: Recorder, client: PersistentResourceServiceClient, declared: dict[str, Any]
) -> None:
    sent = ours(recorder, declared)
    assert sent == theirs(recorder, client, declared)
    assert (sent.method, sent.path, sent.query) == (
        "POST",
        f"/v1/{PARENT}/persistentResources",
        {"persistentResourceId": ["gpus"]},
    )


@pytest.mark.parametrize(
    "kind",
    sorted(enum_names(api.PersistentResource, "resource_pools.machine_spec.accelerator_type")),
)
def test_every_accelerator(recorder: Recorder, client: PersistentResourceServiceClient, kind: str) -> None:
    machine = {"machine_type": "n1-standard-4", "accelerator_type": kind, "accelerator_count": 1}
    declared = {"resource_pools": [{**LEAST["resource_pools"][0], "machine_spec": machine}]}
    assert ours(recorder, declared) == theirs(recorder, client, declared)


@pytest.mark.parity("Persistent resources: requests")
def test_what_the_sdk_sends(recorder: Recorder, sdk: Any) -> None:
    from google.cloud.aiplatform import persistent_resource

    """Its high-level class, with all that its `create` takes; it waits for the operation and reads it."""
    account = EVERYTHING["resource_runtime_spec"]["service_account_spec"]
    declared = {
        name: EVERYTHING[name]
        for name in ("display_name", "labels", "resource_pools", "network", "reserved_ip_ranges")
    }
    persistent_resource.PersistentResource.create(
        persistent_resource_id="gpus",
        **declared,
        kms_key_name=KEY,
        enable_custom_service_account=True,
        service_account=account["service_account"],
    )
    sent = normal(recorder.take()[0])
    more = {
        "encryption_spec": {"kms_key_name": KEY},
        "resource_runtime_spec": {"service_account_spec": account},
    }
    assert ours(recorder, {**declared, **more}) == sent


CHANGES = [
    pytest.param({"display_name": "b"}, ["display_name"], id="display name"),
    pytest.param({"labels": {"team": "b"}}, ["labels"], id="labels"),
    pytest.param(
        {"resource_pools": [{**LEAST["resource_pools"][0], "replica_count": 5}]},
        ["resource_pools.replica_count"],
        id="size",
    ),
    pytest.param(
        {
            "display_name": "b",
            "labels": {"team": "b"},
            "resource_pools": [{**LEAST["resource_pools"][0], "replica_count": 5}],
        },
        ["display_name", "labels", "resource_pools.replica_count"],
        id="all",
    ),
]


@pytest.mark.parity("Persistent resources: requests")
@pytest.mark.parametrize(("change", "paths"), CHANGES)
def test_an_update(
    recorder: Recorder,
    client: PersistentResourceServiceClient,
    change: dict[str, Any],
    paths: list[str],
) -> None:
    update = patch(spec_of(LEAST), spec_of({**LEAST, **change}))
    persistent_resources.patch(recorder.google(), NAME, update.body, mask=update.mask)
    sent = normal(recorder.one())
    client.update_persistent_resource(
        persistent_resource=api.PersistentResource(name=NAME, **change), update_mask=FieldMask(paths=paths)
    )
    assert sent == normal(recorder.one())
    assert (sent.method, sent.path, sent.query) == ("PATCH", f"/v1/{NAME}", {"updateMask": paths})


def test_a_reboot(recorder: Recorder, client: PersistentResourceServiceClient) -> None:
    persistent_resources.reboot(recorder.google(), NAME)
    sent = normal(recorder.one())
    client.reboot_persistent_resource(name=NAME)
    assert sent == normal(recorder.one())
    assert sent.path == f"/v1/{NAME}:reboot"


def test_a_deletion(recorder: Recorder, client: PersistentResourceServiceClient) -> None:
    persistent_resources.delete(recorder.google(), NAME)
    sent = normal(recorder.one())
    client.delete_persistent_resource(name=NAME)
    assert sent == normal(recorder.one())


def test_a_look(recorder: Recorder, client: PersistentResourceServiceClient) -> None:
    persistent_resources.get(recorder.google(), NAME)
    sent = normal(recorder.one())
    client.get_persistent_resource(name=NAME)
    assert sent == normal(recorder.one())
