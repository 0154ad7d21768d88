"""A process that outlives a deployment by seconds and cancels the jobs that the deployment waited for.

`python -m pulumi_vertex_training.runs.cancel_watchdog TERMINAL` reads one JSON document a line from standard
input, as `Order` writes them. When standard input ends, the writer is gone, and the watchdog cancels the jobs
that are still held. A program cannot do that itself: Pulumi may kill it within a millisecond of Ctrl-C.
TERMINAL is an open file descriptor that gets a line about each job, or -1.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, FailedPrecondition, NotFound
from pulumi_vertex_training.printed_commands import runnable
from pulumi_vertex_training.runs.command_arguments import of_job
from pulumi_vertex_training.runs.gateway import RunGateway, gateway_in
from pulumi_vertex_training.runs.monitoring.watching import Pace, is_transient
from pulumi_vertex_training.timeouts import Timeouts
from vertex_emulator import machine_clock
from vertex_training.fields import timestamps
from vertex_training.fields.labels import KEY_LABEL
from vertex_training.fields.resource_names import resource_id
from vertex_training.findings.words import visible

_CLOCKS_DIFFER = timedelta(seconds=5)
_PACE = Pace(first=0.2, most=5.0)


@dataclass(frozen=True, kw_only=True)
class Order:
    """Hold a job, or release it.

    `name` is a job's, or "key:" and the key of a resource whose job is about to be created, with the
    collection of its kind: only a job of that resource that was created after the order is meant.
    `elsewhere` are other locations in which it can be.
    """

    name: str
    hold: bool
    endpoint: Endpoint | None = None
    since: str = ""
    collection: str = "customJobs"
    elsewhere: Sequence[str] = ()

    def line(self) -> bytes:
        """Return the order as a line for the watchdog, with the emulator's token: for a pipe only."""
        return json.dumps(asdict(self)).encode() + b"\n"


def read(line: str) -> Order:
    """Return the order of a line that `Order.line` made."""
    document: dict[str, Any] = json.loads(line)
    document["elsewhere"] = tuple(document["elsewhere"])
    endpoint = document.pop("endpoint")
    if endpoint is None:
        return Order(**document)
    timeouts = Timeouts(**endpoint.pop("timeouts"))
    return Order(**document, endpoint=Endpoint(**endpoint, timeouts=timeouts))


def held(orders: Iterable[Order]) -> dict[str, Order]:
    """Return the orders that still hold a job after the last one."""
    kept: dict[str, Order] = {}
    for order in orders:
        if order.hold:
            kept[order.name] = order
        else:
            kept.pop(order.name, None)
    return kept


def stop(order: Order) -> str:
    """Cancel the job of an order, trying for a while. Return a line, "" if there was nothing to cancel."""
    endpoint = order.endpoint
    if endpoint is None:
        return ""
    begun = machine_clock.monotonic()
    deadline = begun + endpoint.timeouts.last_cancel
    name, gateway = order.name, gateway_in(order.collection)
    for delay in _PACE.delays():
        try:
            if name.startswith(KEY_PREFIX):
                found = _of_resource(gateway, endpoint, order)
                if found is None and machine_clock.monotonic() > begun + endpoint.timeouts.last_submission:
                    return ""
                name = found or name
            if not name.startswith(KEY_PREFIX):
                gateway.cancel(endpoint.of(name), name)
                return f"{gateway.noun} {resource_id(name)} was cancelled, because the deployment ended first"
        except (NotFound, FailedPrecondition):
            return ""  # it has ended
        except CloudError as error:
            if not is_transient(error) or machine_clock.monotonic() >= deadline:
                return (
                    f"{gateway.noun} {resource_id(name)} was NOT cancelled and is still running: {error} "
                    f"`vertex-training cancel {of_job(endpoint, name)} --yes` stops it."
                )
        machine_clock.sleep(delay)
    return ""


KEY_PREFIX = "key:"


def _of_resource(gateway: RunGateway, endpoint: Endpoint, order: Order) -> str | None:
    """Return the live job of a resource that was created since the order."""
    since = datetime.fromisoformat(order.since) - _CLOCKS_DIFFER
    labels = {KEY_LABEL: order.name.removeprefix(KEY_PREFIX)}
    places = [endpoint, *map(endpoint.at, order.elsewhere)]
    for record in (one for place in places for one in gateway.list_by_label(place, labels)):
        if (
            not record.state.is_terminal
            and record.create_time
            and timestamps.parse(record.create_time) >= since
        ):
            return str(record.name)
    return None


def now() -> str:
    """Return the current time, for `Order.since`."""
    return datetime.now(timezone.utc).isoformat()


def main(terminal: int) -> None:
    """Hold and release jobs by the orders on standard input; cancel the held ones when it ends."""
    orders = list(held(read(line) for line in sys.stdin).values())
    with ThreadPoolExecutor(max(len(orders), 1)) as pool:
        for sentence in pool.map(stop, orders):
            if sentence and terminal >= 0:
                with contextlib.suppress(OSError):
                    os.write(terminal, f"\r\nvertex-training: {visible(runnable(sentence))}\r\n".encode())


if __name__ == "__main__":
    main(int(sys.argv[1]))
