"""Quotas that a test sets at `/_local/quotas`, and the demand of jobs.

Without quotas, every job is admitted. Quotas apply to each project and region, are kept in memory as faults
are, and count jobs that are PENDING or RUNNING.

Vertex AI documentation, "Understand the custom training service": a job for which the project does not have
enough quota left is kept QUEUED until it has. Users report that the service rejects, with RESOURCE_EXHAUSTED,
a job that needs more than the quota as a whole, such as any GPU of a quota of 0. The emulator does both.

Vertex AI's metrics are aiplatform.googleapis.com/custom_model_training_NAME. Errors of the service and public
instructions show NAME for T4, P4, L4 and H100 GPUs, for TPU v2 and for cpus; the others here are named by
analogy. Jobs on Spot VMs and with FLEX_START take from the preemptible metrics (Vertex AI documentation,
"Schedule training jobs based on resource availability").
"""

from __future__ import annotations

import difflib
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from vertex_emulator.custom_jobs import store
from vertex_emulator.http.bodies import body_of, number
from vertex_emulator.http.messages import HttpError, Request, Response, Route, json_response
from vertex_emulator.kernel.projects import Place
from vertex_emulator.rpc.methods import RpcError
from vertex_emulator.vertex.records import Record
from vertex_training.catalog import accelerators, machines

PREFIX = "aiplatform.googleapis.com/custom_model_training_"

_PREEMPTIBLE = "preemptible_"
_SPECIAL = {
    "NVIDIA_H100_80GB": "nvidia_h100_gpus",
    "NVIDIA_H100_MEGA_80GB": "nvidia_h100_mega_gpus",
    "NVIDIA_H200_141GB": "nvidia_h200_gpus",
    "TPU_V4_POD": "tpu_v4",
    "TPU_V5_LITEPOD": "tpu_v5e",
}
_ONE_FOR_BOTH = frozenset({"e2", "n1"})
"""Machine series whose vCPUs the metric cpus counts ("Quotas and limits").

Each other series has its own metric.
"""


def metric_of(accelerator: str) -> str:
    """Return the metric of an accelerator by its name in the API, without `PREFIX`."""
    if accelerator in _SPECIAL:
        return _SPECIAL[accelerator]
    name = accelerator.lower().replace("_tesla", "")
    return name if name.startswith("tpu") else f"{name}_gpus"


METRICS: Mapping[str, str] = {name: metric_of(name) for name in accelerators.NAMES}
"""The metric of each accelerator."""


def metric(name: str, *, preemptible: bool = False) -> str | None:
    """Return the metric for the name of an accelerator, of a metric or of a part of a metric.

    Return None if the name is unknown.
    """
    short = METRICS.get(name, name).removeprefix(PREFIX)
    base = short.removeprefix(_PREEMPTIBLE)
    series = {machines.series(each) for each in machines.MACHINES} - _ONE_FOR_BOTH
    if base not in {*METRICS.values(), "cpus", *(f"{each}_cpus" for each in series)}:
        return None
    return _PREEMPTIBLE + base if preemptible or short != base else base


def metric_names() -> list[str]:
    """Return the metrics except for the preemptible ones, and the names of accelerators."""
    return [*METRICS, *sorted(set(METRICS.values())), "cpus"]


def demand(job: Any, *, strategy: str) -> Mapping[str, int]:
    """Return how much a `CustomJob` message takes of each metric; `strategy` is the name of its strategy."""
    found: Counter[str] = Counter()
    for pool in job.job_spec.worker_pool_specs:
        if not pool.replica_count:
            continue
        spec = pool.machine_spec
        if spec.accelerator_count:
            kind = accelerators.by_number(spec.accelerator_type)
            found[METRICS.get(str(kind), str(kind))] += spec.accelerator_count * pool.replica_count
        found[_cpus(spec.machine_type)] += _vcpus(spec.machine_type) * pool.replica_count
    preemptible = _PREEMPTIBLE if strategy in ("SPOT", "FLEX_START") else ""
    return {preemptible + name: count for name, count in found.items() if count}


def _cpus(machine_type: str) -> str:
    series = machines.series(machine_type)
    return "cpus" if series in _ONE_FOR_BOTH else f"{series}_cpus"


def _vcpus(machine_type: str) -> int:
    known_type = machines.machine(machine_type)
    return known_type.vcpus if known_type else 0


ANY_REGION = "*"
MOST = 1_000_000

_PATH = "/_local/quotas"
_REGION = re.compile(r"[a-z]+-[a-z]+[0-9]{1,2}|\*")
_CHOICES = (None, "refuse", "queue")

Used = Callable[[], Iterable[Record]]


@dataclass(frozen=True, kw_only=True)
class Quota:
    """A limit on a metric in a region, or in each region (`ANY_REGION`), for every project.

    If `when_exceeded` is None, the quota behaves as the service's.
    """

    metric: str
    region: str
    limit: int
    when_exceeded: Literal["refuse", "queue"] | None = None


