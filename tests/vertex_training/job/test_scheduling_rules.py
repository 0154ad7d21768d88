from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from support.ground import jobs
from support.ground.jobs import EMPTY, job, pool
from support.tables import every_row
from vertex_training.job.job_spec import Scheduling, normal_scheduling
from vertex_training.job.rules.scheduling import scheduling_problems
from vertex_training.topology.pools import MachineSpec, ReservationAffinity

L4 = MachineSpec(machine_type="g2-standard-12", accelerator_type="NVIDIA_L4", accelerator_count=1)


def gpu_pool(replicas=1, machine=L4):
    return replace(pool(replicas), machine_spec=machine)


def tpu_pool(machine_type, **machine):
    return replace(pool(), machine_spec=MachineSpec(machine_type=machine_type, **machine))


def rules(spec):
    return [(problem.rule, problem.path) for problem in scheduling_problems(spec)]


@every_row(
    ("pools", "scheduling", "found"),
    [
        pytest.param([], {"timeout": "1h"}, [("duration", "scheduling.timeout")], id="timeout in hours"),
        pytest.param([], {"timeout": "0s"}, [("duration", "scheduling.timeout")], id="no time at all"),
        pytest.param(
            [], {"strategy": "SPOTT"}, [("strategy", "scheduling.strategy")], id="misspelt strategy"
        ),
        pytest.param(
            [], {"strategy": "LOW_COST"}, [("strategy-renamed", "scheduling.strategy")], id="old name of SPOT"
        ),
        pytest.param(
            [],
            {"max_wait_duration": "60s"},
            [("wait-only-flex-start", "scheduling.max_wait_duration")],
            id="wait without FLEX_START",
        ),
        pytest.param(
            [],
            {"max_wait_duration": "60s", "strategy": "SPOT"},
            [("wait-only-flex-start", "scheduling.max_wait_duration")],
            id="wait with SPOT",
        ),
        pytest.param(
            [],
            {"disable_retries": True, "restart_job_on_worker_restart": True},
            [("restart-without-retries", "scheduling.restart_job_on_worker_restart")],
            id="restart without retries",
        ),
        pytest.param([gpu_pool()], {"strategy": "FLEX_START"}, [], id="flex start with an L4"),
        pytest.param(
            [gpu_pool(), gpu_pool(3)], {"strategy": "FLEX_START"}, [], id="flex start, equal machines"
        ),
        pytest.param(
            [gpu_pool(), EMPTY, gpu_pool()], {"strategy": "FLEX_START"}, [], id="flex start, a gap is no pool"
        ),
        pytest.param(
            [gpu_pool()],
            {"strategy": "FLEX_START", "max_wait_duration": "0s"},
            [],
            id="flex start, waiting without end",
        ),
        pytest.param(
            [gpu_pool()],
            {"strategy": "FLEX_START", "max_wait_duration": "1d"},
            [("duration", "scheduling.max_wait_duration")],
            id="flex start, wait in days",
        ),
        pytest.param(
            [gpu_pool()],
            {"strategy": "FLEX_START", "timeout": "604800s"},
            [],
            id="flex start, exactly seven days",
        ),
        pytest.param(
            [gpu_pool()],
            {"strategy": "FLEX_START", "timeout": "604801s"},
            [("flex-start-timeout", "scheduling.timeout")],
            id="flex start, more than seven days",
        ),
        pytest.param(
            [gpu_pool(), gpu_pool(2, replace(L4, machine_type="g2-standard-8"))],
            {"strategy": "FLEX_START"},
            [("flex-start-one-machine", "worker_pool_specs[1].machine_spec")],
            id="flex start, other workers",
        ),
        pytest.param(
            [pool()],
            {"strategy": "FLEX_START"},
            [("flex-start-accelerator", "worker_pool_specs[0].machine_spec.accelerator_type")],
            id="flex start without GPU",
        ),
        pytest.param(
            [pool(gpus=1)],
            {"strategy": "FLEX_START"},
            [("flex-start-accelerator", "worker_pool_specs[0].machine_spec.accelerator_type")],
            id="flex start with a T4",
        ),
        pytest.param(
            [tpu_pool("ct5lp-hightpu-4t", tpu_topology="2x2")],
            {"strategy": "SPOT"},
            [],
            id="spot, one TPU host",
        ),
        pytest.param(
            [tpu_pool("ct5lp-hightpu-4t", tpu_topology="4x4")],
            {"strategy": "SPOT"},
            [("spot-tpu-pod", "worker_pool_specs[0].machine_spec.tpu_topology")],
            id="spot, four TPU hosts",
        ),
        pytest.param(
            [tpu_pool("cloud-tpu", accelerator_type="TPU_V3", accelerator_count=8)],
            {"strategy": "SPOT"},
            [],
            id="spot, eight TPU cores",
        ),
        pytest.param(
            [tpu_pool("cloud-tpu", accelerator_type="TPU_V3", accelerator_count=32)],
            {"strategy": "SPOT"},
            [("spot-tpu-pod", "worker_pool_specs[0].machine_spec.accelerator_count")],
            id="spot, a TPU pod",
        ),
        pytest.param([pool(gpus=1)], {"strategy": "SPOT"}, [], id="spot with a T4"),
    ],
)
def test_findings(pools, scheduling, found):
    assert rules(job(*pools, scheduling=Scheduling(**scheduling))) == found


