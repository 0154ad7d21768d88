"""Compute the highest cost of a job. Machines whose price is not in the table are refused.

The table has what the cases use. Prices are those of the pricing page without discounts, in US dollars.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Price:
    """The price of a machine for an hour in a region, with management fee."""

    machine_type: str
    location: str
    usd_per_hour: float
    checked: str
    source: str


SOURCE = "https://cloud.google.com/vertex-ai/pricing (custom-trained models, training)"

PRICES = (
    Price(
        machine_type="n1-standard-4",
        location="us-central1",
        usd_per_hour=0.21849885,
        checked="2026-09-06",
        source=SOURCE,
    ),
    Price(
        machine_type="n1-standard-2",
        location="us-central1",
        usd_per_hour=0.21849885,
        checked="2026-09-06",
        source="ours: the price of n1-standard-4, which is twice as large; Vertex AI refuses it for training",
    ),
)

DISK_USD_PER_HOUR = 0.0268
"""A boot disk of 100 GB (pd-ssd): $0.17 per GB and month of Compute Engine, and a fee of 15 %."""

_LARGEST_DISK = 100

PREPARATION_SECONDS = 600
"""Seconds counted for each replica besides the timeout: machines cost from their provisioning on."""

LONGEST_TIMEOUT = 3600
"""Longest timeout of a job in seconds. A job without a timeout could run for a week."""


class UnknownPriceError(Exception):
    """The cost of a request has no known limit; the text names the cause."""


def price_of(machine_type: str, location: str) -> Price:
    """Return the price of a machine. Raises UnknownPriceError."""
    for each in PRICES:
        if (each.machine_type, each.location) == (machine_type, location):
            return each
    known = ", ".join(f"{each.machine_type} in {each.location}" for each in PRICES)
    raise UnknownPriceError(
        f"No price is known for {machine_type or 'a pool without a machine type'} in {location}, so its cost "
        f"cannot be limited. Known: {known}. Prices are in scripts/verify_google/prices.py."
    )


def highest_cost(body: Json, location: str) -> float:
    """Return the highest cost in dollars of the job that a request asks for. Raises UnknownPriceError.

    It takes a custom job, a tuning job or a training pipeline with a custom task. Only jobs without retries
    and accelerators have a limit.
    """
    scheduling = _job_spec(body).get("scheduling", {})
    if not scheduling.get("disableRetries"):
        raise UnknownPriceError("A job whose retries are not disabled can cost several times its timeout.")
    seconds = _seconds(scheduling.get("timeout")) + PREPARATION_SECONDS
    return hourly_cost(body, location) * seconds / 3600


def hourly_cost(body: Json, location: str) -> float:
    """Return the cost in dollars of all machines of a job for an hour. Raises UnknownPriceError."""
    trials = 1
    if "trialJobSpec" in body:
        trials = int(body.get("maxTrialCount", 0))
        if trials < 1:
            raise UnknownPriceError("A tuning job without maxTrialCount has no limit of its cost.")
    return trials * sum(_pool_prices(_job_spec(body).get("workerPoolSpecs", []), location))


def _job_spec(body: Json) -> Mapping[str, Any]:
    for name in ("jobSpec", "trialJobSpec", "trainingTaskInputs"):
        if name in body:
            spec: Mapping[str, Any] = body[name]
            return spec
    raise UnknownPriceError("The cost of this kind of request is not known.")


def _pool_prices(pools: list[Json], location: str) -> Iterator[float]:
    for pool in pools:
        replicas = int(pool.get("replicaCount", 0))
        machine = pool.get("machineSpec", {})
        if int(machine.get("acceleratorCount", 0)):
            raise UnknownPriceError("No price is known for accelerators.")
        if int(pool.get("diskSpec", {}).get("bootDiskSizeGb", 0)) > _LARGEST_DISK:
            raise UnknownPriceError(f"No price is known for boot disks of more than {_LARGEST_DISK} GB.")
        if replicas:
            hourly = price_of(machine.get("machineType", ""), location).usd_per_hour
            yield replicas * (hourly + DISK_USD_PER_HOUR)


def _seconds(text: object) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)s", str(text or ""))
    if found is None or not 0 < float(found[1]) <= LONGEST_TIMEOUT:
        raise UnknownPriceError(
            f"The timeout of a job is {text or 'missing'}; it must be at most {LONGEST_TIMEOUT}s."
        )
    return float(found[1])
