"""The search of a study: grid, random, or Bayesian with Optuna's tree-structured Parzen estimator.

Vertex AI's own algorithm (Vizier) is a Gaussian process whose code is not public. The emulator's search
learns from trials, too, and is reproducible. As in the service, the first trial is in the middle of the space
(documentation, "Create a hyperparameter tuning job", the response to a get: 0.500005 between 1e-05 and 1).
Optuna is in the extra `tuning`. Importing it takes 0.3 s, so the first suggestion that needs it does.

Combinations of a grid are counted, not listed: an integer parameter may have more values than fit into
memory.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from vertex_emulator.jobs.tuning.study.measurements import Trial
from vertex_emulator.jobs.tuning.study.study import (
    Parameter,
    Parameters,
    Study,
    Value,
    choose,
    enum_name,
    every,
)
from vertex_emulator.server.rpc.descriptors import DynamicMessage

if TYPE_CHECKING:
    import optuna


def sample(parameters: Sequence[Parameter], *, seed: int, number: int) -> dict[str, Value]:
    """Return random values for the trial of that number."""
    source = random.Random(f"{seed}/{number}")  # noqa: S311 - a search, not a secret
    return choose(parameters, lambda parameter, _: pick(parameter, source.random()))


def middle(parameters: Sequence[Parameter]) -> dict[str, Value]:
    """Return the middle of each parameter's scaled range."""
    return choose(parameters, lambda parameter, _: pick(parameter, 0.5))


def pick(parameter: Parameter, unit: float) -> Value:
    """Return the value at a point of the parameter's scaled range, which is from 0 to 1."""
    if parameter.kind in ("CATEGORICAL", "DISCRETE"):
        return parameter.values[min(int(unit * len(parameter.values)), len(parameter.values) - 1)]
    if parameter.kind == "DOUBLE":
        return unscaled(parameter.low, parameter.high, parameter.scale, unit)
    low, high = int(parameter.low), int(parameter.high)
    if parameter.scale == "LINEAR":
        return min(low + int(unit * (high - low + 1)), high)
    return min(max(round(unscaled(low - 0.5, high + 0.5, parameter.scale, unit)), low), high)


def unscaled(low: float, high: float, scale: str, unit: float) -> float:
    """Return the value between `low` and `high` at a point of the scaled range, which is from 0 to 1."""
    if scale == "REVERSE_LOG":
        return min(max(low + high - unscaled(low, high, "LOG", 1.0 - unit), low), high)
    if scale == "LOG":
        value = math.exp(math.log(low) * (1.0 - unit) + math.log(high) * unit)
    else:
        value = low * (1.0 - unit) + high * unit
    return min(max(value, low), high)


def size(parameters: Sequence[Parameter]) -> int:
    """Return the number of combinations."""
    return prod(
        sum(len(values) * size(children) for values, children in _segments(each)) for each in parameters
    )


def combination(parameters: Sequence[Parameter], index: int) -> dict[str, Value] | None:
    """Return the combination of that number from 0, or None past the last.

    The last parameter changes first.
    """
    if not 0 <= index < size(parameters):
        return None
    chosen: dict[str, Value] = {}
    rest = index
    for position, parameter in enumerate(parameters):
        below = size(parameters[position + 1 :])
        mine, rest = divmod(rest, below)
        chosen.update(_combination(parameter, mine))
    return chosen


def _combination(parameter: Parameter, index: int) -> dict[str, Value]:
    rest = index
    for values, children in _segments(parameter):
        each = size(children)
        if rest < len(values) * each:
            position, below = divmod(rest, each)
            return {parameter.id: values[position], **(combination(children, below) or {})}
        rest -= len(values) * each
    raise IndexError(index)


def _segments(parameter: Parameter) -> Iterator[tuple[Sequence[Value], list[Parameter]]]:
    """Yield the values in order; consecutive values with the same active parameters are grouped."""
    if parameter.kind != "INTEGER":
        for value in parameter.values:
            yield (value,), [child for _, child in parameter.active(value)]
        return
    low, high = int(parameter.low), int(parameter.high)
    special = sorted(
        {int(value) for each in parameter.conditions for value in each.values if not isinstance(value, str)}
    )
    for value in (each for each in special if low <= each <= high):
        if low < value:
            yield range(low, value), []
        yield (value,), [child for _, child in parameter.active(value)]
        low = value + 1
    if low <= high:
        yield range(low, high + 1), []


RANDOM_TRIALS = 5
"""Number of random trials before the search learns."""


def learns(tuning_job: DynamicMessage) -> bool:
    """Return whether the search learns from the trials of a job, for which it needs the extra `tuning`."""
    algorithm = enum_name(tuning_job.study_spec, "algorithm")
    return algorithm not in ("GRID_SEARCH", "RANDOM_SEARCH") and tuning_job.max_trial_count > RANDOM_TRIALS


