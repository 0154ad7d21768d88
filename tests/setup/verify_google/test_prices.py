"""The highest cost of a job; what has no known limit is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from scripts.verify_google.cases.case import pool, spec
from scripts.verify_google.prices import (
    DISK_USD_PER_HOUR,
    PREPARATION_SECONDS,
    PRICES,
    UnknownPriceError,
    highest_cost,
    hourly_cost,
)
from support.tables import every_row, not_empty

HOUR = PRICES[0].usd_per_hour + DISK_USD_PER_HOUR
SECONDS = 300 + PREPARATION_SECONDS


def job(**more: Any) -> dict[str, Any]:
    return {"jobSpec": spec(pool(), **more)}


def test_machine_price_times_the_longest_time() -> None:
    assert highest_cost(job(), "us-central1") == pytest.approx(HOUR * SECONDS / 3600)


def test_every_replica_of_every_pool_counts() -> None:
    body = {"jobSpec": spec(pool(), {}, pool(replicas=3))}
    assert highest_cost(body, "us-central1") == pytest.approx(4 * HOUR * SECONDS / 3600)


def test_every_trial_counts() -> None:
    body = {"trialJobSpec": spec(pool(replicas=2)), "maxTrialCount": 5}
    assert highest_cost(body, "us-central1") == pytest.approx(10 * HOUR * SECONDS / 3600)


def test_the_job_of_a_pipeline_counts() -> None:
    body = {"trainingTaskDefinition": "x", "trainingTaskInputs": spec(pool(), timeout="3600s")}
    expected = HOUR * (3600 + PREPARATION_SECONDS) / 3600
    assert highest_cost(body, "us-central1") == pytest.approx(expected)
    assert hourly_cost(body, "us-central1") == pytest.approx(HOUR)


def _pool(change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    body = copy.deepcopy(job())
    change(body["jobSpec"]["workerPoolSpecs"][0])
    return body


@every_row(
    ("body", "location", "word"),
    [
        pytest.param(
            _pool(lambda one: one["machineSpec"].update(machineType="n1-standard-8")),
            "us-central1",
            "n1-standard-8 in us-central1",
            id="machine",
        ),
        pytest.param(job(), "europe-west4", "n1-standard-4 in europe-west4", id="location"),
        pytest.param(
            _pool(lambda one: one["machineSpec"].clear()),
            "us-central1",
            "without a machine type",
            id="no machine",
        ),
        pytest.param(
            _pool(lambda one: one["machineSpec"].update(acceleratorCount=1)),
            "us-central1",
            "accelerators",
            id="accelerator",
        ),
        pytest.param(
            _pool(lambda one: one.update(diskSpec={"bootDiskSizeGb": 101})),
            "us-central1",
            "boot disks",
            id="disk",
        ),
        pytest.param(
            {"jobSpec": {"workerPoolSpecs": [pool()], "scheduling": {"timeout": "60s"}}},
            "us-central1",
            "retries",
            id="retries",
        ),
        pytest.param(
            {"jobSpec": {"workerPoolSpecs": [pool()], "scheduling": {"disableRetries": True}}},
            "us-central1",
            "timeout of a job is missing",
            id="no timeout",
        ),
        pytest.param(job(timeout="3601s"), "us-central1", "at most 3600s", id="long timeout"),
        pytest.param(job(timeout="0s"), "us-central1", "at most 3600s", id="no time"),
        pytest.param(job(timeout="1h"), "us-central1", "at most 3600s", id="other unit"),
        pytest.param({"trialJobSpec": spec(pool())}, "us-central1", "maxTrialCount", id="trials"),
        pytest.param({"endpoint": {}}, "us-central1", "this kind of request", id="kind"),
    ],
)
def test_what_has_no_limit_is_refused(body: dict[str, Any], location: str, word: str) -> None:
    with pytest.raises(UnknownPriceError, match=word):
        highest_cost(body, location)


def test_prices_have_a_date_and_a_source() -> None:
    assert all(
        each.source and each.checked[:2] == "20" and len(each.checked) == 10 for each in not_empty(PRICES)
    )
