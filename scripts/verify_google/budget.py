"""The budget of a run: the highest cost of everything that was sent, counted before it is sent."""

from __future__ import annotations

import math
import threading

from scripts.verify_google.journal import Journal

PENNIES = 0.01
"""Dollars counted for a case that stores data: a hundred calls and a few kilobytes cost less than $0.005."""


class BudgetError(Exception):
    """A request could exceed the budget, and was not sent."""


class Budget:
    """Counts reservations against a limit in dollars. Safe for threads.

    `carried` is what an interrupted run had counted: it is finished within the same budget. Reservations are
    written to the journal before they count, and stay when a job ends: only a request that the service
    refused costs nothing.
    """

    def __init__(self, limit: float, journal: Journal, *, carried: float = 0.0) -> None:
        if not (math.isfinite(limit) and limit >= 0):
            raise ValueError("a budget is a number of dollars from 0")
        self.limit = limit
        self._journal = journal
        self._lock = threading.Lock()
        self._reserved = carried

    @property
    def reserved(self) -> float:
        """The dollars that are counted."""
        with self._lock:
            return self._reserved

    def reserve(self, cost: float, *, reason: str) -> None:
        """Count a cost. Raises BudgetError if it does not fit; nothing is counted then."""
        with self._lock:
            if self._reserved + cost > self.limit + 1e-9:
                raise BudgetError(
                    f"{reason} could cost ${cost:.2f}. With ${self._reserved:.2f} counted already, it would "
                    f"exceed the budget of ${self.limit:.2f}."
                )
            self._journal.write("reserved", usd=cost, reason=reason)
            self._reserved += cost

    def release(self, cost: float, *, reason: str) -> None:
        """Take back the reservation of a request that the service refused."""
        with self._lock:
            self._journal.write("released", usd=cost, reason=reason)
            self._reserved -= cost
