"""Trials: as API messages, as input of searches and rules, and as custom jobs.

Google's samples read arguments with argparse, and integers with `type=int`, also integers of DISCRETE
parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vertex_emulator.job_folder.folder import JobFolder
from vertex_emulator.jobs.custom.store import CUSTOM_JOB
from vertex_emulator.jobs.tuning import metric_file
from vertex_emulator.jobs.tuning.metric_file import Entry, Seen
from vertex_emulator.jobs.tuning.notes import StudyNote
from vertex_emulator.jobs.tuning.study.measurements import Measurement, Report, Trial, in_order
from vertex_emulator.jobs.tuning.study.study import Parameter, Parameters, Study, Value, enum_name, every
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.replicas.plan import Addition
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage

REQUESTED = "REQUESTED"
ACTIVE = "ACTIVE"
STOPPING = "STOPPING"
SUCCEEDED = "SUCCEEDED"
INFEASIBLE = "INFEASIBLE"

LIVE = frozenset({REQUESTED, ACTIVE, STOPPING})


def state_of(trial: DynamicMessage) -> str:
    """Return the name of a trial's state."""
    return enum_name(trial, "state")


def enter(trial: DynamicMessage, state: str) -> None:
    """Set the state of a `Trial` message."""
    values = trial.DESCRIPTOR.fields_by_name["state"].enum_type.values_by_name
    trial.state = values[state].number


def is_live(trial: DynamicMessage) -> bool:
    """Return whether a trial has not ended."""
    return state_of(trial) in LIVE


def add(job: DynamicMessage, parameters: Parameters) -> DynamicMessage:
    """Add a requested trial to a `HyperparameterTuningJob` message."""
    number = len(job.trials) + 1
    trial: DynamicMessage = job.trials.add(name=f"{job.name}/trials/{number}", id=str(number))
    enter(trial, REQUESTED)
    set_parameters(trial, parameters)
    return trial


def measurements_of(trial: DynamicMessage) -> tuple[Measurement, ...]:
    """Return the measurements of a trial."""
    return tuple(_read(each) for each in trial.measurements)


def set_measurements(trial: DynamicMessage, found: Sequence[Measurement]) -> None:
    """Replace the measurements of a `Trial` message."""
    del trial.measurements[:]
    for each in in_order(found):
        _write(trial.measurements.add(), each)


def set_final(trial: DynamicMessage, found: Measurement) -> None:
    """Set the final measurement of a `Trial` message."""
    trial.ClearField("final_measurement")
    _write(trial.final_measurement, found)


def study_trial(trial: DynamicMessage, note: StudyNote, kinds: Mapping[str, str]) -> Trial:
    """Return a `Trial` message in the form that searches and rules use."""
    number = int(trial.id)
    succeeded = state_of(trial) == SUCCEEDED
    known = note.trials.get(number)
    return Trial(
        number=number,
        parameters=parameters_of(trial, kinds),
        ended=not is_live(trial),
        final=_read(trial.final_measurement) if succeeded else None,
        measurements=measurements_of(trial),
        end=trial.end_time.ToMicroseconds(),
        stopped=known.stopped if known is not None else "",
    )


def _read(message: DynamicMessage) -> Measurement:
    return Measurement(
        metrics={each.metric_id: each.value for each in message.metrics},
        step=message.step_count,
        elapsed=message.elapsed_duration.ToNanoseconds() / 1e9,
    )


def _write(message: DynamicMessage, found: Measurement) -> None:
    message.step_count = found.step
    message.elapsed_duration.FromMicroseconds(round(found.elapsed * 1e6))
    for name, value in found.metrics.items():
        message.metrics.add(metric_id=name, value=value)


def arguments(parameters: Mapping[str, Value], kinds: Mapping[str, str]) -> list[str]:
    """Return one argument for each parameter, such as `--learning_rate=0.001`.

    `kinds` has the kind of each parameter: an integer value of a DISCRETE parameter is written without a
    point.
    """
    return [f"--{name}={argument_text(value, kinds.get(name, ''))}" for name, value in parameters.items()]


def argument_text(value: Value, kind: str) -> str:
    """Return the value in an argument. A float is parsed to exactly the same value."""
    if kind == "DISCRETE" and isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return value if isinstance(value, str) else repr(value)


def kinds_of(parameters: tuple[Parameter, ...]) -> dict[str, str]:
    """Return the kind of each parameter of a study by ID."""
    return {each.id: each.kind for each in every(parameters)}


