"""Orders to kill or preempt replicas: the file orders.json in the job's folder.

The emulator appends to it. The supervisor, which knows when a replica starts and which start that is, carries
it out. One order affects at most one start of a replica, so that two orders affect two starts.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from vertex_emulator.job_folder import folder
from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.replicas.supervisor.loop import Running

OrderKind = Literal["kill", "out_of_memory", "preempt"]

FILE = "orders.json"


@dataclass(frozen=True, kw_only=True)
class Order:
    """An order for `times` starts of a replica, each `after` so many seconds of running.

    `kill`: SIGKILL to its program, as from outside. `out_of_memory`: the same, reported as the kernel's.
    `preempt`: its machine is taken away, which begins with SIGTERM.
    """

    kind: OrderKind
    replica: str
    after: float = 0.0
    times: int = 1


def add(job_folder: folder.JobFolder, order: Order) -> None:
    """Append an order and wake the supervisor. Not safe for concurrent callers. Raises `OSError`."""
    path = job_folder.path / FILE
    folder.write_json(path, [*(folder.read_json(path) or ()), asdict(order)])
    job_folder.ring()


class Orders:
    """Carries out the orders in one job's folder. `grace_seconds` lie between SIGTERM and SIGKILL."""

    def __init__(self, job_folder: folder.JobFolder, clock: Clock, *, grace_seconds: float) -> None:
        self._path: Path = job_folder.path / FILE
        self._clock = clock
        self._grace = grace_seconds
        self._size = 0
        self._read = 0
        self._pending: list[tuple[Order, int]] = []
        self._gone_at: dict[str, float] = {}  # preempted replicas, and when their machine is gone

    def apply_due(self, running: Iterable[Running]) -> None:
        """Carry out the orders that are due for the running replicas."""
        self._read_new()
        for one in running:
            if one.child.exit_code is not None:
                self._gone_at.pop(one.name, None)
                continue
            if one.started_at is None:
                continue
            if not one.order_kind:
                self._gone_at.pop(
                    one.name, None
                )  # of the start before, which ended while the job was decided
                self._carry_out(one, one.started_at)
            elif self._gone_at.get(one.name, math.inf) <= machine_clock.monotonic():
                del self._gone_at[one.name]
                one.child.kill()

    def next_checks(self, running: Iterable[Running]) -> Iterator[float | None]:
        """Yield the times at which an order will be due, on the machine's clock."""
        for one in running:
            if one.started_at is None or one.child.exit_code is not None:
                continue
            if one.order_kind:
                yield self._gone_at.get(one.name)
                continue
            for order, _ in self._pending:
                if order.replica == one.name:
                    yield self._clock.steady_at(one.started_at + order.after)

    def _read_new(self) -> None:
        try:
            size = self._path.stat().st_size  # it grows with every order
        except OSError:
            return
        if size != self._size:
            orders = [Order(**each) for each in folder.read_json(self._path) or ()]
            self._pending += [(order, order.times) for order in orders[self._read :]]
            self._size, self._read = size, len(orders)

    def _carry_out(self, one: Running, began: float) -> None:
        ran = self._clock.seconds() - began
        for index, (order, times) in enumerate(self._pending):
            if order.replica != one.name or ran < order.after or not one.child.started:
                continue
            one.order_kind = order.kind
            self._pending[index : index + 1] = [(order, times - 1)] if times > 1 else []
            if order.kind == "preempt":
                self._gone_at[one.name] = machine_clock.monotonic() + self._grace
                one.child.terminate()
            elif one.child.pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one.child.pid, signal.SIGKILL)
            return
