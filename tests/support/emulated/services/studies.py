"""Studies of tuning jobs for tests: the API's JSON, messages, and trials without a job."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from google.protobuf import json_format

from vertex_emulator.jobs.tuning.study import search
from vertex_emulator.jobs.tuning.study.measurements import Measurement, Trial
from vertex_emulator.jobs.tuning.study.study import Parameters, Study, read
from vertex_emulator.server.rpc import descriptors

MINIMIZE = [{"metricId": "loss", "goal": "MINIMIZE"}]
MAXIMIZE = [{"metricId": "accuracy", "goal": "MAXIMIZE"}]


def double(name: str, low: float = 0.0, high: float = 1.0, **more: Any) -> dict[str, Any]:
    return {"parameterId": name, "doubleValueSpec": {"minValue": low, "maxValue": high}, **more}


def integer(name: str, low: int, high: int, **more: Any) -> dict[str, Any]:
    return {"parameterId": name, "integerValueSpec": {"minValue": low, "maxValue": high}, **more}


def discrete(name: str, *values: float, **more: Any) -> dict[str, Any]:
    return {"parameterId": name, "discreteValueSpec": {"values": list(values)}, **more}


def categorical(name: str, *values: str, **more: Any) -> dict[str, Any]:
    return {"parameterId": name, "categoricalValueSpec": {"values": list(values)}, **more}


def below(parameter: Mapping[str, Any], *values: Any) -> dict[str, Any]:
    """Return a conditional parameter, active while the parent has one of these values."""
    kind = {str: "parentCategoricalValues", int: "parentIntValues", float: "parentDiscreteValues"}
    return {"parameterSpec": parameter, kind[type(values[0])]: {"values": list(values)}}


def study_spec(
    *parameters: Mapping[str, Any], metrics: Sequence[Any] = MAXIMIZE, **more: Any
) -> dict[str, Any]:
    return {"metrics": list(metrics), "parameters": list(parameters or [double("x")]), **more}


def study(*parameters: Mapping[str, Any], **more: Any) -> Study:
    message = descriptors.message("google.cloud.aiplatform.v1.StudySpec")
    json_format.ParseDict(study_spec(*parameters, **more), message, descriptor_pool=descriptors.pool())
    return read(message)


def trial(
    number: int = 1,
    values: Sequence[float] = (),
    *,
    metric: str = "accuracy",
    ended: bool = True,
    step: int = 1,
    seconds: float = 1.0,
    **more: Any,
) -> Trial:
    """Return a trial with these measurements, at the steps `step`, 2 * `step`, and so on."""
    found = [
        Measurement(metrics={metric: value}, step=step * (i + 1), elapsed=seconds * (i + 1))
        for i, value in enumerate(values)
    ]
    final = found[-1] if ended and found else None
    return Trial(
        **{"number": number, "parameters": {}, "ended": ended, "final": final, "measurements": found, **more}
    )


def searched(study: Study, measure: Callable[[Parameters], float], *, seed: int, count: int) -> list[Trial]:
    """Return at most `count` trials, each suggested after the one before has ended."""
    done: list[Trial] = []
    metric = study.objectives[0].id
    while len(done) < count:
        parameters = search.suggest(study, done, seed=seed)
        if parameters is None:
            break
        measured = Measurement(metrics={metric: measure(parameters)})
        done.append(Trial(number=len(done) + 1, parameters=parameters, ended=True, final=measured))
    return done
