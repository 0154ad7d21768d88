from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.cli.explain.documents import read_document
from pulumi_vertex_training.kinds.custom_job.forms.role_pools import POSITIONS
from support.ground.jobs import REDUCTION_SERVER
from support.tables import every_row
from vertex_training.fields.decode import UNKNOWN
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import errors
from vertex_training.topology.pools import DiskSpec, ReservationAffinity
from vertex_training.topology.roles import Role, role_of

CHIEF = {"replica_count": 1, "machine_type": "n1-standard-8"}
GPUS = {"accelerator_type": "NVIDIA_TESLA_V100", "accelerator_count": 8, "machine_type": "n1-highmem-96"}
TASK = {"container_spec": {"image_uri": "repo/trainer:1"}}


def pools(value, **options):
    document = read_document(value, options=CheckOptions(**options))
    assert errors(document.problems) == ()
    return document.spec.worker_pool_specs


def found(value, **options):
    return [
        str(problem) for problem in errors(read_document(value, options=CheckOptions(**options)).problems)
    ]


def paths(value):
    return [problem.path for problem in errors(read_document(value).problems)]


# Roles and positions.


@every_row(("name", "position"), list(POSITIONS.items()))
def test_a_role_has_a_position(name, position):
    value = {name: {"replica_count": 1, "machine_type": "n1-standard-16"}}
    value = value if position == 0 else {"chief": CHIEF, **value}
    assert [i for i, pool in enumerate(pools(value)) if not pool.is_empty] == sorted({0, position})


@pytest.mark.parametrize("name", ["parameterServer", "parameterServers", "evaluatorSpec", "workerSpec"])
def test_a_role_may_be_in_camel_case(name):
    assert len(pools({"chief": CHIEF, name: CHIEF})) > 1


@pytest.mark.parametrize(
    "empty",
    [
        pytest.param({}, id="empty"),
        pytest.param(None, id="null"),
        pytest.param({"replica_count": 0}, id="no replicas"),
        pytest.param({"replicaCount": "0", "machineType": "n1-standard-4"}, id="no replicas, as JSON has it"),
        pytest.param({"replica_count": 0.0, "accelerator_type": "K80"}, id="its machine is not judged"),
        pytest.param({"replica_count": None, "machine_type": None}, id="nothing but nulls"),
    ],
)
def test_a_role_without_replicas_is_skipped(empty):
    assert [pool.replica_count for pool in pools({"chief": CHIEF, "worker": empty, "server": CHIEF})] == [
        1,
        0,
        1,
    ]


def test_trailing_roles_without_replicas_are_trimmed():
    assert len(pools({"chief": CHIEF, "evaluator": {}})) == 1


def test_roles_may_be_combined_with_fields_of_a_job():
    document = read_document({"displayName": "digits", "chief": CHIEF, "scheduling": {"timeout": "60s"}})
    assert document.problems == ()
    assert (document.spec.display_name, document.spec.scheduling.timeout) == ("digits", "60s")


# Fields.


@pytest.mark.parametrize(
    ("fields", "attribute", "value"),
    [
        pytest.param({}, "machine_type", "n1-standard-4", id="the machine of Google's SDK"),
        pytest.param({"machine_type": "n1-highmem-8"}, "machine_type", "n1-highmem-8", id="machine"),
        pytest.param({"machineType": "n1-highmem-8"}, "machine_type", "n1-highmem-8", id="camel case"),
        pytest.param(
            {"boot_disk_size_gb": 200},
            "disk_spec",
            DiskSpec(boot_disk_type="pd-ssd", boot_disk_size_gb=200),
            id="disk size",
        ),
        pytest.param(
            {"boot_disk_type": "pd-standard"},
            "disk_spec",
            DiskSpec(boot_disk_type="pd-standard", boot_disk_size_gb=100),
            id="disk type",
        ),
        pytest.param(
            {"disk_spec": {"boot_disk_size_gb": 300}},
            "disk_spec",
            DiskSpec(boot_disk_type="pd-ssd", boot_disk_size_gb=300),
            id="a disk as the API's message",
        ),
        pytest.param(
            {"machine_spec": {"machine_type": "n1-highmem-8"}},
            "machine_type",
            "n1-highmem-8",
            id="a machine as the API's message",
        ),
    ],
)
def test_a_role_has_fields(fields, attribute, value):
    assert getattr(pools({"chief": {"replica_count": 1, **fields}})[0], attribute) == value


