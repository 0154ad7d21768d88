"""The rules of a tuning job, without its study and its trials' job spec."""

from __future__ import annotations

from collections.abc import Iterator

from vertex_training.catalog.machines import is_tpu
from vertex_training.findings.options import DEFAULT_OPTIONS, CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import counted, shown
from vertex_training.job.rules.job_spec import job_spec_problems
from vertex_training.study.rules.study import study_problems
from vertex_training.study.search_space import MOST_POINTS, points, points_in_words, walk
from vertex_training.study.tuning import TuningSpec

_JOB = "Vertex AI API, HyperparameterTuningJob"
_CREATE = 'Vertex AI documentation, "Create a hyperparameter tuning job"'
_OVERVIEW = 'Vertex AI documentation, "Overview of hyperparameter tuning"'

MOST_TRIALS = 2**31 - 1
"""The largest number of trials that the API can represent."""

TRIAL_COUNTS = Rule(
    name="trial-counts",
    says="a tuning job has at least one trial, and at least one at a time",
    source=_JOB,
)
PARALLEL_TRIALS = Rule(
    name="parallel-trials",
    says="the parallel trials are not more than all trials",
    source=f"{_JOB}.parallel_trial_count",
)
FAILED_TRIALS = Rule(
    name="failed-trials",
    says="the failed trials that end a job are not more than its trials",
    source=f"{_CREATE}, failed trials",
)
PARALLEL_LEARNING = Rule(
    name="parallel-learning",
    says="Bayesian optimization needs results before it starts the next trials",
    source=f"{_CREATE}, parallel trials",
    level="warning",
)
GRID_SIZE = Rule(
    name="grid-size",
    says="a grid search has as many trials as its grid has points",
    source="ours: with fewer trials a part of the grid is never tried, with more nothing is left to try",
    level="warning",
)
FEW_POINTS = Rule(
    name="few-points",
    says="if there are more trials than different values, grid search repeats no trial",
    source=f"{_OVERVIEW}, search algorithms",
    level="warning",
)
STUDY_UNREACHABLE = Rule(
    name="study-unreachable",
    says="a condition that ends a study early can be met before its last trial",
    source="ours: a tuning job ends at max_trial_count, so a later condition never counts",
    level="warning",
)
ARGUMENT_TWICE = Rule(
    name="parameter-collides",
    says="the task does not set the argument of a parameter",
    source="ours: a trial gets the argument twice, and which one counts is up to the program",
    level="warning",
)
TUNING_TPU = Rule(name="tuning-tpu", says="tuning jobs do not run on TPUs", source=_CREATE)
TRIAL_OUTPUT = Rule(
    name="trial-output",
    says="trials write their models below an output directory",
    source="Vertex AI API, CustomJobSpec.base_output_directory",
    level="warning",
)


def tuning_problems(
    spec: TuningSpec,
    path: str = "",
    *,
    options: CheckOptions = DEFAULT_OPTIONS,
    has_output: bool = False,
) -> Iterator[Problem]:
    """Yield every finding about a tuning job, in the order of its fields; `path` is its path in the resource.

    `has_output` means that the run gets an output directory although the spec declares none.
    """
    at = f"{path}." if path else ""
    yield from study_problems(spec.study_spec, f"{at}study_spec")
    yield from _count_problems(spec, at)
    yield from _space_problems(spec, at)
    yield from _stopping_problems(spec, at)
    yield from job_spec_problems(
        spec.trial_job_spec, f"{at}trial_job_spec", options=options, has_output=has_output
    )
    yield from _task_problems(spec, at)
    if not spec.trial_job_spec.base_output_directory and not has_output:
        below = f"{at}trial_job_spec.base_output_directory"
        yield TRIAL_OUTPUT.broken(
            below,
            "is missing, and so is a staging bucket; the trials get no AIP_MODEL_DIR, and the best one has "
            "no model. Give one of the two",
            rests_on=(below, "staging_bucket"),
        )