class FreeQuota:
    """The quota that is free at one moment; `usage` is by project number and region."""

    def __init__(
        self, quotas: Mapping[tuple[str, str], Quota], usage: dict[tuple[str, str], Counter[str]]
    ) -> None:
        self._quotas = quotas
        self._usage = usage

    def take(self, place: Place, job: Any) -> bool:
        """Take the quota for a job. Return whether there was enough.

        Raises `RpcError` RESOURCE_EXHAUSTED if the job must not wait.
        """
        needs = demand(job, strategy=store.strategy_of(job))
        quotas = [quota for name in needs if (quota := self._of(name, place.location)) is not None]
        used = self._usage.setdefault((place.number, place.location), Counter())
        short = [each for each in quotas if used[each.metric] + needs[each.metric] > each.limit]
        refused = [
            each
            for each in short
            if each.when_exceeded == "refuse"
            or (each.when_exceeded is None and needs[each.metric] > each.limit)
        ]
        if refused:
            names = ", ".join(f"{PREFIX}{each.metric}" for each in refused)
            raise RpcError("RESOURCE_EXHAUSTED", f"The following quota metrics exceed quota limits: {names}")
        if not short:
            used.update(needs)
        return not short

    def _of(self, metric: str, region: str) -> Quota | None:
        return self._quotas.get((metric, region)) or self._quotas.get((metric, ANY_REGION))


class Quotas:
    """All quotas.

    `used` returns the jobs that hold quota; `changed` is called after a quota was set or removed.
    """

    def __init__(self, used: Used, *, changed: Callable[[], None]) -> None:
        self._quotas: dict[tuple[str, str], Quota] = {}
        self._used = used
        self._changed = changed
        self._lock = threading.Lock()

    def free(self) -> FreeQuota:
        """Return the quota that is free now."""
        with self._lock:
            quotas = dict(self._quotas)
        return FreeQuota(quotas, self._usage() if quotas else {})

    def clear(self) -> None:
        """Remove all quotas."""
        with self._lock:
            self._quotas.clear()
        self._changed()

    def routes(self) -> Sequence[Route]:
        """Return GET all, POST one, DELETE all or, with the parameters metric and region, some."""
        return (
            Route("GET", _PATH, self._list),
            Route("POST", _PATH, self._set),
            Route("DELETE", _PATH, self._clear),
        )

    def _usage(self) -> dict[tuple[str, str], Counter[str]]:
        found: dict[tuple[str, str], Counter[str]] = {}
        for record in self._used():
            counts = found.setdefault((record.place.number, record.location), Counter())
            counts.update(demand(record.message, strategy=store.strategy_of(record.message)))
        return found

    def _list(self, _request: Request, _match: re.Match[str]) -> Response:
        with self._lock:
            quotas = list(self._quotas.values())
        usage = self._usage() if quotas else {}
        return json_response({"quotas": [_view(each, usage) for each in quotas]})

    def _set(self, request: Request, _match: re.Match[str]) -> Response:
        quota = _read(body_of(request, "metric", "preemptible", "region", "limit", "whenExceeded"))
        with self._lock:
            self._quotas[quota.metric, quota.region] = quota
        self._changed()
        return json_response(_view(quota, self._usage()))

    def _clear(self, request: Request, _match: re.Match[str]) -> Response:
        for name in request.query:
            if name not in ("metric", "region"):  # a misspelt name would remove all quotas
                raise HttpError(400, "", f"{name!r} is not known. Use metric or region.")
        given = request.parameter("metric")
        metric = None if given is None else _metric(given, preemptible=False)
        given = request.parameter("region")
        region = None if given is None else _region(given)
        with self._lock:
            gone = [key for key in self._quotas if metric in (None, key[0]) and region in (None, key[1])]
            for key in gone:
                del self._quotas[key]
        self._changed()
        return json_response({"removed": len(gone)})


def _view(quota: Quota, usage: Mapping[tuple[str, str], Counter[str]]) -> dict[str, Any]:
    return {
        "metric": PREFIX + quota.metric,
        "region": quota.region,
        "limit": quota.limit,
        "whenExceeded": quota.when_exceeded,
        "usage": [
            {"projectNumber": project, "region": region, "used": counts[quota.metric]}
            for (project, region), counts in sorted(usage.items())
            if quota.region in (ANY_REGION, region) and counts[quota.metric]
        ],
    }


def _read(body: Mapping[str, Any]) -> Quota:
    preemptible = body.get("preemptible", False)
    if not isinstance(preemptible, bool):
        raise HttpError(400, "", f"preemptible must be true or false, not {preemptible!r}.")
    limit = number(body, "limit", most=MOST, what="a whole number")
    if limit != int(limit):
        raise HttpError(400, "", f"limit must be a whole number, not {limit:g}.")
    when = body.get("whenExceeded")
    if when not in _CHOICES:
        raise HttpError(400, "", f'whenExceeded must be "refuse" or "queue", not {when!r}.')
    return Quota(
        metric=_metric(body.get("metric"), preemptible=preemptible),
        region=_region(body.get("region", ANY_REGION)),
        limit=int(limit),
        when_exceeded=when,
    )


def _region(given: object) -> str:
    if not (isinstance(given, str) and _REGION.fullmatch(given)):
        raise HttpError(400, "", f"region must be a region, such as us-central1, or *, not {given!r}.")
    return given


def _metric(given: object, *, preemptible: bool) -> str:
    found = metric(given, preemptible=preemptible) if isinstance(given, str) else None
    if found is None:
        near = difflib.get_close_matches(str(given), metric_names(), n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise HttpError(
            400,
            "",
            f"There is no quota for {given!r}.{hint} Name an accelerator, such as NVIDIA_L4, or a metric, "
            "such as nvidia_l4_gpus or cpus.",
        )
    return found
