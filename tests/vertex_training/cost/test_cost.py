"""The cost of jobs, tuning jobs and persistent resources. Totals are compared with published ones."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables import every_row
from vertex_training.catalog.machines import MACHINES
from vertex_training.catalog.regions import REGIONS
from vertex_training.cost.cost import (
    DEFAULT_TIMEOUT_SECONDS,
    Cost,
    cost_of_job,
    cost_of_persistent_resource,
    cost_of_pools,
    cost_of_tuning_job,
    declared_timeout,
    to_json,
    total,
)
from vertex_training.cost.prices import Price, Use, built_in, table_of, with_fees
from vertex_training.cost.words import decimal, usd
from vertex_training.job.job_spec import JobSpec, Scheduling
from vertex_training.study.study import MetricSpec, StudySpec
from vertex_training.study.tuning import TuningSpec
from vertex_training.topology.pools import DiskSpec, MachineSpec, WorkerPoolSpec
from vertex_training.topology.rules.resource_pools import AutoscalingSpec, ResourcePool

TABLE = built_in()
DISK_OF_100_GB = 100 * 0.17 * 1.15 / 730
IOWA = "us-central1"


def pool(
    machine: str, accelerator: str | None = None, count: int = 0, *, replicas: int = 1, disk: int = 100
) -> WorkerPoolSpec:
    return WorkerPoolSpec(
        machine_spec=MachineSpec(machine_type=machine, accelerator_type=accelerator, accelerator_count=count),
        replica_count=replicas,
        disk_spec=DiskSpec(boot_disk_type="pd-ssd", boot_disk_size_gb=disk),
    )


def job(*pools: WorkerPoolSpec, **scheduling: str) -> JobSpec:
    return JobSpec(
        worker_pool_specs=pools,
        scheduling=Scheduling(**scheduling) if scheduling else None,  # type: ignore[arg-type]
    )


def cost(spec: JobSpec, region: str | None = IOWA) -> Cost:
    return cost_of_job(spec, region=region, table=TABLE)


@every_row(
    "machine, accelerator, count, region, published, source",
    [
        ("n1-standard-4", None, 0, IOWA, 0.21849885, "Vertex AI pricing page"),
        ("n1-standard-4", None, 0, "asia-southeast1", 0.269544, "Vertex AI pricing page"),
        ("n1-standard-4", "NVIDIA_TESLA_T4", 1, IOWA, 0.21849885 + 0.4025, "Vertex AI pricing page"),
        ("n1-standard-4", "NVIDIA_TESLA_T4", 4, IOWA, 0.21849885 + 4 * 0.4025, "Vertex AI pricing page"),
        ("a3-highgpu-8g", "NVIDIA_H100_80GB", 8, IOWA, 101.007, "billing report"),
    ],
)
def test_a_machine_costs_what_is_published(
    machine: str, accelerator: str | None, count: int, region: str, published: float, source: str
) -> None:
    found = cost(job(pool(machine, accelerator, count)), region)
    disk = next(item.hourly for item in found.items if item.path.endswith("disk_spec"))
    assert found.hourly is not None
    assert found.hourly - disk == pytest.approx(published, abs=0.0005 if published > 100 else 2e-6), source


@every_row("strategy, published", [(None, 101.5429684), ("FLEX_START", 52.0306163)])
def test_a_published_bill_of_an_a3_machine_with_a_disk_of_2000_gb(
    strategy: str | None, published: float
) -> None:
    scheduling = {"strategy": strategy} if strategy else {}
    found = cost(job(pool("a3-highgpu-8g", "NVIDIA_H100_80GB", 8, disk=2000), **scheduling))
    assert found.hourly == pytest.approx(published, abs=2e-4)
    assert found.unknown == ()


def test_a_published_price_of_a_machine_with_spot() -> None:
    found = cost(job(pool("n1-standard-4"), strategy="SPOT"), "asia-southeast1")
    disk = next(item.hourly for item in found.items if item.path.endswith("disk_spec"))
    assert found.hourly is not None
    assert found.hourly - disk == pytest.approx(0.091783, abs=1e-6)


def test_spot_is_the_discounted_price_plus_the_undiscounted_fee() -> None:
    # 0.234386 on demand and 0.091783 for Spot were published for n1-standard-4 in Singapore.
    prices: list[tuple[str, Use, float]] = [
        ("n1-standard vcpu", "on_demand", 0.234386 / 4),
        ("n1-standard vcpu", "spot", 0.0566251 / 4),
        ("pd-ssd", "on_demand", 0.0001),
    ]
    table = with_fees(
        table_of(
            Price(
                sku=sku,
                region="asia-southeast1",
                use=use,
                usd_per_hour=price,
                source="page",
                date="2026-11-23",
            )
            for sku, use, price in prices
        )
    )
    spec = job(pool("n1-standard-4"), strategy="SPOT")
    found = cost_of_job(spec, region="asia-southeast1", table=table)
    assert found.hourly is not None
    assert found.hourly - 100 * 0.0001 * 1.15 == pytest.approx(0.091783, abs=1e-6)


def test_the_items_name_fields_and_add_up() -> None:
    spec = job(pool("n1-standard-4", "NVIDIA_TESLA_T4", 2), pool("n2-highmem-8", replicas=3))
    found = cost(spec)
    assert [(item.path, item.what) for item in found.items] == [
        ("worker_pool_specs[0].machine_spec.machine_type", "n1-standard-4"),
        ("worker_pool_specs[0].machine_spec.accelerator_type", "2 x NVIDIA_TESLA_T4"),
        ("worker_pool_specs[0].disk_spec", "100 GB pd-ssd"),
        ("worker_pool_specs[0].machine_spec", "management fee"),
        ("worker_pool_specs[1].machine_spec.machine_type", "3 x n2-highmem-8"),
        ("worker_pool_specs[1].disk_spec", "3 x 100 GB pd-ssd"),
        ("worker_pool_specs[1].machine_spec", "3 x management fee"),
    ]
    assert found.hourly == pytest.approx(sum(item.hourly for item in found.items))
    assert found.items[1].derived is False
    assert found.items[3].derived is True


@every_row(
    "scheduling, seconds",
    [
        ({}, DEFAULT_TIMEOUT_SECONDS),
        ({"strategy": "SPOT"}, DEFAULT_TIMEOUT_SECONDS),
        ({"timeout": "3600s"}, 3600),
        ({"timeout": "0s"}, DEFAULT_TIMEOUT_SECONDS),
        ({"timeout": "90.5s"}, 91),
        ({"timeout": "0.5s"}, 1),
        ({"timeout": "a day"}, DEFAULT_TIMEOUT_SECONDS),
        ({"timeout": "inf"}, DEFAULT_TIMEOUT_SECONDS),
    ],
)
def test_the_cost_until_the_timeout(scheduling: dict[str, str], seconds: int) -> None:
    found = cost(job(pool("n1-standard-4"), **scheduling))
    assert found.timeout_seconds == seconds
    assert found.is_default_timeout == (seconds == DEFAULT_TIMEOUT_SECONDS)
    assert found.hourly is not None
    assert found.per_timeout == pytest.approx(found.hourly * seconds / 3600)


def test_no_scheduling_declares_no_timeout() -> None:
    assert declared_timeout(None) is None


@every_row(
    "spec, region, path, why",
    [
        (
            job(pool("m1-megamem-96")),
            IOWA,
            "worker_pool_specs[0].machine_spec.machine_type",
            "no price on demand in us-central1 is known",
        ),
        (
            job(pool("n1-standard-4"), pool("z9-mega-7")),
            IOWA,
            "worker_pool_specs[1].machine_spec.machine_type",
            "the machine type is not in the tables",
        ),
        (
            job(pool("a2-highgpu-1g", "NVIDIA_TESLA_A100", 1)),
            IOWA,
            "worker_pool_specs[0].machine_spec.machine_type",
            "no source has this fee",
        ),
        (
            job(pool("n1-standard-4"), strategy="FLEX_START"),
            IOWA,
            "worker_pool_specs[0].machine_spec.machine_type",
            "no Flex-start price in us-central1 is known",
        ),
        (
            job(pool("n1-standard-4")),
            None,
            "worker_pool_specs[0].machine_spec.machine_type",
            "the region is not known",
        ),
        (
            job(pool("cloud-tpu", "TPU_V3", 32)),
            IOWA,
            "worker_pool_specs[0].machine_spec.accelerator_type",
            "a pod has a price of its own",
        ),
    ],
)
def test_what_has_no_price_is_a_gap_and_leaves_the_sum_open(
    spec: JobSpec, region: str | None, path: str, why: str
) -> None:
    found = cost(spec, region)
    assert (found.hourly, found.per_timeout, found.most_hourly) == (None, None, None)
    assert (path, why) in [(gap.path, gap.why) for gap in found.unknown]
    assert found.known_hourly == pytest.approx(sum(item.hourly for item in found.items))


def test_the_known_parts_stay_when_another_has_no_price() -> None:
    found = cost(job(pool("n1-standard-4"), pool("z9-mega-7")))
    alone = cost(job(pool("n1-standard-4")))
    assert found.known_hourly >= (alone.hourly or 0) > 0


def test_a_machine_has_its_accelerators_also_if_nobody_declares_them() -> None:
    bare, declared = job(pool("g2-standard-24")), job(pool("g2-standard-24", "NVIDIA_L4", 2))
    assert cost(bare) == cost(declared)


def tpu(machine: str, topology: str | None, *, replicas: int = 1) -> WorkerPoolSpec:
    spec = MachineSpec(machine_type=machine, tpu_topology=topology)
    return replace(pool(machine, replicas=replicas), machine_spec=spec)


@every_row(
    "machine, topology, machines, chips, price",
    [
        ("ct5lp-hightpu-1t", "1x1", 1, 1, 1.2),
        ("ct5lp-hightpu-4t", "2x2", 1, 4, 1.2),
        ("ct5lp-hightpu-4t", "4x8", 8, 32, 1.2),
        ("ct5lp-hightpu-4t", "16x16", 64, 256, 1.2),
        ("ct5lp-hightpu-8t", "2x4", 1, 8, 1.2),
        ("ct5lp-hightpu-4t", "4x16", 16, 64, 1.2),  # not in the tables: the chips count
        ("ct6e-standard-4t", "8x16", 32, 128, 2.7),
        ("ct6e-standard-8t", "2x4", 1, 8, 2.7),
    ],
)
def test_a_tpu_slice_costs_all_of_its_machines(
    machine: str, topology: str, machines: int, chips: int, price: float
) -> None:
    found = cost(job(tpu(machine, topology)))
    of_machines, disks = found.items
    assert of_machines.hourly == pytest.approx(chips * price)
    assert disks.hourly == pytest.approx(machines * DISK_OF_100_GB)
    several = f"{machines} x " if machines > 1 else ""
    assert (of_machines.what, disks.what) == (f"{several}{machine}", f"{several}100 GB pd-ssd")


def test_what_multiplies_machines_multiplies_tpu_slices() -> None:
    slice_of_8 = tpu("ct5lp-hightpu-4t", "4x8")
    one = cost(job(slice_of_8)).known_hourly
    trials = cost_of_tuning_job(tuning(job(slice_of_8), trials=9, parallel=3), region=IOWA, table=TABLE)
    assert slice_of_8.machine_spec is not None
    kept = ResourcePool(
        machine_spec=slice_of_8.machine_spec,
        disk_spec=slice_of_8.disk_spec,
        replica_count=1,
        autoscaling_spec=AutoscalingSpec(min_replica_count=1, max_replica_count=3),
    )
    machines = cost_of_persistent_resource((kept,), region=IOWA, table=TABLE)
    spot = cost(job(slice_of_8, strategy="SPOT"))
    assert one == pytest.approx(38.4 + 8 * DISK_OF_100_GB)
    assert trials.known_hourly == pytest.approx(3 * one)
    assert trials.known_per_timeout == pytest.approx(9 * 168 * one)
    assert (machines.known_hourly, machines.known_most_hourly) == (pytest.approx(one), pytest.approx(3 * one))
    assert spot.items[0].hourly == pytest.approx(32 * 0.24492625)


@every_row(
    "topology, why",
    [(None, "the topology is missing"), ("large", "'large' is not a topology"), ("0x4", None)],
)
def test_tpus_without_a_topology_are_a_gap_and_not_one_machine(topology: str | None, why: str | None) -> None:
    found = cost(job(tpu("ct6e-standard-4t", topology)))
    assert found.hourly is None
    assert found.unknown[0].path == "worker_pool_specs[0].machine_spec.tpu_topology"
    assert found.unknown[0].why == (why or "'0x4' is not a topology")


@every_row(
    "accelerator, count, machines",
    [("TPU_V2", 8, 1), ("TPU_V3", 8, 1), ("TPU_V2", 32, 4), ("TPU_V3", 2048, 256)],
)
def test_a_pod_has_the_disks_of_all_its_hosts(accelerator: str, count: int, machines: int) -> None:
    found = cost(job(pool("cloud-tpu", accelerator, count)))
    disks = next(item for item in found.items if item.path.endswith("disk_spec"))
    assert disks.hourly == pytest.approx(machines * DISK_OF_100_GB)


def test_a_machine_costs_its_fixed_gpus_whatever_is_declared() -> None:
    whole = cost(job(pool("a3-highgpu-8g", "NVIDIA_H100_80GB", 8)))
    for declared in (pool("a3-highgpu-8g", "NVIDIA_H100_80GB", 1), pool("a3-highgpu-8g", "NVIDIA_L4", 0)):
        assert cost(job(declared)) == whole


def test_local_ssds_are_billed_for_spot_alone() -> None:
    on_demand, spot = (
        cost(job(pool("a3-highgpu-2g", "NVIDIA_H100_80GB", 2), **scheduling))
        for scheduling in ({}, {"strategy": "SPOT"})
    )
    assert "1500 GiB local SSD" not in [item.what for item in on_demand.items]
    assert "1500 GiB local SSD" in [item.what for item in spot.items]


@every_row("old, new", [("LOW_COST", "SPOT"), ("ON_DEMAND", "STANDARD")])
def test_old_names_of_strategies(old: str, new: str) -> None:
    spec = pool("n1-standard-4")
    assert cost(job(spec, strategy=old)) == cost(job(spec, strategy=new))


def test_a_job_on_a_persistent_resource_costs_nothing_more() -> None:
    found = cost(replace(job(pool("n1-standard-4")), persistent_resource_id="shared"))
    assert (found.hourly, found.per_timeout, found.items, found.unknown) == (0.0, 0.0, (), ())


def test_empty_pools_cost_nothing() -> None:
    found = cost(job(pool("n1-standard-4"), WorkerPoolSpec(), pool("n1-standard-4", replicas=0)))
    assert found == cost(job(pool("n1-standard-4")))


def tuning(spec: JobSpec, *, trials: int, parallel: int) -> TuningSpec:
    study = StudySpec(metrics=(MetricSpec(metric_id="loss", goal="MINIMIZE"),), parameters=())
    return TuningSpec(
        study_spec=study, max_trial_count=trials, parallel_trial_count=parallel, trial_job_spec=spec
    )


@every_row("trials, parallel, at_once", [(20, 4, 4), (3, 8, 3), (1, 1, 1)])
def test_a_tuning_job_costs_its_parallel_trials_and_at_most_all_of_them(
    trials: int, parallel: int, at_once: int
) -> None:
    spec = job(pool("n1-standard-4"), timeout="7200s")
    one = cost(spec)
    found = cost_of_tuning_job(tuning(spec, trials=trials, parallel=parallel), region=IOWA, table=TABLE)
    assert one.hourly is not None
    assert found.hourly == pytest.approx(one.hourly * at_once)
    assert (found.per_timeout, found.trials) == (pytest.approx(one.hourly * 2 * trials), trials)
    assert found.hourly == pytest.approx(sum(item.hourly for item in found.items))
    assert found.items[0].path == "trial_job_spec.worker_pool_specs[0].machine_spec.machine_type"
    assert found.items[0].what == (
        "n1-standard-4" if at_once == 1 else f"{at_once} trials with n1-standard-4"
    )


def test_a_tuning_job_without_a_price_names_the_trials_field() -> None:
    found = cost_of_tuning_job(tuning(job(pool("z9-mega-7")), trials=2, parallel=2), region=IOWA, table=TABLE)
    assert found.hourly is None
    assert found.unknown[0].path == "trial_job_spec.worker_pool_specs[0].machine_spec.machine_type"


def test_a_persistent_resource_costs_its_idle_machines_and_at_most_the_largest_size() -> None:
    machine = MachineSpec(machine_type="n1-standard-4")
    disk = DiskSpec(boot_disk_type="pd-ssd")
    fixed = ResourcePool(machine_spec=machine, replica_count=2, disk_spec=disk)
    scaled = ResourcePool(
        machine_spec=machine,
        replica_count=3,
        disk_spec=disk,
        autoscaling_spec=AutoscalingSpec(min_replica_count=1, max_replica_count=8),
    )
    one = cost(job(pool("n1-standard-4"))).hourly
    assert one is not None
    found = cost_of_persistent_resource((fixed, scaled), region=IOWA, table=TABLE)
    assert found.hourly == pytest.approx(3 * one)
    assert found.most_hourly == pytest.approx(10 * one)
    assert (found.per_timeout, found.timeout_seconds) == (None, None)
    assert found.items[0].path == "resource_pools[0].machine_spec.machine_type"


def test_a_pool_that_may_shrink_to_nothing_has_its_gaps_and_its_maximum() -> None:
    pools = [
        ResourcePool(
            machine_spec=MachineSpec(machine_type="n1-standard-4"),
            autoscaling_spec=AutoscalingSpec(min_replica_count=0, max_replica_count=4),
        ),
        ResourcePool(
            machine_spec=MachineSpec(
                machine_type="a2-highgpu-1g", accelerator_type="NVIDIA_TESLA_A100", accelerator_count=1
            ),
            autoscaling_spec=AutoscalingSpec(min_replica_count=0, max_replica_count=2),
        ),
    ]
    found = cost_of_persistent_resource(pools, region=IOWA, table=TABLE)
    assert (found.hourly, found.most_hourly, found.items) == (0, None, ())
    assert {gap.path for gap in found.unknown} == {
        "resource_pools[1].machine_spec.machine_type",
        "resource_pools[1].machine_spec.accelerator_type",
    }
    of_n1 = sum(item.hourly for item in found.most_items if item.path.startswith("resource_pools[0]"))
    assert of_n1 == pytest.approx(4 * (0.21849885 + DISK_OF_100_GB), abs=1e-5)
    a2 = 12 * 0.03161104 + 85 * 0.004237 + 2.93390812 + DISK_OF_100_GB
    assert found.known_most_hourly == pytest.approx(of_n1 + 2 * a2)


def test_a_part_with_prices_of_two_sources_keeps_the_date_of_each() -> None:
    newer = Price(
        sku="n1 core", region=IOWA, use="on_demand", usd_per_hour=0.03, source="page", date="2027-01-01"
    )
    found = cost_of_job(job(pool("n1-standard-4")), region=IOWA, table=TABLE.with_rows([newer]))
    machine = found.items[0]
    ram = TABLE.rows["n1 ram", IOWA, "on_demand"]
    assert machine.sources == (("page", "2027-01-01"), (ram.source, ram.date))
    assert (machine.source, machine.date) == (f"page; {ram.source}", ram.date)


def test_the_known_part_of_a_run_without_all_prices() -> None:
    spec = job(pool("a2-highgpu-1g", "NVIDIA_TESLA_A100", 1), timeout="7200s")
    found = cost(spec)
    assert found.per_timeout is None
    assert found.known_per_timeout == pytest.approx(2 * found.known_hourly)
    trials = cost_of_tuning_job(tuning(spec, trials=6, parallel=2), region=IOWA, table=TABLE)
    assert trials.known_per_timeout == pytest.approx(6 * 2 * found.known_hourly)


def test_the_total_of_several_costs() -> None:
    first = cost(job(pool("n1-standard-4"), timeout="3600s"))
    idle = cost_of_persistent_resource(
        (ResourcePool(machine_spec=MachineSpec(machine_type="n1-standard-4"), replica_count=1),),
        region=IOWA,
        table=TABLE,
    )
    both = total([first, idle])
    assert first.hourly is not None and idle.hourly is not None
    assert both.hourly == pytest.approx(first.hourly + idle.hourly)
    assert both.per_timeout == first.per_timeout
    assert len(both.items) == len(first.items) + len(idle.items)
    unknown = total([first, cost(job(pool("z9-mega-7")))])
    assert (unknown.hourly, unknown.per_timeout) == (None, None)
    assert unknown.unknown
    assert total([]).hourly == 0


def test_the_json_of_a_cost() -> None:
    document = to_json(cost(job(pool("n1-standard-4", "NVIDIA_TESLA_T4", 1), timeout="3600s")))
    assert document["currency"] == "USD"
    assert document["hourly"] == pytest.approx(0.621 + DISK_OF_100_GB, abs=1e-3)
    assert document["perTimeout"] == document["hourly"]
    assert document["unknown"] == []
    assert set(document["items"][0]) == {"path", "what", "hourly", "source", "date", "derived"}
    assert "mostHourly" not in document
    gap = to_json(cost(job(pool("z9-mega-7"))))
    assert gap["hourly"] is None
    assert set(gap["unknown"][0]) == {"path", "what", "why"}


@given(
    machine=st.sampled_from(sorted(MACHINES)),
    region=st.sampled_from(sorted(REGIONS)),
    replicas=st.integers(1, 500),
    strategy=st.sampled_from([None, "SPOT", "FLEX_START"]),
)
def test_any_machine_has_a_cost_or_a_gap(
    machine: str, region: str, replicas: int, strategy: str | None
) -> None:
    one, many = (
        cost_of_pools((pool(machine, replicas=count),), region=region, strategy=strategy, table=TABLE)
        for count in (1, replicas)
    )
    assert (one.hourly is None) == bool(one.unknown)
    assert one.items or one.unknown
    assert many.known_hourly == pytest.approx(one.known_hourly * replicas)
    assert len(many.unknown) == len(one.unknown)


@every_row(
    "amount, text",
    [
        (0, "$0.00"),
        (0.621, "$0.62"),
        (101.007, "$101.01"),
        (12345.6, "$12,345.60"),
        (0.0041, "$0.0041"),
        (0.05, "$0.05"),
        (0.0268, "$0.027"),
        (2 * 0.0268, "$0.054"),
        (0.0053, "$0.0053"),
        (0.0999, "$0.10"),
        (0.0799, "$0.08"),
        (0.000012, "$0.000012"),
        (1e-9, "less than $0.000001"),
        (-2.5, "-$2.50"),
    ],
)
def test_amounts_in_words(amount: float, text: str) -> None:
    assert usd(amount) == text


@every_row(
    "number, text",
    [(0, "0.0"), (1234.56, "1,234.6"), (0.26, "0.3"), (0.0999, "0.1"), (0.0026, "0.0026"), (1e-5, "0.00001")],
)
def test_hours_in_words(number: float, text: str) -> None:
    assert decimal(number, places=1) == text