def _count_problems(spec: TuningSpec, at: str) -> Iterator[Problem]:
    for name, least in (("max_trial_count", 1), ("parallel_trial_count", 1), ("max_failed_trial_count", 0)):
        number = getattr(spec, name)
        if not least <= number <= MOST_TRIALS:
            bound = f"at least {least}" if number < least else f"at most {MOST_TRIALS}"
            yield TRIAL_COUNTS.broken(f"{at}{name}", f"{number} is not a number of trials; give {bound}")
    both = (f"{at}parallel_trial_count", f"{at}max_trial_count")
    most, parallel = spec.max_trial_count, spec.parallel_trial_count
    if most < 1:
        return
    if parallel > most:
        yield PARALLEL_TRIALS.broken(
            f"{at}parallel_trial_count",
            f"{parallel} parallel trials are more than the {most} in total; give at most {most}",
            rests_on=both,
        )
    elif parallel == most > 1 and _learns(spec):
        yield PARALLEL_LEARNING.broken(
            f"{at}parallel_trial_count",
            f"all {most} trials start at once, so none learns from another; give fewer at a time, or use "
            "RANDOM_SEARCH",
            rests_on=(*both, f"{at}study_spec.algorithm"),
        )
    if spec.max_failed_trial_count > most:
        yield FAILED_TRIALS.broken(
            f"{at}max_failed_trial_count",
            f"{spec.max_failed_trial_count} failed trials are more than the {most} in total; give at most "
            f"{most}",
            rests_on=(f"{at}max_failed_trial_count", f"{at}max_trial_count"),
        )


def _learns(spec: TuningSpec) -> bool:
    return spec.study_spec.algorithm in (None, "", "ALGORITHM_UNSPECIFIED")


def _space_problems(spec: TuningSpec, at: str) -> Iterator[Problem]:
    study, most = spec.study_spec, spec.max_trial_count
    number = points(study.parameters) if study.parameters else None
    if number is None or number < 1 or most < 1 or number == most:
        return
    path, total = f"{at}max_trial_count", points_in_words(number)
    bases = (path, f"{at}study_spec.parameters.*", f"{at}study_spec.algorithm")
    if study.algorithm == "GRID_SEARCH":
        fault = (
            f"only {most} of the {total} points of the grid are tried; "
            f"{f'give {number}, or ' if number <= MOST_POINTS else ''}use RANDOM_SEARCH"
            if number > most
            else f"{most} trials, but the grid has only {counted(number, 'point')}; give {number}"
        )
        yield GRID_SIZE.broken(path, fault, rests_on=bases)
    elif most > number:
        different = counted(number, "different combination")
        yield FEW_POINTS.broken(
            path,
            f"{most} trials, but only {different}; give {number} and use GRID_SEARCH, which repeats no trial",
            rests_on=bases,
        )


def _stopping_problems(spec: TuningSpec, at: str) -> Iterator[Problem]:
    config, most = spec.study_spec.study_stopping_config, spec.max_trial_count
    if config is None or most < 1:
        return
    for name in ("min_num_trials", "max_num_trials", "max_num_trials_no_progress"):
        number = getattr(config, name)
        if number is not None and number > most:
            path = f"{at}study_spec.study_stopping_config.{name}"
            yield STUDY_UNREACHABLE.broken(
                path,
                f"{number} is never reached with {most} trials in total; give fewer, or leave it out",
                rests_on=(path, f"{at}max_trial_count"),
            )


def _task_problems(spec: TuningSpec, at: str) -> Iterator[Problem]:
    nodes = tuple(walk(spec.study_spec.parameters, f"{at}study_spec.parameters"))
    names = {node.spec.parameter_id: node.path for node in nodes if node.spec.parameter_id}
    for i, pool in enumerate(spec.trial_job_spec.worker_pool_specs):
        below = f"{at}trial_job_spec.worker_pool_specs[{i}]"
        if pool.is_empty:
            continue
        if is_tpu(pool.machine_type):
            yield TUNING_TPU.broken(
                f"{below}.machine_spec.machine_type",
                f"{pool.machine_type} is a TPU, on which tuning jobs do not run; use a machine with GPUs",
                rests_on=(f"{below}.machine_spec.machine_type", f"{below}.replica_count"),
            )
        task = "container_spec" if pool.container_spec else "python_package_spec"
        for j, argument in enumerate(pool.task.args if pool.task else ()):
            name = argument.partition("=")[0].removeprefix("--")
            if argument.startswith("--") and name in names:
                path = f"{below}.{task}.args[{j}]"
                yield ARGUMENT_TWICE.broken(
                    path,
                    f"{shown(argument)} is what the parameter of {names[name]} gives to each trial; leave it "
                    "out, or give the parameter another id",
                    rests_on=(path, f"{names[name]}.parameter_id"),
                )
