"""Grid, random and Bayesian search over every type, scale and condition."""

from __future__ import annotations

import math
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.emulated.services.studies import (
    MINIMIZE,
    below,
    categorical,
    discrete,
    double,
    integer,
    searched,
    study,
)
from support.properties import examples
from vertex_emulator.jobs.tuning.study import search
from vertex_emulator.jobs.tuning.study.measurements import Measurement, Trial
from vertex_emulator.jobs.tuning.study.study import Parameter, Parameters, Study, same

GRID = {"algorithm": "GRID_SEARCH"}
RANDOM = {"algorithm": "RANDOM_SEARCH"}
MODEL = categorical(
    "model",
    "linear",
    "deep",
    conditionalParameterSpecs=[
        below(
            integer("layers", 1, 2, conditionalParameterSpecs=[below(discrete("rate", 0.1, 0.5), 2)]), "deep"
        )
    ],
)


def all_of(study: Study) -> list[Parameters]:
    return [each.parameters for each in searched(study, lambda _: 0.0, seed=0, count=100)]


@pytest.mark.parity(
    "Tuning jobs: grid search",
    same="in the order of the study; the job ends when the grid is used up",
    fields=("study_spec.algorithm",),
)
def test_a_grid_has_every_combination_in_the_order_of_the_study() -> None:
    found = all_of(study(integer("n", 1, 2), categorical("kind", "a", "b"), **GRID))
    assert found == [
        {"n": 1, "kind": "a"},
        {"n": 1, "kind": "b"},
        {"n": 2, "kind": "a"},
        {"n": 2, "kind": "b"},
    ]


@pytest.mark.parity("Tuning jobs: grid search")
def test_a_grid_has_conditional_parameters_only_where_they_are_active() -> None:
    assert all_of(study(MODEL, discrete("batch", 32, 64), **GRID)) == [
        {"model": "linear", "batch": 32.0},
        {"model": "linear", "batch": 64.0},
        {"model": "deep", "layers": 1, "batch": 32.0},
        {"model": "deep", "layers": 1, "batch": 64.0},
        {"model": "deep", "layers": 2, "rate": 0.1, "batch": 32.0},
        {"model": "deep", "layers": 2, "rate": 0.1, "batch": 64.0},
        {"model": "deep", "layers": 2, "rate": 0.5, "batch": 32.0},
        {"model": "deep", "layers": 2, "rate": 0.5, "batch": 64.0},
    ]


def test_a_grid_over_a_huge_range_is_not_listed() -> None:
    huge = study(
        integer("n", 0, 2**52, conditionalParameterSpecs=[below(categorical("c", "x", "y"), 5)]), **GRID
    )
    assert search.size(huge.parameters) == 2**52 + 2
    assert search.combination(huge.parameters, 6) == {"n": 5, "c": "y"}
    assert search.combination(huge.parameters, 2**52 + 1) == {"n": 2**52}
    assert search.combination(huge.parameters, 2**52 + 2) is None


EVERY_TYPE = [
    double("linear", -2.0, 3.0),
    double("log", 1e-6, 1.0, scaleType="UNIT_LOG_SCALE"),
    double("reverse", 0.5, 0.999, scaleType="UNIT_REVERSE_LOG_SCALE"),
    double("fixed", 0.7, 0.7),
    integer("layers", 1, 8),
    integer("units", 1, 1024, scaleType="UNIT_LOG_SCALE"),
    integer("late", 1, 100, scaleType="UNIT_REVERSE_LOG_SCALE"),
    discrete("batch", 16, 32, 64.5),
    categorical("optimizer", "adam", "sgd"),
    MODEL,
]


def fits(parameter: Parameter, values: Parameters) -> bool:
    """Return whether the parameter and its active children have valid values."""
    value = values[parameter.id]
    if parameter.kind in ("DOUBLE", "INTEGER"):
        kind = int if parameter.kind == "INTEGER" else float
        good = type(value) is kind and parameter.low <= value <= parameter.high  # type: ignore[operator]
    else:
        good = value in parameter.values
    return good and all(fits(child, values) for _, child in parameter.active(value))


