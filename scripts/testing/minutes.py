"""The processor minutes of the tests, as a machine of known speed would have needed them."""

from __future__ import annotations

import json
import time
from pathlib import Path

from scripts.testing.results import Results

FILE = "test-minutes.json"
"""The measured minutes of the last complete run, in the folder `.local`."""

_REFERENCE_SECONDS = 0.26
"""Processor seconds of the calibration loop on the machine for which the budget was written."""


def speed() -> float:
    """Return how fast this machine is: 1.0 as the reference, 2.0 if it needs half the time."""
    return _REFERENCE_SECONDS / min(_loop() for _ in range(3))


def _loop() -> float:
    began, total = time.process_time(), 0
    for number in range(5_000_000):
        total += number * number % 7
    return time.process_time() - began


def write(local: Path, results: Results, *, speed: float) -> None:
    """Write the minutes of each ring."""
    minutes = {name: round(cost.processor / 60 * speed, 2) for name, cost in results.rings().items()}
    (local / FILE).write_text(json.dumps(minutes, indent=1) + "\n")