def suggest_bayesian(study: Study, trials: Sequence[Trial], *, seed: int) -> dict[str, Value]:
    """Return the values of the next trial, considering all trials so far, also running ones."""
    number = len(trials) + 1
    if not trials:
        return middle(study.parameters)
    if sum(each.completed for each in trials) < RANDOM_TRIALS or _is_too_fine(study):
        return sample(study.parameters, seed=seed, number=number)
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(
        n_startup_trials=1, n_ei_candidates=48, multivariate=_all_at_once(study), seed=_seed(seed, number)
    )
    search = optuna.create_study(
        directions=["maximize" if each.maximize else "minimize" for each in study.objectives], sampler=sampler
    )
    worst = _worst(study, trials)
    search.add_trials([_known(study, each, worst) for each in trials])
    asked = search.ask()
    return choose(
        study.parameters, lambda parameter, path: _value(parameter, _suggest(asked, parameter, path))
    )


def _is_too_fine(study: Study) -> bool:
    """Return whether an integer range exceeds the precision of a double, which Optuna uses."""
    return any(
        each.kind == "INTEGER" and max(-each.low, each.high) > 2**53 for each in every(study.parameters)
    )


def _all_at_once(study: Study) -> bool:
    """Return whether parameters can be sampled jointly, that is, none is conditional."""
    return not any(each.conditions for each in study.parameters)


def _seed(seed: int, number: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}/{number}".encode()).digest()[:4], "big")


def _worst(study: Study, trials: Sequence[Trial]) -> list[float]:
    """Return the worst values so far, which a failed trial counts as, so that the search avoids it."""
    values = []
    for metric in study.objectives:
        gain = min(each.final_gain(metric) for each in trials if each.completed)
        values.append(metric.gain(gain))
    return values


def _known(study: Study, trial: Trial, worst: Sequence[float]) -> optuna.trial.FrozenTrial:
    import optuna

    params: dict[str, Any] = {}
    distributions: dict[str, Any] = {}

    def remember(parameter: Parameter, path: str) -> Value:
        distributions[path] = _distribution(parameter)
        params[path] = _coordinate(parameter, trial.parameters)
        return trial.parameters[parameter.id]

    choose(study.parameters, remember)
    if not trial.ended:
        state, values = optuna.trial.TrialState.RUNNING, None
    else:
        state = optuna.trial.TrialState.COMPLETE
        values = list(worst)
        if trial.final is not None:
            values = [trial.final.metrics[each.id] for each in study.objectives]
    return optuna.trial.create_trial(
        state=state,
        values=values,
        params=params,
        distributions=distributions,
        constraints=_constraints(study, trial) or None,
    )


def _constraints(study: Study, trial: Trial) -> dict[str, float]:
    """Return the distance of each safety metric from its threshold; at most 0 is safe."""
    if not trial.ended:
        return {}
    constraints = {}
    for metric in study.metrics:
        if metric.threshold is not None:
            value = trial.final.metrics[metric.id] if trial.final is not None else None
            constraints[metric.id] = (
                1.0 if value is None else metric.gain(metric.threshold) - metric.gain(value)
            )
    return constraints


def _distribution(parameter: Parameter) -> Any:
    from optuna import distributions as optuna

    log = parameter.scale != "LINEAR"
    if parameter.kind == "DOUBLE":
        return optuna.FloatDistribution(parameter.low, parameter.high, log=log)
    if parameter.kind == "INTEGER":
        return optuna.IntDistribution(int(parameter.low), int(parameter.high), log=log)
    if parameter.kind == "DISCRETE":
        return optuna.IntDistribution(0, len(parameter.values) - 1)
    return optuna.CategoricalDistribution(tuple(range(len(parameter.values))))


def _suggest(asked: optuna.trial.Trial, parameter: Parameter, path: str) -> float:
    one = _distribution(parameter)
    if parameter.kind == "DOUBLE":
        return asked.suggest_float(path, one.low, one.high, log=one.log)
    if parameter.kind == "CATEGORICAL":
        position: float = asked.suggest_categorical(path, one.choices)
        return position
    return asked.suggest_int(path, one.low, one.high, log=one.log)


def _coordinate(parameter: Parameter, parameters: Parameters) -> float:
    """Return the value as Optuna's coordinate: an index in a list, or mirrored for a reverse log scale."""
    value = parameters[parameter.id]
    if parameter.kind in ("CATEGORICAL", "DISCRETE"):
        return parameter.values.index(value)
    assert not isinstance(value, str)  # noqa: S101 - the parameter is numeric
    return _mirrored(parameter, value)


def _value(parameter: Parameter, coordinate: float) -> Value:
    if parameter.kind in ("CATEGORICAL", "DISCRETE"):
        return parameter.values[int(coordinate)]
    value = _mirrored(parameter, coordinate)
    return int(value) if parameter.kind == "INTEGER" else value


def _mirrored(parameter: Parameter, value: float) -> float:
    if parameter.scale != "REVERSE_LOG":
        return value
    mirrored: float = parameter.low + parameter.high - value
    return min(max(mirrored, parameter.low), parameter.high)


def suggest(study: Study, trials: Sequence[Trial], *, seed: int) -> dict[str, Value] | None:
    """Return the values of the trial after all `trials` so far, or None if no combination is left."""
    if study.algorithm == "GRID":
        return combination(study.parameters, len(trials))
    if study.algorithm == "RANDOM":
        return sample(study.parameters, seed=seed, number=len(trials) + 1)
    return suggest_bayesian(study, trials, seed=seed)