def names(parameters: tuple[Parameter, ...], values: Parameters) -> set[str]:
    """Return the parameters that must have a value."""
    found = set()
    for each in parameters:
        found.add(each.id)
        active = tuple(child for _, child in each.active(values[each.id]))
        found |= names(active, values)
    return found


@pytest.mark.parametrize("algorithm", [RANDOM, {}], ids=["random", "bayesian"])
@pytest.mark.parametrize("seed", [1, 2**62 + 7])
def test_values_are_of_their_type_and_within_their_bounds(algorithm: dict[str, str], seed: int) -> None:
    any_type = study(*EVERY_TYPE, **algorithm)
    trials = searched(any_type, lambda values: float(values["linear"]), seed=seed, count=25)
    assert len(trials) == 25
    for each in trials:
        assert all(fits(parameter, each.parameters) for parameter in any_type.parameters)
        assert set(each.parameters) == names(any_type.parameters, each.parameters)
    assert {each.parameters["model"] for each in trials} == {"linear", "deep"}


@pytest.mark.parity("Tuning jobs: random search", own_way="seeded: the same seed gives the same trials")
@pytest.mark.parametrize("algorithm", [RANDOM, {}], ids=["random", "bayesian"])
def test_the_same_seed_gives_the_same_trials(algorithm: dict[str, str]) -> None:
    twice = [
        searched(study(*EVERY_TYPE, **algorithm), lambda v: float(v["log"]), seed=4, count=9) for _ in "ab"
    ]
    assert twice[0] == twice[1]


@pytest.mark.parametrize("algorithm", [RANDOM, {}], ids=["random", "bayesian"])
def test_another_seed_gives_other_trials(algorithm: dict[str, str]) -> None:
    one, other = (searched(study(**algorithm), lambda v: float(v["x"]), seed=s, count=9) for s in (1, 2))
    assert not {each.parameters["x"] for each in one[1:]} & {each.parameters["x"] for each in other[1:]}


def test_the_first_trial_of_a_bayesian_search_is_in_the_middle() -> None:
    """Compare with the response in Vertex AI's documentation."""
    documented = study(
        double("my_parameter", 1e-05, 1.0),
        integer("n", 1, 5),
        double("r", 0.01, 1, scaleType="UNIT_LOG_SCALE"),
    )
    first = search.suggest(documented, [], seed=7)
    assert first == {"my_parameter": 0.500005, "n": 3, "r": pytest.approx(0.1)}


def test_an_integer_that_a_double_cannot_hold_stays_within_its_bounds() -> None:
    """Check bounds that the API's doubles cannot represent."""
    least, greatest = 2**60 + 1, 2**62 - 1
    one = study(integer("n", least, greatest))
    rounded = [Trial(number=n, parameters={"n": 2**62}, ended=True) for n in range(1, 3)]
    done = [
        *rounded,
        *(
            Trial(number=n, parameters={"n": 2**60}, ended=True, final=Measurement(metrics={"accuracy": n}))
            for n in range(3, 12)
        ),
    ]
    suggested = search.suggest(one, done, seed=1)
    assert suggested is not None and least <= int(suggested["n"]) <= greatest


@pytest.mark.parity("Tuning jobs: random search")
@pytest.mark.parametrize(
    ("scale", "median"),
    [
        pytest.param("UNIT_LINEAR_SCALE", 0.505, id="linear"),
        pytest.param("UNIT_LOG_SCALE", 0.1, id="log"),
        pytest.param("UNIT_REVERSE_LOG_SCALE", 0.91, id="reverse log"),
    ],
)
def test_half_of_the_random_values_lie_below_the_middle_of_the_scale(scale: str, median: float) -> None:
    parameters = study(double("x", 0.01, 1.0, scaleType=scale)).parameters
    values = [float(search.sample(parameters, seed=1, number=n)["x"]) for n in range(2000)]
    below_middle = sum(value < median for value in values)
    assert 900 < below_middle < 1100


