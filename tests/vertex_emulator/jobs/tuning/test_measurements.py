"""Final measurements of reports, and parameters as arguments."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.emulated.services.studies import MINIMIZE, study
from vertex_emulator.jobs.tuning import trials
from vertex_emulator.jobs.tuning.study import measurements
from vertex_emulator.jobs.tuning.study.measurements import Measurement, Report, add, final, in_order
from vertex_emulator.jobs.tuning.study.study import Value
from vertex_emulator.server.rpc import descriptors

BEST: dict[str, Any] = {"measurementSelectionType": "BEST_MEASUREMENT"}
TWO = [{"metricId": name, "goal": "MAXIMIZE"} for name in ("accuracy", "speed")]


def reports(*values: float, metric: str = "accuracy") -> list[Report]:
    return [Report(metric=metric, value=value, step=i, elapsed=i) for i, value in enumerate(values, start=1)]


def test_metrics_of_one_step_are_one_measurement() -> None:
    found = add((), [Report(metric="a", value=1, step=1), Report(metric="b", value=2, step=1, elapsed=3)])
    assert found == (Measurement(metrics={"a": 1, "b": 2}, step=1),)


def test_a_metric_that_comes_again_begins_a_measurement() -> None:
    found = add((), [Report(metric="a", value=v, elapsed=v) for v in (1, 2, 3)])
    assert [each.metrics["a"] for each in found] == [1, 2, 3]


def test_reports_join_the_measurements_that_are_there() -> None:
    first = add((), reports(0.1, 0.2))
    assert add(first, [Report(metric="b", value=7, step=2)])[-1].metrics == {"accuracy": 0.2, "b": 7}


def test_elapsed_time_never_goes_back() -> None:
    found = add((), [Report(metric="a", value=v, step=v, elapsed=10 - v) for v in (1, 2, 3)])
    assert [each.elapsed for each in found] == [9, 9, 9]


def test_a_trial_keeps_so_many_measurements_and_the_last() -> None:
    found = add((), reports(*range(5000)))
    assert len(found) <= measurements.MAX_MEASUREMENTS
    assert found[-1].metrics["accuracy"] == 4999


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8))
def test_measurements_are_strictly_ordered(places: list[tuple[int, int]]) -> None:
    given = [Measurement(metrics={"a": i}, step=s, elapsed=e) for i, (s, e) in enumerate(places)]
    ordered = [(each.step, each.elapsed) for each in in_order(given)]
    assert ordered == sorted(set(ordered)) and set(ordered) == set(places)


@pytest.mark.parity(
    "Tuning jobs: the measurement that counts",
    same="the last by default, the best if the study requests it",
    fields=("study_spec.measurement_selection_type",),
)
@pytest.mark.parametrize(
    ("spec", "values", "expected"),
    [
        pytest.param({}, [0.1, 0.9, 0.5], 0.5, id="the last by default"),
        pytest.param({"measurementSelectionType": "LAST_MEASUREMENT"}, [0.9, 0.5], 0.5, id="the last"),
        pytest.param(BEST, [0.1, 0.9, 0.5], 0.9, id="the best"),
        pytest.param({**BEST, "metrics": MINIMIZE}, [0.1, 0.9, 0.5], 0.1, id="the least"),
    ],
)
def test_the_measurement_that_counts(spec: dict[str, Any], values: list[float], expected: float) -> None:
    one = study(**spec)
    metric = one.metrics[0].id
    found = final(one, add((), reports(*values, metric=metric)))
    assert found is not None and found.metrics == {metric: expected}


def test_the_best_has_its_own_step_and_time() -> None:
    found = final(study(**BEST), add((), reports(0.1, 0.9, 0.5)))
    assert found is not None and (found.step, found.elapsed) == (2, 2)


def test_of_equally_good_measurements_the_first_counts() -> None:
    found = final(study(**BEST), add((), reports(0.1, 0.9, 0.9)))
    assert found is not None and found.step == 2


def test_without_a_report_nothing_counts() -> None:
    assert final(study(), ()) is None


def test_without_a_report_of_every_metric_nothing_counts() -> None:
    assert final(study(metrics=TWO), add((), reports(0.1, 0.2))) is None


def test_other_names_are_left_out() -> None:
    found = final(study(), add((), [*reports(0.4), Report(metric="other", value=1, step=1)]))
    assert found is not None and found.metrics == {"accuracy": 0.4}


def test_what_the_last_measurement_lacks_is_taken_from_before() -> None:
    made = add(
        (),
        [
            *reports(0.4),
            Report(metric="speed", value=7, step=1),
            Report(metric="accuracy", value=0.5, step=2),
        ],
    )
    found = final(study(metrics=TWO), made)
    assert found is not None and (found.metrics, found.step) == ({"accuracy": 0.5, "speed": 7}, 2)


def test_of_several_objectives_a_measurement_that_is_worse_in_all_never_counts() -> None:
    made = [
        Measurement(metrics={"accuracy": a, "speed": s}, step=i)
        for i, (a, s) in enumerate([(2, 2), (3, 1), (1, 1)])
    ]
    found = final(study(metrics=TWO, **BEST), made)
    assert found is not None and found.metrics == {"accuracy": 3, "speed": 1}


@pytest.mark.parity("Tuning jobs: trials")
@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        pytest.param(0.1, "DOUBLE", "0.1", id="double"),
        pytest.param(1e-05, "DOUBLE", "1e-05", id="small double"),
        pytest.param(1 / 3, "DOUBLE", "0.3333333333333333", id="double without loss"),
        pytest.param(7, "INTEGER", "7", id="integer"),
        pytest.param(-3, "INTEGER", "-3", id="negative integer"),
        pytest.param(64.0, "DISCRETE", "64", id="whole discrete"),
        pytest.param(0.5, "DISCRETE", "0.5", id="discrete"),
        pytest.param("a b=c", "CATEGORICAL", "a b=c", id="category"),
        pytest.param("64.0", "CATEGORICAL", "64.0", id="category that looks like a number"),
    ],
)
def test_an_argument(value: Value, kind: str, expected: str) -> None:
    assert trials.arguments({"rate": value}, {"rate": kind}) == [f"--rate={expected}"]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_is_read_back_as_the_same(value: float) -> None:
    assert float(trials.argument_text(value, "DOUBLE")) == value


@pytest.mark.parametrize(
    ("value", "kind"), [(0.1, "DOUBLE"), (2**53, "INTEGER"), (64.0, "DISCRETE"), ("a", "CATEGORICAL")]
)
def test_a_parameter_is_written_and_read_back(value: Value, kind: str) -> None:
    trial = descriptors.message("google.cloud.aiplatform.v1.Trial")
    trials.set_parameters(trial, {"p": value})
    assert trials.parameters_of(trial, {"p": kind}) == {"p": value}
    assert type(trials.parameters_of(trial, {"p": kind})["p"]) is type(value)
