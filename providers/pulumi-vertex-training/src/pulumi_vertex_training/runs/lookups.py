"""Lookups that may not hold up a plan: in parallel, each asked once, and for a short time only."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from typing import Any, TypeVar

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from vertex_emulator import machine_clock

PARALLEL = 16
"""The most lookups at a time."""

Question = TypeVar("Question", bound=Hashable)
Answer = TypeVar("Answer")
Result = TypeVar("Result")


def in_parallel(calls: Sequence[Callable[[], Result]]) -> list[Result]:
    """Return the results of calls that are made at the same time. The first error in their order is raised.

    Unlike in a pool, an interrupt waits for no call, and an error only for the calls before it.
    """
    return [future.result() for future in list(map(in_thread, calls))]


def in_thread(call: Callable[[], Result]) -> Future[Result]:
    """Make a call in a thread of its own: unlike in a pool, the process can end before the answer."""
    future = Future[Result]()

    def settle() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # raised again where the result is read
            future.set_exception(error)

    threading.Thread(target=settle, name="call", daemon=True).start()
    return future


class Lookups:
    """The answers of one program or operation: nothing is asked twice. Safe for threads.

    A place that gave no answer before a deadline is not asked again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: dict[tuple[Hashable, Hashable], Future[Any]] = {}
        self._silent: set[Hashable] = set()
        self._turn = threading.BoundedSemaphore(PARALLEL)

    def ask(
        self,
        place: Hashable,
        connect: Callable[[], Endpoint | None],
        questions: Mapping[Question, Callable[[Endpoint], Answer]],
        *,
        seconds: float,
    ) -> dict[Question, Answer]:
        """Return the answers that come within `seconds`, for all questions together.

        `connect` returns the endpoint of the place, or None if nothing answers there. It is called in a
        thread of its own, and so is each question. One that raises a CloudError has no answer; any other
        error is raised here.
        """
        if not questions or seconds <= 0:
            return {}
        deadline = machine_clock.monotonic() + seconds
        futures = {key: self._future(place, connect, key, look) for key, look in questions.items()}
        present = {key: future for key, future in futures.items() if future is not None}
        _, late = wait_for(present.values(), timeout=max(0.0, deadline - machine_clock.monotonic()))
        if late:
            with self._lock:
                self._silent.add(place)
        found = {key: future.result() for key, future in present.items() if future not in late}
        return {key: answers[0] for key, answers in found.items() if answers}

    def _future(
        self,
        place: Hashable,
        connect: Callable[[], Endpoint | None],
        question: Hashable,
        look: Callable[[Endpoint], Any],
    ) -> Future[Any] | None:
        key = (place, question)
        with self._lock:
            known = self._asked.get(key)
            if place in self._silent:
                return known if known is not None and known.done() else None
            if known is not None:
                return known
            future = in_thread(functools.partial(self._answer, connect, look))
            self._asked[key] = future
            return future

    def _answer(
        self, connect: Callable[[], Endpoint | None], look: Callable[[Endpoint], Any]
    ) -> tuple[Any, ...]:
        """Return the answer, or nothing: no service answers, or it refuses."""
        try:
            with self._turn:
                endpoint = connect()
                return () if endpoint is None else (look(endpoint),)
        except CloudError:
            return ()