def test_random_integers_reach_both_bounds_equally_often() -> None:
    parameters = study(integer("n", 1, 4)).parameters
    values = [search.sample(parameters, seed=1, number=n)["n"] for n in range(2000)]
    assert set(values) == {1, 2, 3, 4}
    assert all(400 < values.count(n) < 600 for n in (1, 2, 3, 4))


@given(
    low=st.floats(allow_nan=False, allow_infinity=False),
    high=st.floats(allow_nan=False, allow_infinity=False),
    unit=st.floats(0, 1, exclude_max=True),
)
def test_no_random_double_leaves_its_bounds(low: float, high: float, unit: float) -> None:
    low, high = sorted((low, high))
    assert low <= search.unscaled(low, high, "LINEAR", unit) <= high


@given(low=st.floats(1e-300, 1e300), factor=st.floats(1, 1e6), unit=st.floats(0, 1), reverse=st.booleans())
def test_no_random_double_on_a_log_scale_leaves_its_bounds(
    low: float, factor: float, unit: float, reverse: bool
) -> None:
    scale = "REVERSE_LOG" if reverse else "LOG"
    assert low <= search.unscaled(low, low * factor, scale, unit) <= low * factor


@settings(max_examples=examples(30), deadline=None)
@given(data=st.data())
def test_a_grid_repeats_nothing(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    parameters = [integer(f"n{i}", 0, size - 1) for i, size in enumerate(sizes)]
    found = all_of(study(*parameters, **GRID))
    assert len({tuple(each.items()) for each in found}) == len(found) == math.prod(sizes)


def branin(values: Parameters) -> float:
    """Return a common test function with three minima of 0.398. Its mean over the square is 54."""
    x, y = float(values["x"]), float(values["y"])
    curve = y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6
    return curve**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def bowl(values: Parameters) -> float:
    return sum((math.log10(float(values[name])) + 2) ** 2 for name in "ab") + (float(values["c"]) - 0.3) ** 2


SQUARE = [double("x", -5, 10), double("y", 0, 15)]
RATES = [double(name, 1e-5, 1.0, scaleType="UNIT_LOG_SCALE") for name in "ab"] + [double("c")]


@pytest.mark.parity(
    "Tuning jobs: Bayesian search", own_way="Optuna's algorithm, seeded; it beats random search in a test"
)
@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        pytest.param(branin, SQUARE, id="branin"),
        pytest.param(bowl, RATES, id="logarithmic bowl", marks=pytest.mark.slow),
    ],
)
def test_bayesian_search_beats_random_search(
    function: Callable[[Parameters], float], parameters: list[dict[str, object]]
) -> None:
    """Compare the best of 35 trials, for 12 seeds of each search, by Mann and Whitney's statistic.

    The statistic is the chance that a Bayesian run ends better than a random run. Without a difference it is
    0.5, and above 0.7 (one-sided, 12 against 12) with a probability of less than 0.05.
    """
    best = {}
    for name, algorithm in (("bayesian", {}), ("random", RANDOM)):
        found = study(*parameters, metrics=MINIMIZE, **algorithm)
        best[name] = [
            min(
                each.final.metrics["loss"]
                for each in searched(found, function, seed=seed, count=35)
                if each.final
            )
            for seed in range(12)
        ]
    wins = sum(one < other for one in best["bayesian"] for other in best["random"])
    assert wins / 144 > 0.7
    assert statistics.median(best["bayesian"]) < statistics.median(best["random"])


def test_bayesian_search_follows_the_goal() -> None:
    """Compare the last ten of forty trials for both goals."""
    found = {}
    for goal in ("MAXIMIZE", "MINIMIZE"):
        one = study(double("x", 0, 10), metrics=[{"metricId": "m", "goal": goal}])
        late = searched(one, lambda values: float(values["x"]), seed=3, count=40)[-10:]
        found[goal] = statistics.median(float(each.parameters["x"]) for each in late)
    assert found["MAXIMIZE"] > 8 and found["MINIMIZE"] < 2


