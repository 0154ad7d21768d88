"""The emulator's own calls at `/_local/capacities`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from vertex_emulator.jobs.custom.queue.capacity import ANY, DEFAULT_WAIT, Capacities, Capacity
from vertex_emulator.server.http.bodies import body_of, seconds, whole_number
from vertex_emulator.server.http.messages import HttpError, Request, Route
from vertex_emulator.server.http.settings import settings_routes
from vertex_emulator.services.quotas.admin import region_of
from vertex_training.catalog import accelerators, machines
from vertex_training.findings.words import did_you_mean, one_of

MOST = 1_000_000

_PATH = "/_local/capacities"
_STRATEGIES = ("STANDARD", "SPOT", "FLEX_START")


def capacity_routes(capacities: Capacities) -> Sequence[Route]:
    """Return GET all, POST one, DELETE all or, with the parameters machine and region, some."""

    def put(request: Request) -> Mapping[str, Any]:
        capacity = _read(body_of(request, "machine", "region", "strategy", "available", "waitSeconds"))
        capacities.set(capacity)
        return _view(capacity)

    return settings_routes(
        _PATH,
        capacities,
        views=lambda: views(capacities),
        put=put,
        parameters={"machine": _machine, "region": region_of},
    )


def views(capacities: Capacities) -> list[dict[str, Any]]:
    """Return the capacities that are set."""
    return [_view(each) for each in capacities.all()]


def _view(capacity: Capacity) -> dict[str, Any]:
    view = asdict(capacity)
    seconds_to_wait = view.pop("wait_seconds")
    return {**view, "waitSeconds": seconds_to_wait}


def _read(body: Mapping[str, Any]) -> Capacity:
    return Capacity(
        machine=_machine(body.get("machine")),
        region=region_of(body.get("region", ANY)),
        strategy=_strategy(body.get("strategy", ANY)),
        available=whole_number(body, "available", most=MOST),
        wait_seconds=seconds(body, "waitSeconds", default=DEFAULT_WAIT),
    )


def _machine(given: object) -> str:
    if isinstance(given, str) and (given in machines.MACHINES or given in accelerators.NAMES):
        return given
    same = accelerators.meant(str(given))
    hint = (
        f" Did you mean {same!r}?"
        if same
        else did_you_mean(str(given), [*machines.MACHINES, *accelerators.NAMES])
    )
    raise HttpError(
        400,
        "",
        f"There is no machine type or accelerator {given!r}.{hint} Name one as a job does, such as "
        "n1-standard-8 or NVIDIA_L4.",
    )


def _strategy(given: object) -> str:
    if given not in (*_STRATEGIES, ANY):
        raise HttpError(400, "", f"strategy must be {one_of((*_STRATEGIES, ANY))}, not {given!r}.")
    return str(given)
