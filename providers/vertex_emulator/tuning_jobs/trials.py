"""Trials as the API tells them, and as the searches and rules see them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vertex_emulator.tuning_jobs import trial_jobs
from vertex_emulator.tuning_jobs.notes import StudyNote
from vertex_emulator.tuning_jobs.study.measurements import Measurement, Trial, in_order
from vertex_emulator.tuning_jobs.study.study import Parameters, enum_name

REQUESTED = "REQUESTED"
ACTIVE = "ACTIVE"
STOPPING = "STOPPING"
SUCCEEDED = "SUCCEEDED"
INFEASIBLE = "INFEASIBLE"

LIVE = frozenset({REQUESTED, ACTIVE, STOPPING})


def state_of(trial: Any) -> str:
    """The name of a trial's state."""
    return enum_name(trial, "state")


def enter(trial: Any, state: str) -> None:
    """Put a `Trial` message into a state."""
    values = trial.DESCRIPTOR.fields_by_name["state"].enum_type.values_by_name
    trial.state = values[state].number


def is_live(trial: Any) -> bool:
    """Whether a trial has not ended."""
    return state_of(trial) in LIVE


def add(job: Any, parameters: Parameters) -> Any:
    """A further trial of a `HyperparameterTuningJob` message, which is requested."""
    number = len(job.trials) + 1
    trial = job.trials.add(name=f"{job.name}/trials/{number}", id=str(number))
    enter(trial, REQUESTED)
    trial_jobs.write(trial, parameters)
    return trial


def measurements_of(trial: Any) -> tuple[Measurement, ...]:
    """What a trial has measured."""
    return tuple(_read(each) for each in trial.measurements)


def tell_measurements(trial: Any, found: Sequence[Measurement]) -> None:
    """Put the measurements into a `Trial` message."""
    del trial.measurements[:]
    for each in in_order(found):
        _write(trial.measurements.add(), each)


def tell_final(trial: Any, found: Measurement) -> None:
    """Put the measurement that counts into a `Trial` message."""
    trial.ClearField("final_measurement")
    _write(trial.final_measurement, found)


def past_of(trial: Any, note: StudyNote, kinds: Mapping[str, str]) -> Trial:
    """One trial."""
    number = int(trial.id)
    succeeded = state_of(trial) == SUCCEEDED
    known = note.trials.get(number)
    return Trial(
        number=number,
        parameters=trial_jobs.read(trial, kinds),
        ended=not is_live(trial),
        final=_read(trial.final_measurement) if succeeded else None,
        measurements=measurements_of(trial),
        end=trial.end_time.ToMicroseconds(),
        stopped=known.stopped if known is not None else "",
    )


def _read(message: Any) -> Measurement:
    return Measurement(
        metrics={each.metric_id: each.value for each in message.metrics},
        step=message.step_count,
        elapsed=message.elapsed_duration.ToNanoseconds() / 1e9,
    )


def _write(message: Any, found: Measurement) -> None:
    message.step_count = found.step
    message.elapsed_duration.FromMicroseconds(round(found.elapsed * 1e6))
    for name, value in found.metrics.items():
        message.metrics.add(metric_id=name, value=value)