@pytest.mark.parametrize(
    ("fields", "attribute", "value"),
    [
        pytest.param(GPUS, "accelerator_type", "NVIDIA_TESLA_V100", id="accelerator type"),
        pytest.param(GPUS, "accelerator_count", 8, id="accelerator count"),
        pytest.param(
            {"machine_type": "ct5lp-hightpu-4t", "tpu_topology": "2x2"},
            "tpu_topology",
            "2x2",
            id="TPU topology",
        ),
        pytest.param(
            {
                "reservation_affinity_type": "SPECIFIC_RESERVATION",
                "reservation_affinity_key": "compute.googleapis.com/reservation-name",
                "reservation_affinity_values": ["projects/p/zones/us-central1-a/reservations/r"],
            },
            "reservation_affinity",
            ReservationAffinity(
                reservation_affinity_type="SPECIFIC_RESERVATION",
                key="compute.googleapis.com/reservation-name",
                values=("projects/p/zones/us-central1-a/reservations/r",),
            ),
            id="reservation",
        ),
    ],
)
def test_a_role_has_fields_of_its_machine(fields, attribute, value):
    assert getattr(pools({"chief": fields})[0].machine_spec, attribute) == value


def test_a_chief_is_one_replica():
    assert pools({"chief": {"machine_type": "n1-standard-4"}})[0].replica_count == 1


@pytest.mark.parametrize("name", ["worker", "server", "evaluator"])
def test_others_have_to_say_how_many_they_are(name):
    assert found({"chief": CHIEF, name: {"machine_type": "n1-standard-4"}}) == [
        f"{name}.replica_count: is missing; give a number, 0 leaves it out"
    ]


# Findings name what was written.


@every_row(
    ("value", "path"),
    [
        pytest.param({"worker": CHIEF}, "chief", id="no chief"),
        pytest.param({"chief": {**CHIEF, "replica_count": 2}}, "chief.replica_count", id="two chiefs"),
        pytest.param(
            {"chief_spec": {**CHIEF, "replica_count": 2}}, "chief_spec.replica_count", id="as written"
        ),
        pytest.param(
            {"chief": CHIEF, "worker": {**CHIEF, "accelerator_type": "NVIDIA_TESLA_T4"}},
            "worker.accelerator_count",
            id="no accelerator count",
        ),
        pytest.param(
            {"chief": CHIEF, "workers": {**CHIEF, "accelerator_count": 2}},
            "workers.accelerator_type",
            id="no accelerator type",
        ),
        pytest.param(
            {"chief": {**CHIEF, "boot_disk_size_gb": 1}}, "chief.boot_disk_size_gb", id="a disk too small"
        ),
        pytest.param(
            {"chief": {**CHIEF, "machine_type": "x9-big-1"}}, "chief.machine_type", id="machine type"
        ),
        pytest.param(
            {"chief": {"machine_spec": {"machine_type": "x9-big-1"}}},
            "chief.machine_spec.machine_type",
            id="machine type in the API's message",
        ),
        pytest.param(
            {"chief": {**CHIEF, "reservation_affinity_type": "SPECIFIC_RESERVATION"}},
            "chief.reservation_affinity_key",
            id="no reservation key",
        ),
        pytest.param(
            {"chief": {**CHIEF, "reservation_affinity_values": "r"}},
            "chief.reservation_affinity_values",
            id="reservation values of the wrong type",
        ),
        pytest.param(
            {"chief": {**CHIEF, **TASK}, "worker": CHIEF}, "worker", id="a task here and none there"
        ),
        pytest.param(
            {"chief": {**CHIEF, "container_spec": {"image_uri": "a b"}}},
            "chief.container_spec.image_uri",
            id="a wrong image",
        ),
        pytest.param({"chief": {**CHIEF, "replica_count": "many"}}, "chief.replica_count", id="no number"),
        pytest.param({"chief": [3]}, "chief", id="no mapping"),
        pytest.param(
            {"chief": {**CHIEF, "machine_tpe": "n1-standard-4"}}, "chief.machine_tpe", id="no such field"
        ),
        pytest.param({"chief": {**CHIEF, 3: 4}}, "chief", id="a field that is no text"),
        pytest.param({"chief": CHIEF, "wroker": CHIEF}, "wroker", id="no such role"),
        pytest.param({"chief": CHIEF, "labels": {"A": "b"}}, "labels.A", id="beside the roles"),
    ],
)
def test_a_finding_has_the_path_that_was_written(value, path):
    assert path in paths(value)