@pytest.mark.parametrize(
    ("given", "normal"),
    [
        pytest.param({}, None, id="nothing"),
        pytest.param({"strategy": "STANDARD"}, None, id="standard is the default"),
        pytest.param({"strategy": "ON_DEMAND"}, None, id="the old name of standard"),
        pytest.param({"strategy": "LOW_COST"}, {"strategy": "SPOT"}, id="the old name of spot"),
        pytest.param({"timeout": "60.0s"}, {"timeout": "60s"}, id="spelling of a duration"),
        pytest.param(
            {"strategy": "FLEX_START", "max_wait_duration": "86400s"},
            {"strategy": "FLEX_START"},
            id="the default wait",
        ),
        pytest.param(
            {"strategy": "FLEX_START", "max_wait_duration": "0s"},
            {"strategy": "FLEX_START", "max_wait_duration": "0s"},
            id="waiting without end is not the default",
        ),
    ],
)
def test_normal_form(given, normal):
    assert normal_scheduling(Scheduling(**given)) == (Scheduling(**normal) if normal else None)


@given(jobs.schedulings)
def test_the_normal_form_is_its_own_normal_form(scheduling):
    normal = normal_scheduling(scheduling)
    assert normal is None or normal_scheduling(normal) == normal


def test_the_messages_about_scheduling():
    servers = pool(image=jobs.REDUCTION_SERVER)
    flexible = Scheduling(strategy="FLEX_START")
    said = {
        problem.path: problem.message
        for problem in scheduling_problems(job(gpu_pool(), pool(2, gpus=2), servers, scheduling=flexible))
    }
    place = "worker_pool_specs[1].machine_spec"
    assert set(said) == {place, f"{place}.accelerator_type", "worker_pool_specs[2].machine_spec"}
    assert said[place].startswith(
        "n1-standard-4 with 2 x NVIDIA_TESLA_T4 differs from g2-standard-12 with 1 x NVIDIA_L4 in "
        "worker_pool_specs[0]; "
    )
    assert said[place].endswith(
        "the same machine in all worker pools. Make them equal, or use STANDARD or SPOT"
    )
    assert said[f"{place}.accelerator_type"].startswith(
        "NVIDIA_TESLA_T4 is not available with FLEX_START; use "
    )
    assert said["worker_pool_specs[2].machine_spec"].endswith(
        ", so it cannot have reduction servers. Leave them out, or use STANDARD or SPOT"
    )


@pytest.mark.parametrize(("strategy", "named"), [(None, "STANDARD"), ("SPOT", "SPOT")])
def test_a_wait_without_effect_names_the_strategy(strategy, named):
    scheduling = Scheduling(strategy=strategy, max_wait_duration="60s")
    [problem] = scheduling_problems(job(pool(), scheduling=scheduling))
    assert problem.message.startswith(f"60s does not apply to {named}; ")


A3 = MachineSpec(machine_type="a3-ultragpu-8g", accelerator_type="NVIDIA_H200_141GB", accelerator_count=8)
MEGA = MachineSpec(machine_type="a2-megagpu-16g", accelerator_type="NVIDIA_TESLA_A100", accelerator_count=16)
RESERVED = ReservationAffinity(reservation_affinity_type="ANY_RESERVATION")


@pytest.mark.parametrize(
    ("machine", "strategy", "elsewhere", "found"),
    [
        pytest.param(A3, "STANDARD", None, True, id="a scarce machine"),
        pytest.param(replace(A3, reservation_affinity=RESERVED), "STANDARD", None, False, id="reserved"),
        pytest.param(A3, "SPOT", None, False, id="with SPOT"),
        pytest.param(A3, "STANDARD", "resource-1", False, id="on a persistent resource"),
        pytest.param(L4, "STANDARD", None, False, id="a common machine"),
    ],
)
def test_a_scarce_machine_is_pointed_out(machine, strategy, elsewhere, found):
    spec = job(
        gpu_pool(machine=machine), scheduling=Scheduling(strategy=strategy), persistent_resource_id=elsewhere
    )
    place = ("scarce-machine", "worker_pool_specs[0].machine_spec.machine_type")
    assert (place in rules(spec)) is found


def test_spot_gives_one_machine_with_sixteen_gpus():
    assert rules(job(gpu_pool(machine=MEGA), scheduling=Scheduling(strategy="SPOT"))) == []


def test_a_tpu_slice_that_spot_cannot_provide_is_named():
    slices = (
        (tpu_pool("ct5lp-hightpu-4t", tpu_topology="4x4"), "4x4 on ct5lp-hightpu-4t"),
        (tpu_pool("cloud-tpu", accelerator_type="TPU_V3", accelerator_count=32), "32 on cloud-tpu"),
    )
    for one, named in slices:
        [problem] = scheduling_problems(job(one, scheduling=Scheduling(strategy="SPOT")))
        assert problem.message.startswith(f"{named} is a TPU slice of several machines")
