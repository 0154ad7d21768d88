"""Which values the next trial gets. Pure but for the import of the library, and repeatable by its seed."""

from __future__ import annotations

from collections.abc import Sequence

from vertex_emulator.tuning_jobs.study import bayesian, random_search
from vertex_emulator.tuning_jobs.study.measurements import Trial
from vertex_emulator.tuning_jobs.study.study import Study, Value


def suggest(study: Study, trials: Sequence[Trial], *, seed: int) -> dict[str, Value] | None:
    """The values of the trial after `trials`, which are all so far in their order; None: nothing is left."""
    if study.algorithm == "GRID":
        return random_search.combination(study.parameters, len(trials))
    if study.algorithm == "RANDOM":
        return random_search.sample(study.parameters, seed=seed, number=len(trials) + 1)
    return bayesian.suggest(study, trials, seed=seed)