def test_a_misspelt_field_is_reported_once():
    assert found({"chief": CHIEF, "worker": {"replica_cont": 2}}) == [
        "worker.replica_cont: 'replica_cont' is not a field of a role; did you mean replica_count?"
    ]


def test_a_value_that_is_not_known_yet_is_not_judged():
    assert found({"chief": {**CHIEF, "machine_type": UNKNOWN}, "worker": UNKNOWN}) == []


# What would be dropped is refused.


@pytest.mark.parametrize(
    ("value", "finding"),
    [
        pytest.param(
            {"chief": CHIEF, "worker": CHIEF, "workers": CHIEF},
            "workers: is declared together with worker, but both are the same worker pool; keep one",
            id="one role in two names",
        ),
        pytest.param(
            {"chief": CHIEF, "parameter_servers": CHIEF, "reduction_servers": CHIEF},
            "reduction_servers: is declared together with parameter_servers, but both are the third worker "
            "pool, which is for one kind of server; keep one",
            id="two kinds of servers",
        ),
        pytest.param(
            {"chief": {**CHIEF, "machine_spec": {"machine_type": "n1-standard-4"}}},
            "chief.machine_type: is given together with machine_spec; write it in machine_spec",
            id="a machine in two spellings",
        ),
        pytest.param(
            {"chief": {**CHIEF, "disk_spec": {}, "boot_disk_size_gb": 200}},
            "chief.boot_disk_size_gb: is given together with disk_spec; write it in disk_spec",
            id="a disk in two spellings",
        ),
        pytest.param(
            {"chief": {**CHIEF, "machineType": "n1-standard-4"}},
            "chief.machine_type: is given twice, the second time as machineType; keep one",
            id="a field in two spellings",
        ),
    ],
)
def test_nothing_is_dropped_silently(value, finding):
    assert finding in found(value)


def test_auto_for_another_role_reads_well_without_servers():
    roles = {"chief": CHIEF, "worker": {"replica_count": "auto"}}
    assert found(roles) == [
        'worker.replica_count: "auto" counts reduction servers, which are the third worker pool; give a '
        "number here"
    ]


def test_one_of_two_kinds_of_servers_may_be_empty():
    assert len(pools({"chief": CHIEF, "parameter_servers": {}, "reduction_servers": CHIEF})) == 3


# Tasks.


def test_roles_without_tasks_are_not_asked_for_them():
    assert pools({"chief": CHIEF, "worker": CHIEF})[0].task is None


def test_roles_with_tasks_are_pools():
    assert pools({"chief": {**CHIEF, **TASK}})[0].task.image_uri == "repo/trainer:1"


# Reduction servers.


@pytest.mark.parametrize(
    ("entry", "replicas"),
    [
        pytest.param("auto", 16, id="auto"),
        pytest.param({"replica_count": "auto"}, 16, id="auto as a count"),
        pytest.param({"replicaCount": "auto", "machineType": "n1-highcpu-32"}, 16, id="auto on a machine"),
        pytest.param({"replica_count": 20}, 20, id="a number"),
    ],
)
@pytest.mark.parametrize("name", ["reduction_server", "reduction_servers", "reductionServers"])
def test_reduction_servers_run_the_reduction_server(name, entry, replicas):
    chief, workers = {**GPUS, "replica_count": 1}, {**GPUS, "replica_count": 4}
    servers = pools({"chief": chief, "worker": workers, name: entry})[2]
    assert servers.replica_count == replicas
    assert servers.container_spec.image_uri == REDUCTION_SERVER
    assert role_of(2, servers) is Role.REDUCTION_SERVER


@pytest.mark.parametrize("name", ["server", "servers"])
def test_servers_that_are_counted_are_reduction_servers(name):
    chief, workers = {**GPUS, "replica_count": 1}, {**GPUS, "replica_count": 4}
    assert role_of(2, pools({"chief": chief, "worker": workers, name: "auto"})[2]) is Role.REDUCTION_SERVER


def test_other_servers_are_parameter_servers():
    assert role_of(2, pools({"chief": CHIEF, "server": CHIEF})[2]) is Role.PARAMETER_SERVER


def test_reduction_servers_have_the_recommended_machine():
    servers = pools(
        {"chief": GPUS, "worker": {**GPUS, "replica_count": 1}, "reduction_server": {"replica_count": 8}}
    )
    assert servers[2].machine_type == "n1-highcpu-16"


def test_reduction_servers_have_the_image_of_the_region():
    value = {"chief": GPUS, "worker": {**GPUS, "replica_count": 1}, "reduction_server": {"replica_count": 8}}
    image = pools(value, location="europe-west4")[2].container_spec.image_uri
    assert image.startswith("europe-docker.pkg.dev/")


