"""Early stopping of running trials by each of the three rules."""

from __future__ import annotations

from typing import Any

import pytest

from support.emulated.services.studies import MINIMIZE, study, trial
from vertex_emulator.jobs.tuning.study import stopping
from vertex_emulator.jobs.tuning.study.measurements import Trial
from vertex_emulator.jobs.tuning.study.stopping import stops_early

MEDIAN: dict[str, Any] = {"medianAutomatedStoppingSpec": {}}
DECAY: dict[str, Any] = {"decayCurveStoppingSpec": {}}
CONVEX: dict[str, Any] = {"convexAutomatedStoppingSpec": {"minMeasurementCount": 3}}
GOOD = [trial(n, [0.5, 0.7, 0.8, 0.85, 0.88 + n / 1000]) for n in range(1, 6)]


def rising(end: float, count: int) -> list[float]:
    """Return the first values of a curve of ten that approaches `end`."""
    return [end * (1 - 0.6 ** (i + 1)) for i in range(count)]


def running(values: list[float], **more: Any) -> Trial:
    return trial(9, values, ended=False, **more)


@pytest.mark.parametrize("rule", [{}, MEDIAN, DECAY, CONVEX], ids=["none", "median", "decay", "convex"])
def test_a_good_trial_goes_on(rule: dict[str, Any]) -> None:
    assert not stops_early(study(**rule), running([0.55, 0.75, 0.85, 0.9]), GOOD)


@pytest.mark.parity(
    "Tuning jobs: early stopping",
    own_way="all three rules with their documented fields; a real process is stopped",
    fields=(
        "study_spec.decay_curve_stopping_spec",
        "study_spec.median_automated_stopping_spec",
        "study_spec.convex_automated_stopping_spec",
    ),
)
@pytest.mark.parametrize("rule", [MEDIAN, DECAY, CONVEX], ids=["median", "decay", "convex"])
def test_a_bad_trial_is_stopped(rule: dict[str, Any]) -> None:
    assert stops_early(study(**rule), running([0.1, 0.11, 0.111, 0.1111]), GOOD)


def test_without_a_rule_a_bad_trial_goes_on() -> None:
    assert not stops_early(study(), running([0.1, 0.11, 0.111, 0.1111]), GOOD)


@pytest.mark.parametrize("rule", [MEDIAN, DECAY, CONVEX], ids=["median", "decay", "convex"])
def test_nothing_is_stopped_before_a_trial_has_completed(rule: dict[str, Any]) -> None:
    others = [trial(n, [0.9, 0.9], ended=False) for n in range(1, 7)]
    assert not stops_early(study(**rule), running([0.1, 0.11, 0.12, 0.13]), others)


@pytest.mark.parametrize("rule", [MEDIAN, DECAY, CONVEX], ids=["median", "decay", "convex"])
def test_nothing_is_stopped_before_it_has_measured(rule: dict[str, Any]) -> None:
    assert not stops_early(study(**rule), running([]), GOOD)


@pytest.mark.parametrize("rule", [MEDIAN, DECAY, CONVEX], ids=["median", "decay", "convex"])
def test_less_is_better_where_the_goal_says_so(rule: dict[str, Any]) -> None:
    losses = [trial(n, [0.5, 0.3, 0.2, 0.15, 0.12 + n / 1000], metric="loss") for n in range(1, 6)]
    minimizing = study(metrics=MINIMIZE, **rule)
    assert stops_early(minimizing, running([0.9, 0.89, 0.889, 0.8889], metric="loss"), losses)
    assert not stops_early(minimizing, running([0.4, 0.2, 0.1, 0.05], metric="loss"), losses)


@pytest.mark.parametrize("rule", [MEDIAN, DECAY, CONVEX], ids=["median", "decay", "convex"])
def test_with_several_objectives_nothing_is_stopped(rule: dict[str, Any]) -> None:
    both = [{"metricId": name, "goal": "MAXIMIZE"} for name in ("accuracy", "speed")]
    assert not stops_early(study(metrics=both, **rule), running([0.1, 0.11, 0.111, 0.1111]), GOOD)


@pytest.mark.parity("Tuning jobs: early stopping")
def test_the_median_is_of_averages_up_to_the_same_step() -> None:
    """Check that later values do not count: at step 2, the averages are 0.2, 0.3 and 0.4."""
    others = [trial(n, [level, level, 0.99]) for n, level in enumerate((0.2, 0.3, 0.4), start=1)]
    assert not stops_early(study(**MEDIAN), running([0.3, 0.1]), others)
    assert stops_early(study(**MEDIAN), running([0.29, 0.1]), others)


def test_the_median_counts_no_trial_without_a_value_by_then() -> None:
    late = trial(1, [0.9], step=5)
    assert not stops_early(study(**MEDIAN), running([0.1, 0.1]), [late])


def test_the_median_by_time_and_by_steps() -> None:
    """Take ten seconds for a step of the completed trials, and one second for one of the running trial."""
    others = [trial(n, [0.1, 0.9, 0.9], seconds=10.0) for n in range(1, 4)]
    by_time = {"medianAutomatedStoppingSpec": {"useElapsedDuration": True}}
    assert stops_early(study(**MEDIAN), running([0.1, 0.2, 0.2]), others)
    assert not stops_early(study(**by_time), running([0.1, 0.2, 0.2]), others)


