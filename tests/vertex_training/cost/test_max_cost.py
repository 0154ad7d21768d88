"""The timeout that a sum of money allows: amounts, labels, and specs with and without it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertex_training.cost.cost import Cost, cost_of_job, cost_of_tuning_job
from vertex_training.cost.max_cost import (
    Limit,
    amount_fault,
    as_declared,
    at_most,
    attempts,
    keeps_retries,
    limit_of,
    problems,
    read_label,
    sentence,
    with_limit,
    without_limit,
)
from vertex_training.cost.prices import PriceTable, built_in, table_of
from vertex_training.job.job_spec import JobSpec, Scheduling
from vertex_training.study.study import MetricSpec, StudySpec
from vertex_training.study.tuning import TuningSpec
from vertex_training.topology.pools import MachineSpec, WorkerPoolSpec

TABLE = built_in()
IOWA = "us-central1"
ON_DEMAND = table_of(price for price in TABLE.rows.values() if price.use in ("on_demand", "fee"))
"""The built-in prices on demand, with the fees."""


def job(machine: str = "n1-standard-4", *, on: str | None = None, **scheduling: object) -> JobSpec:
    pool = WorkerPoolSpec(machine_spec=MachineSpec(machine_type=machine), replica_count=1)
    return JobSpec(
        worker_pool_specs=(pool,),
        persistent_resource_id=on,
        scheduling=Scheduling(**scheduling) if scheduling else None,  # type: ignore[arg-type]
    )


def tuning(trials: int, at_once: int) -> TuningSpec:
    return TuningSpec(
        study_spec=StudySpec(metrics=(MetricSpec(metric_id="loss", goal="MINIMIZE"),), parameters=()),
        max_trial_count=trials,
        parallel_trial_count=at_once,
        trial_job_spec=job(),
    )


def cost(spec: JobSpec, table: PriceTable = TABLE) -> Cost:
    found = at_most(spec, lambda one: cost_of_job(one, region=IOWA, table=table))
    assert found is not None
    return found


def test_the_timeout_is_what_the_sum_allows_in_whole_minutes() -> None:
    hourly = Cost(hourly=15.7, per_timeout=15.7 * 24, timeout_seconds=24 * 3600)
    found = limit_of(hourly, 50)
    assert found == Limit(seconds=(3 * 60 + 11) * 60, most=pytest.approx(49.98, abs=0.01))
    assert sentence(found, 50, starts=4) == "stops after 3 h 11 min of running, at most $50.00"
    rest = limit_of(hourly, 50, spent=34.3)
    assert rest == Limit(seconds=3600, most=pytest.approx(15.7), spent=34.3)
    assert sentence(rest, 50, starts=4) == (
        "stops after 1 h of running, at most $50.00, of which its earlier runs have used $34.30"
    )
    assert limit_of(hourly, 50, spent=49.8) is None


def test_a_shorter_timeout_stays_and_costs_less() -> None:
    found = limit_of(cost(job(timeout="600s")), 50)
    assert found is not None
    assert found.seconds == 600
    assert sentence(found, 50, starts=4) == "stops after 10 min of running, at most $0.041"


def test_without_a_timeout_the_default_of_the_service_is_the_longest() -> None:
    found = limit_of(cost(job()), 1e9)
    assert found is not None
    assert found.seconds == 7 * 24 * 3600


def test_the_trials_of_a_tuning_job_share_the_sum() -> None:
    whole = cost_of_tuning_job(tuning(20, 4), region=IOWA, table=TABLE)
    found, of_job = limit_of(whole, 10), limit_of(cost(job()), 10)
    assert found is not None
    assert of_job is not None
    assert found.seconds == pytest.approx(of_job.seconds / 20, abs=60)
    assert found.most <= 10
    assert sentence(found, 10, starts=4, trials=20).startswith("stops each of its 20 trials after 2 h 2 min")


@pytest.mark.parametrize("strategy", ["SPOT", "FLEX_START"])
def test_the_price_on_demand_is_the_bound_where_a_strategy_has_no_price(strategy: str) -> None:
    spec, on_demand = job(strategy=strategy), cost(job())
    assert cost_of_job(spec, region=IOWA, table=ON_DEMAND).hourly is None
    assert cost(spec, ON_DEMAND).hourly == on_demand.hourly
    assert not list(problems(spec, cost(spec, ON_DEMAND), 50))
    if strategy == "SPOT":
        assert (cost(spec).hourly or math.inf) < (on_demand.hourly or 0.0)  # its own price, where it is known


@pytest.mark.parametrize(
    ("spec", "max_cost", "message"),
    [
        (job(), 0.002, "max_cost: $0.002 is below the cost of a minute of running, $0.0041; give at"),
        (
            job(timeout="7200s"),
            0.25,
            "scheduling.timeout: 2 h cost up to $0.49, above max_cost of $0.25; leave the timeout out, give "
            "at most 3660s, or raise max_cost to 0.50",
        ),
        (job("never-heard-of-8"), 50, "max_cost: has no bound, because a price is not known ("),
        (
            job(on="gpus"),
            50,
            "max_cost: cannot stop a job on a persistent resource, whose machines cost the same without the "
            "job; leave it out, or set scheduling.timeout",
        ),
    ],
)
def test_a_sum_that_cannot_stop_a_job_is_a_problem(spec: JobSpec, max_cost: float, message: str) -> None:
    (problem,) = problems(spec, cost(spec), max_cost)
    assert str(problem).startswith(message)
    assert problem.level == "error"


@pytest.mark.parametrize("value", [0, -1, 0.0, math.nan, math.inf, -math.inf, True, "50", None])
def test_what_is_no_amount_is_refused(value: object) -> None:
    fault = amount_fault(value)
    assert fault is not None
    assert "give US dollars above 0, such as 50" in fault


def test_an_amount_is_accepted() -> None:
    assert [amount_fault(value) for value in (50, 0.01, 1e9)] == [None] * 3


@given(st.integers(1, 10**7), st.floats(0, 1e6), st.floats(0, 1e6), st.booleans())
def test_a_label_has_all_of_a_limit(seconds: int, most: float, spent: float, retries: bool) -> None:
    limit = Limit(seconds=seconds, most=most, spent=spent, keeps_retries=retries)
    assert len(limit.label) <= 63
    found = read_label(limit.label)
    assert found is not None
    assert (found.seconds, found.keeps_retries) == (seconds, retries)
    # Amounts are never rounded down.
    assert most <= found.most + 1e-9 <= most + 2e-6
    assert spent <= found.spent + 1e-9 <= spent + 2e-6


@pytest.mark.parametrize("text", ["", "60", "60-1", "60-1-2-3", "60-1-2-retries-x", "a-1-2", None, 7])
def test_another_text_is_no_limit(text: object) -> None:
    assert read_label(text) is None


LIMIT = Limit(seconds=600, most=1.0)


@pytest.mark.parametrize(
    ("declared", "limit", "run"),
    [
        (None, LIMIT, Scheduling(timeout="600s", disable_retries=True)),
        (
            Scheduling(strategy="SPOT"),
            LIMIT,
            Scheduling(timeout="600s", disable_retries=True, strategy="SPOT"),
        ),
        (Scheduling(timeout="90.5s"), LIMIT, Scheduling(timeout="90.5s", disable_retries=True)),
        (Scheduling(timeout="3600s"), LIMIT, Scheduling(timeout="600s", disable_retries=True)),
        (
            Scheduling(restart_job_on_worker_restart=True),
            Limit(seconds=600, most=1.0, keeps_retries=True),
            Scheduling(timeout="600s", restart_job_on_worker_restart=True),
        ),
    ],
)
def test_a_limit_is_put_into_a_run_and_taken_out_again(
    declared: Scheduling | None, limit: Limit, run: Scheduling
) -> None:
    spec = JobSpec(worker_pool_specs=job().worker_pool_specs, scheduling=declared)
    found = with_limit(spec, limit)
    assert found.scheduling == run
    assert without_limit(spec, found, limit) == spec
    assert without_limit(spec, found, None) == found


def test_what_else_differs_in_a_run_stays() -> None:
    other = job(timeout="600s", strategy="SPOT", disable_retries=True)
    assert without_limit(job(), other, LIMIT) == other


def test_two_runs_that_differ_in_their_limits_alone_are_the_same() -> None:
    other = Limit(seconds=60, most=0.1, spent=0.9)
    assert (
        as_declared(with_limit(job(), LIMIT), LIMIT) == as_declared(with_limit(job(), other), other) == job()
    )
    assert as_declared(job(timeout="90s"), LIMIT) == job(timeout="90s")
    assert as_declared(job(timeout="90s"), None) == job(timeout="90s")


def test_the_worst_case_of_kept_retries_is_said() -> None:
    limit = Limit(seconds=3600, most=10.0, spent=5.0, keeps_retries=True)
    assert (attempts(job()), attempts(job(strategy="SPOT"))) == (4, 7)
    text = sentence(limit, 15, starts=attempts(job(strategy="SPOT")))
    assert "at most $15.00, of which its earlier runs have used $5.00. In the worst case $75.00: " in text
    assert "if the service restarts it 6 times, its clock may begin again" in text


def test_a_declared_restart_keeps_the_retries() -> None:
    assert keeps_retries(job(restart_job_on_worker_restart=True))
    assert not keeps_retries(job(timeout="60s"))