def test_bayesian_search_avoids_failures() -> None:
    """Fail above 0.5, where higher is better, and compare searches with and without the failed trials."""
    failed = []
    for with_failed in (True, False):
        done: list[Trial] = []
        for number in range(1, 41):
            known = [each for each in done if with_failed or each.completed]
            parameters = search.suggest(study(double("x", 0, 1)), known, seed=5)
            assert parameters is not None
            x = float(parameters["x"])
            final = None if x > 0.5 else Measurement(metrics={"accuracy": x})
            done.append(Trial(number=number, parameters=parameters, ended=True, final=final))
        failed.append(sum(each.infeasible for each in done[10:]))
    assert failed[0] < 0.7 * failed[1]


@pytest.mark.parity("Tuning jobs: Bayesian search")
def test_bayesian_search_does_not_suggest_what_is_running() -> None:
    one = study(double("x", 0, 1))
    done = searched(one, lambda values: -abs(float(values["x"]) - 0.5), seed=1, count=20)
    running = []
    for number in range(21, 25):
        parameters = search.suggest(one, [*done, *running], seed=1)
        assert parameters is not None
        running.append(Trial(number=number, parameters=parameters))
    assert len({each.parameters["x"] for each in running}) == 4


def test_several_objectives_are_searched_together() -> None:
    two = study(
        double("x", 0, 1), metrics=[{"metricId": n, "goal": "MAXIMIZE"} for n in ("accuracy", "speed")]
    )
    done = []
    for number in range(1, 13):
        parameters = search.suggest(two, done, seed=1)
        assert parameters is not None
        x = float(parameters["x"])
        measured = Measurement(metrics={"accuracy": x, "speed": 1 - x})
        done.append(Trial(number=number, parameters=parameters, ended=True, final=measured))
    assert len({each.parameters["x"] for each in done}) == 12


@pytest.mark.parity("Tuning jobs: Bayesian search")
def test_a_safety_metric_keeps_the_search_on_the_safe_side() -> None:
    """More is better, but above 0.5 it is not safe."""
    safe = {"metricId": "memory", "goal": "MINIMIZE", "safetyConfig": {"safetyThreshold": 0.5}}
    shares = []
    for metrics in (
        [{"metricId": "accuracy", "goal": "MAXIMIZE"}],
        [{"metricId": "accuracy", "goal": "MAXIMIZE"}, safe],
    ):
        one = study(double("x", 0, 1), metrics=metrics)
        done: list[Trial] = []
        for number in range(1, 41):
            parameters = search.suggest(one, done, seed=2)
            assert parameters is not None
            x = float(parameters["x"])
            final = Measurement(metrics={"accuracy": x, "memory": x})
            done.append(Trial(number=number, parameters=parameters, ended=True, final=final))
        shares.append(sum(float(each.parameters["x"]) > 0.5 for each in done[10:]))
    assert shares[1] < 0.7 * shares[0]


def test_one_name_below_two_values_is_two_parameters() -> None:
    both = categorical(
        "model",
        "a",
        "b",
        conditionalParameterSpecs=[below(double("rate", 0, 1), "a"), below(integer("rate", 5, 9), "b")],
    )
    done = searched(study(both), lambda values: float(values["rate"]), seed=1, count=20)
    assert {type(each.parameters["rate"]) for each in done if each.parameters["model"] == "a"} == {float}
    assert {type(each.parameters["rate"]) for each in done if each.parameters["model"] == "b"} == {int}


def test_discrete_conditions_match_what_is_nearly_equal() -> None:
    parameter = study(
        discrete("n", 0.3, 0.7, conditionalParameterSpecs=[below(double("x"), 0.1 + 0.2)])
    ).parameters[0]
    assert [child.id for _, child in parameter.active(0.3)] == ["x"]
    assert same(0.3, 0.1 + 0.2) and not same(0.3, 0.3 + 1e-9)
    assert replace(parameter, conditions=()).active(0.3) == []


def test_the_library_is_loaded_at_the_first_suggestion_only() -> None:
    code = (
        "import sys; from vertex_emulator.jobs.tuning.study import search;"
        "raise SystemExit('optuna' in sys.modules or 'numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