@pytest.mark.parametrize(
    ("value", "path"),
    [
        pytest.param(
            {"chief": CHIEF, "worker": {"replica_count": "auto"}}, "worker.replica_count", id="workers"
        ),
        pytest.param({"chief": {"replica_count": "auto"}}, "chief.replica_count", id="chief"),
        pytest.param(
            {"chief": CHIEF, "parameter_servers": {"replica_count": "auto"}},
            "parameter_servers.replica_count",
            id="parameter servers",
        ),
        pytest.param(
            {"chief": CHIEF, "parameter_servers": "auto"}, "parameter_servers.replica_count", id="short"
        ),
        pytest.param({"chief": CHIEF, "evaluator": "auto"}, "evaluator", id="no short form elsewhere"),
    ],
)
def test_nothing_else_can_be_counted(value, path):
    assert paths(value) == [path]


def test_an_image_that_is_no_reduction_server_is_remarked_on():
    servers = {"replica_count": 8, "container_spec": {"image_uri": "repo/trainer:1"}}
    value = {
        "chief": {**GPUS, **TASK},
        "worker": {**GPUS, **TASK, "replica_count": 1},
        "reduction_server": servers,
    }
    document = read_document(value)
    assert errors(document.problems) == ()
    assert "reduction_server.container_spec.image_uri" in [problem.path for problem in document.problems]


# The old SDK.

ROLE_NAMES = ("chief_spec", "worker_spec", "parameter_server_spec", "evaluator_spec")


def sdk_pool_specs(specs):
    """Convert machine specs as Google's SDK did when it got distributed training.

    An empty pool between used ones is the whole pool with a count of 0; trailing ones are dropped.
    """
    made = []
    for name in ROLE_NAMES:
        spec = specs[name]
        machine = {"machineType": spec["machine_type"]}
        if spec["accelerator_type"] != "ACCELERATOR_TYPE_UNSPECIFIED" and spec["accelerator_count"]:
            machine["acceleratorType"] = spec["accelerator_type"]
            machine["acceleratorCount"] = spec["accelerator_count"]
        made.append({"machineSpec": machine, "replicaCount": spec["replica_count"]})
    while made and made[-1]["replicaCount"] <= 0:
        made.pop()
    return made


sdk_specs = st.fixed_dictionaries(
    {
        name: st.fixed_dictionaries(
            {
                "replica_count": st.integers(0, 5) if name != "chief_spec" else st.just(1),
                "machine_type": st.sampled_from(["n1-standard-4", "n1-highmem-8"]),
                "accelerator_count": st.shared(st.integers(0, 2), key="count"),
                "accelerator_type": st.shared(st.integers(0, 2), key="count").map(
                    lambda count: "NVIDIA_TESLA_T4" if count else "ACCELERATOR_TYPE_UNSPECIFIED"
                ),
            }
        )
        for name in ROLE_NAMES
    }
)


@given(sdk_specs)
def test_roles_are_what_the_old_sdk_made_of_them(specs):
    ours = read_document(specs)
    old = read_document({"workerPoolSpecs": sdk_pool_specs(specs)}, options=CheckOptions(with_tasks=False))
    assert errors(ours.problems) == errors(old.problems) == ()
    assert ours.spec.worker_pool_specs == old.spec.worker_pool_specs


@pytest.mark.parametrize(
    ("value", "said"),
    [
        pytest.param({"chief": CHIEF, "ps": {"replica_count": 2}}, "did you mean parameter_server?", id="ps"),
        pytest.param({"master": CHIEF, "worker": 2}, "did you mean chief?", id="master"),
        pytest.param(
            {"chief": {"image_uri": "i"}, "worker": {"replica_count": 1, **TASK}},
            "write container_spec: {image_uri: ...}",
            id="a flat image",
        ),
        pytest.param(
            {"chief": {"python_module": "m"}},
            "write python_package_spec: {python_module: ...}",
            id="a module",
        ),
        pytest.param(
            {"chief": {"machine_tpe": "n1-standard-4", "machine_type": "n1-standard-4"}},
            "did you mean machine_type",
            id="a field beside its misspelling",
        ),
    ],
)
def test_a_mistake_is_one_finding(value, said):
    (problem,) = read_document(value).problems
    assert said in problem.message


def test_a_number_is_a_count():
    counts = [pool.replica_count for pool in read_document({"chief": 1, "worker": 3}).spec.worker_pool_specs]
    assert counts == [1, 3]