def add_to_pools(job_spec: DynamicMessage, words: list[str]) -> None:
    """Append arguments to every pool of a `CustomJobSpec` message."""
    for pool in job_spec.worker_pool_specs:
        task = pool.WhichOneof("task")
        if task is not None:
            getattr(pool, task).args.extend(words)


def set_parameters(trial: DynamicMessage, parameters: Mapping[str, Value]) -> None:
    """Set the parameters of a `Trial` message."""
    for name, value in parameters.items():
        parameter = trial.parameters.add(parameter_id=name)
        if isinstance(value, str):
            parameter.value.string_value = value
        else:
            parameter.value.number_value = float(value)


def parameters_of(trial: DynamicMessage, kinds: Mapping[str, str]) -> dict[str, Value]:
    """Return the parameters of a `Trial` message."""
    parameters: dict[str, Value] = {}
    for each in trial.parameters:
        if each.value.WhichOneof("kind") == "string_value":
            parameters[each.parameter_id] = each.value.string_value
        elif kinds.get(each.parameter_id) == "INTEGER":
            parameters[each.parameter_id] = int(each.value.number_value)
        else:
            parameters[each.parameter_id] = each.value.number_value
    return parameters


PRIMARY = "workerpool0-0"
"""The replica whose metrics are used, because its end is the end of the job.

Other replicas may report, too, each in its own file. With a synchronous strategy, they report the same
values.
"""

_MAX_DISPLAY_NAME = 128


def custom_job(
    tuning_job: DynamicMessage, study: Study, number: int, parameters: Parameters
) -> DynamicMessage:
    """Return the custom job of a trial.

    "The baseOutputDirectory of each child CustomJob backing a Trial is set to a subdirectory of name id under
    its parent HyperparameterTuningJob's baseOutputDirectory" (API, `CustomJobSpec`). Labels apply to the
    tuning job only.
    """
    job = descriptors.message(CUSTOM_JOB)
    suffix = f"-trial-{number}"
    job.display_name = tuning_job.display_name[: _MAX_DISPLAY_NAME - len(suffix)] + suffix
    job.job_spec.CopyFrom(tuning_job.trial_job_spec)
    if tuning_job.HasField("encryption_spec"):
        job.encryption_spec.CopyFrom(tuning_job.encryption_spec)
    directory = tuning_job.trial_job_spec.base_output_directory.output_uri_prefix
    if directory:
        job.job_spec.base_output_directory.output_uri_prefix = f"{directory.rstrip('/')}/{number}/"
    add_to_pools(job.job_spec, arguments(parameters, kinds_of(study.parameters)))
    return job


def addition(study: Study, number: int, variables: dict[str, str]) -> Addition:
    """Return the environment variables of a trial's replicas.

    Some programs read the metric's name from the tag.
    """
    return Addition(trial=str(number), variables={**variables, "CLOUD_ML_HP_METRIC_TAG": study.metrics[0].id})


class MetricReader:
    """Reads the metric files of trials after they have changed."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._stamps: dict[str, metric_file.Stamp | None] = {}

    def read(self, folder: JobFolder, seen: Seen, *, start: int, complete: bool) -> tuple[list[Report], Seen]:
        """Return new reports, and the lines that have been read then.

        `start` is the start of the trial in microseconds since 1970. `complete` means that the program has
        ended.
        """
        path, key = folder.metric_file(PRIMARY), str(folder.path)
        stamp = metric_file.stamp(path)
        if not complete and self._stamps.get(key) == stamp:
            return [], seen
        self._stamps[key] = stamp
        if complete:
            del self._stamps[key]
        lines, now_seen = seen.new(metric_file.read_lines(path, complete=complete))
        return [self._report(each, start) for each in metric_file.entries(lines)], now_seen

    def forget(self, folder: JobFolder) -> None:
        """Drop the state of a trial that has ended."""
        self._stamps.pop(str(folder.path), None)

    def _report(self, entry: Entry, start: int) -> Report:
        """Convert an entry to a report.

        Timestamps are by the machine's clock; an invalid one is replaced by now.
        """
        now = self._clock.microseconds()
        at = now
        if entry.timestamp is not None and 0 < entry.timestamp < 2**40:
            at = self._clock.setting.utc_at(round(entry.timestamp * 1e6))
        elapsed = (min(max(at, start), max(now, start)) - start) / 1e6
        return Report(metric=entry.metric, value=entry.value, step=entry.step, elapsed=elapsed)