def test_a_decay_curve_that_starts_late_but_rises_goes_on() -> None:
    """Completed curves that differ in where they begin: the running one is within what they have shown."""
    others = [trial(n, rising(end, 10)) for n, end in enumerate((0.5, 0.9, 0.7, 0.85), start=1)]
    assert not stops_early(study(**DECAY), running(rising(0.88, 3)), others)


@pytest.mark.parity("Tuning jobs: early stopping")
def test_a_decay_curve_is_given_up_once_it_is_known_well_enough() -> None:
    others = [trial(n, rising(end, 10)) for n, end in enumerate((0.5, 0.9, 0.7, 0.85), start=1)]
    lengths = [
        count for count in range(1, 10) if stops_early(study(**DECAY), running(rising(0.3, count)), others)
    ]
    assert lengths and lengths[0] >= stopping.MIN_MEASUREMENTS
    assert lengths == list(range(lengths[0], 10))


def test_a_decay_curve_needs_three_completed_trials() -> None:
    assert stops_early(study(**DECAY), running([0.1, 0.11, 0.111]), GOOD[:3])
    assert not stops_early(study(**DECAY), running([0.1, 0.11, 0.111]), GOOD[:2])


def test_the_prediction_of_a_curve_that_is_the_mean_is_the_mean() -> None:
    known = [stopping.Curve((1.0, 2.0, 3.0), tuple(v + d for v in (0.1, 0.2, 0.4))) for d in (-0.05, 0.05)]
    mean, deviation = stopping.predicted(stopping.Curve((1.0, 2.0), (0.1, 0.2)), known, 3.0)
    assert mean == pytest.approx(0.4)
    assert 0 < deviation < 0.05


@pytest.mark.parametrize(
    ("spec", "stopped"),
    [
        pytest.param({"minMeasurementCount": 3}, True, id="enough"),
        pytest.param({"minMeasurementCount": 4}, True, id="as many as it has measured"),
        pytest.param({}, False, id="the default of 5 measurements"),
        pytest.param({"minMeasurementCount": 3, "minStepCount": 4}, False, id="before the least step"),
        pytest.param({"minMeasurementCount": 3, "minStepCount": 3}, True, id="after the least step"),
        pytest.param({"minMeasurementCount": 3, "maxStepCount": 4}, False, id="at the last step"),
        pytest.param({"minMeasurementCount": 3, "maxStepCount": 39}, True, id="after a tenth of the steps"),
        pytest.param({"minMeasurementCount": 3, "maxStepCount": 40}, False, id="at a tenth of the steps"),
        pytest.param({"minMeasurementCount": 3, "useElapsedDuration": True}, True, id="by time"),
    ],
)
def test_the_fields_of_the_convex_rule(spec: dict[str, Any], stopped: bool) -> None:
    """Five completed trials; the running one has four measurements, the last at step 4."""
    one = study(convexAutomatedStoppingSpec=spec)
    assert stops_early(one, running([0.1, 0.11, 0.111, 0.1111]), GOOD) == stopped


def test_the_convex_rule_needs_one_trial_more_than_measurements() -> None:
    assert not stops_early(study(**CONVEX), running([0.1, 0.11, 0.111, 0.1111]), GOOD[:3])
    assert stops_early(study(**CONVEX), running([0.1, 0.11, 0.111, 0.1111]), GOOD[:4])


def test_a_flat_curve_cannot_be_predicted() -> None:
    assert not stops_early(study(**CONVEX), running([0.1, 0.1, 0.1, 0.1]), GOOD)


def test_a_trial_that_rises_fast_enough_goes_on() -> None:
    others = [trial(n, rising(0.5, 10)) for n in range(1, 6)]
    assert not stops_early(study(**CONVEX), running([0.05, 0.10, 0.15]), others)


def test_a_stopped_trial_gets_a_last_measurement_at_the_last_step() -> None:
    one = study(**CONVEX)
    metric, rule = one.metrics[0], stopping.read_convex_rule(one.message.convex_automated_stopping_spec)
    stopped = running([0.10, 0.18, 0.22, 0.24])
    last = stopping.last_measurement(metric, stopped, GOOD, rule)
    assert last is not None and last.step == 5
    assert last.metrics["accuracy"] == pytest.approx(0.25, abs=0.005)


def test_with_update_all_the_prediction_learns_from_completed_trials() -> None:
    one = study(convexAutomatedStoppingSpec={"minMeasurementCount": 3, "updateAllStoppedTrials": True})
    metric, rule = one.metrics[0], stopping.read_convex_rule(one.message.convex_automated_stopping_spec)
    straight = [trial(n, [i / 20 for i in range(1, 11)]) for n in range(1, 6)]
    stopped = running([0.10, 0.18, 0.22, 0.24])
    alone = stopping.last_measurement(metric, stopped, straight, stopping.ConvexRule(min_measurements=3))
    together = stopping.last_measurement(metric, stopped, straight, rule)
    assert alone is not None and together is not None
    assert together.metrics["accuracy"] > alone.metrics["accuracy"]
