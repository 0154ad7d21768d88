"""A trial as the searches and the stopping rules see it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vertex_emulator.tuning_jobs.study.measurements import Measurement
from vertex_emulator.tuning_jobs.study.study import Metric, Parameters


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One trial, from 1. `final` is there when it has succeeded; without it and ended it was infeasible.

    `end` is in microseconds since 1970. `stopped`: what stopped it, a "rule" early, or the "job".
    """

    number: int
    parameters: Parameters
    ended: bool = False
    final: Measurement | None = None
    measurements: Sequence[Measurement] = ()
    end: int = 0
    stopped: str = ""

    @property
    def completed(self) -> bool:
        """Whether it has succeeded."""
        return self.ended and self.final is not None

    @property
    def infeasible(self) -> bool:
        """Whether it has failed or did not report its metrics."""
        return self.ended and self.final is None

    @property
    def failed(self) -> bool:
        """Whether it is infeasible by itself."""
        return self.infeasible and not self.stopped

    def gains(self, metric: Metric) -> list[float]:
        """What it has measured of the metric, as values of which more is better."""
        return [
            metric.gain(each.metrics[metric.id]) for each in self.measurements if metric.id in each.metrics
        ]

    def final_gain(self, metric: Metric) -> float:
        """The final value of a trial that has succeeded, as one of which more is better."""
        assert self.final is not None  # noqa: S101 - of completed trials only
        return metric.gain(self.final.metrics[metric.id])
