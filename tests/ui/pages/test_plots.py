"""The pictures of trials: places, signs of early stops, the best so far, and gaps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.ui.source import plots
from pulumi_vertex_training.ui.source.tuning import Tuning
from vertex_training.job.job_spec import JobSpec
from vertex_training.study.study import (
    CategoricalValueSpec,
    DoubleValueSpec,
    MetricSpec,
    ParameterSpec,
    StudySpec,
)
from vertex_training.study.trials import Trial, best_trial
from vertex_training.study.tuning import TuningSpec

STUDY = StudySpec(
    metrics=(MetricSpec(metric_id="loss", goal="MINIMIZE"),),
    parameters=(
        ParameterSpec(
            parameter_id="rate",
            double_value_spec=DoubleValueSpec(min_value=0.001, max_value=0.1),
            scale_type="UNIT_LOG_SCALE",
        ),
        ParameterSpec(
            parameter_id="optimizer", categorical_value_spec=CategoricalValueSpec(values=("adam", "sgd"))
        ),
    ),
)


def trial(number: int, loss: float | None, *, state: str = "SUCCEEDED", **parameters: float | str) -> Trial:
    metrics = {} if loss is None else {"loss": loss}
    return Trial(id=str(number), state=state, metrics=metrics, parameters=parameters)


TRIALS = (
    trial(1, 0.5, rate=0.001, optimizer="adam"),
    trial(2, 0.9, rate=0.1, optimizer="sgd"),
    trial(3, None, state="INFEASIBLE", rate=0.01, optimizer="adam"),
    trial(4, 0.2, rate=0.01, optimizer="sgd"),
    trial(5, 0.1, state="ACTIVE", rate=0.05),
)


def tuning(*trials: Trial, study: StudySpec = STUDY, early: frozenset[str] = frozenset()) -> Tuning:
    name = "projects/1/locations/us-central1/hyperparameterTuningJobs/1"
    record = JobRecord(name=name, display_name="search", state=JobState.JOB_STATE_RUNNING)
    return Tuning(
        record=record,
        spec=TuningSpec(
            study_spec=study,
            max_trial_count=5,
            parallel_trial_count=1,
            trial_job_spec=JobSpec(worker_pool_specs=()),
        ),
        trials=trials,
        early=early,
        best=best_trial(trials, study),
        waits={},
    )


def test_each_trial_has_a_sign_of_its_state() -> None:
    plot = plots.metric_plot(tuning(*TRIALS, early=frozenset({"2"})))
    assert plot is not None
    assert [point.form for point in plot.points] == ["done", "early", "infeasible", "done", "running"]
    assert "stopped early" in plot.points[1].text and "so far" in plot.points[4].text
    heights = {point.trial: point.y for point in plot.points}
    assert heights["2"] < heights["1"] < heights["4"], "a smaller value is lower in the picture"
    assert heights["3"] == plot.bottom


def test_the_best_so_far_counts_trials_that_succeeded() -> None:
    plot = plots.metric_plot(tuning(*TRIALS))
    assert plot is not None
    first, fourth = plot.points[0], plot.points[3]
    assert plot.best.startswith(f"M{first.x} {first.y} ")
    assert plot.best.count("V") == 1 and f"V{fourth.y} " in plot.best
    assert plot.best.endswith(f"H{plot.points[4].x}")


def test_parameters_have_the_scale_of_the_study() -> None:
    plot = plots.parameter_plot(tuning(*TRIALS))
    assert plot is not None
    assert [axis.name for axis in plot.axes] == ["rate", "optimizer", "loss"]
    assert [tick.text for tick in plot.axes[0].ticks] == ["0.001", "0.01", "0.1"]
    lines = {line.trial: line for line in plot.lines}
    middle = (plot.top + plot.bottom) / 2
    assert lines["4"].path.startswith(f"M{plot.axes[0].x} {middle}")
    assert lines["4"].is_best and plot.lines[-1].trial == "4"
    assert lines["3"].shade == -1 and lines["3"].path.count("L") == 1
    assert lines["2"].shade < lines["1"].shade < lines["4"].shade
    assert lines["5"].path.count("M") == 2, "without the value in the middle, the line has a gap"


@pytest.mark.parametrize(
    "low, high, ticks",
    [
        (0.0001, 0.3, ["0.0001", "0.001", "0.01", "0.1", "0.3"]),
        (0.0009, 1.0, ["0.0009", "0.01", "0.1", "1"]),
        (2, 9, ["2", "2.913", "4.243", "6.179", "9"]),
        (1e-24, 1.0, ["1e-24", "1e-22", "1e-19", "1e-16", "1e-13", "1e-10", "1e-07", "0.0001", "1"]),
    ],
)
def test_a_logarithmic_axis_names_its_bounds_and_powers_of_ten(
    low: float, high: float, ticks: list[str]
) -> None:
    bounds = DoubleValueSpec(min_value=low, max_value=high)
    rate = ParameterSpec(parameter_id="rate", double_value_spec=bounds, scale_type="UNIT_LOG_SCALE")
    plot = plots.parameter_plot(tuning(*TRIALS, study=replace(STUDY, parameters=(rate,))))
    assert plot is not None
    found = plot.axes[0].ticks
    assert [tick.text for tick in found] == ticks
    heights = [tick.at for tick in found]
    assert heights == sorted(heights, reverse=True) and heights[0] == plot.bottom and heights[-1] == plot.top


def test_a_trial_that_runs_does_not_look_failed() -> None:
    trials = (*TRIALS, trial(6, None, state="ACTIVE", rate=0.05, optimizer="adam"))
    plot, lines = plots.metric_plot(tuning(*trials)), plots.parameter_plot(tuning(*trials))
    assert plot is not None and lines is not None
    assert (plot.points[5].form, plot.points[5].text) == ("unreported", "trial 6: nothing reported yet")
    assert {line.trial: line.is_live for line in lines.lines if line.shade == -1} == {"3": False, "6": True}
    waiting = replace(tuning(*trials), waits={"6": "9 replica slots (`x`)"})
    assert [(row.state, row.why) for row in waiting.rows()[4:]] == [
        ("RUNNING", ""),
        ("WAITING", "waits for 9 replica slots"),
    ]
    assert dict(waiting.counts)["running"] == dict(waiting.counts)["waiting"] == 1


def test_a_small_difference_does_not_look_large() -> None:
    plot = plots.metric_plot(tuning(trial(1, 0.8635, rate=0.01), trial(2, 0.865, rate=0.02)))
    assert plot is not None
    assert abs(plot.points[0].y - plot.points[1].y) < (plot.bottom - plot.top) / 8


@pytest.mark.parametrize("value", [0.0, 1e308, -1e308, 1e-320])
def test_any_value_has_a_place(value: float) -> None:
    for values in ([value], [value, -value], [1e308, value]):
        trials = [trial(number, each, rate=0.01) for number, each in enumerate(values, start=1)]
        plot, lines = plots.metric_plot(tuning(*trials)), plots.parameter_plot(tuning(*trials))
        assert plot is not None and lines is not None
        assert all(0 <= point.y <= plot.height for point in plot.points), plot.points
        assert len(plot.values) < 12
        assert "nan" not in str(lines.lines) and "inf" not in str(lines.lines)


def test_without_values_there_is_no_picture() -> None:
    none = tuning(trial(1, None, state="REQUESTED"))
    assert plots.metric_plot(none) is None and plots.parameter_plot(none) is None
    no_goal = tuning(trial(1, 1.0, rate=0.01), study=replace(STUDY, metrics=()))
    assert plots.metric_plot(no_goal) is None
    found = plots.parameter_plot(no_goal)
    assert found is not None and [axis.name for axis in found.axes] == ["rate", "optimizer"]
