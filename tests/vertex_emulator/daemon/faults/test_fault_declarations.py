"""How faults are written, which calls they mean, and how far back the past of lists goes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables import every_row
from vertex_emulator.daemon.faults.switchboard import (
    STATUSES,
    Fault,
    FaultError,
    Faults,
    matches_name,
    parse_fault,
)
from vertex_emulator.services.resource_engine.history import ChangeHistory, LookBack, looking_back

CREATE = "JobService.CreateCustomJob"


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        pytest.param(CREATE, True, id="the whole name"),
        pytest.param("CreateCustomJob", True, id="without the service"),
        pytest.param("JobService", True, id="the service"),
        pytest.param("JobService.*", True, id="the service with a star"),
        pytest.param("JobService.Create*", True, id="a prefix"),
        pytest.param("Create*", True, id="a prefix without the service"),
        pytest.param("*", True, id="all"),
        pytest.param("CreateCustom", False, id="a part of a word"),
        pytest.param("createCustomJob", False, id="another case"),
        pytest.param("storage.*", False, id="another service"),
        pytest.param("", False, id="nothing"),
    ],
)
def test_names(pattern: str, named: bool) -> None:
    assert matches_name(CREATE, pattern) is named


@every_row(
    ("document", "field", "says"),
    [
        pytest.param([], "", "is a JSON object", id="a list"),
        pytest.param({"status": 503}, "method", "method is missing", id="no method"),
        pytest.param({"method": "*"}, "status", "The fault has no effect", id="nothing happens"),
        pytest.param({"method": "*", "stall": 0}, "status", "The fault has no effect", id="no time"),
        pytest.param({"method": "*", "delay": 0}, "status", "The fault has no effect", id="no delay"),
        pytest.param({"method": "*", "status": 200}, "status", "status is 200", id="success"),
        pytest.param({"method": "*", "status": True}, "status", "status is True", id="a boolean"),
        pytest.param({"method": "*", "status": 503, "drop": "after"}, "drop", "exclude each other", id="two"),
        pytest.param({"method": "*", "drop": "later"}, "drop", 'must be "before" or "after"', id="drop"),
        pytest.param({"method": "*", "stall": -1}, "stall", "stall is -1", id="before now"),
        pytest.param({"method": "*", "stall": 3601}, "stall", "up to 3600", id="too long"),
        pytest.param({"method": "*", "stall": float("nan")}, "stall", "stall is nan", id="not a number"),
        pytest.param({"method": "*", "stall": 10**400}, "stall", "up to 3600", id="far too long"),
        pytest.param({"method": "*", "delay": -(10**400)}, "delay", "up to 3600", id="long before now"),
        pytest.param({"method": "*", "stale": {"changes": 0}}, "stale", "must be like", id="no change"),
        pytest.param({"method": "*", "stale": {}}, "stale", "must be like", id="stale since when"),
        pytest.param({"method": "*", "status": 503, "nth": 0}, "nth", "from 1", id="nth 0"),
        pytest.param({"method": "*", "status": 503, "times": "twice"}, "times", '"always"', id="times"),
        pytest.param(
            {"method": "*", "drop": "after", "message": "x"}, "message", "needs a status", id="message"
        ),
        pytest.param({"method": "*", "status": 503, "message": "a\nb"}, "message", "at most", id="two lines"),
        pytest.param({"method": "*", "status": 503, "p": 0.5}, "p", "not known", id="a probability"),
    ],
)
def test_what_is_refused(document: Any, field: str, says: str) -> None:
    with pytest.raises(FaultError) as refused:
        parse_fault(document)
    assert [name for name, _ in refused.value.problems] == [field]
    assert says in str(refused.value)


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(FaultError) as refused:
        parse_fault({"method": 1, "status": 1, "stall": "x", "nth": -1})
    assert {name for name, _ in refused.value.problems} == {"method", "status", "stall", "nth"}


kinds = st.one_of(
    st.fixed_dictionaries({"status": st.sampled_from(STATUSES)}, optional={"message": st.just("no")}),
    st.fixed_dictionaries({"drop": st.sampled_from(["before", "after"])}),
    st.fixed_dictionaries({"stale": st.fixed_dictionaries({"seconds": st.floats(0, 3600)})}),
    st.fixed_dictionaries({"stale": st.fixed_dictionaries({"changes": st.integers(1, 9)})}),
    st.fixed_dictionaries({"stall": st.floats(0.001, 3600)}),
    st.fixed_dictionaries({"delay": st.floats(0.001, 3600)}),
)
counts = st.fixed_dictionaries(
    {}, optional={"nth": st.integers(1, 9), "times": st.just("always") | st.integers(1, 9)}
)


@given(kinds, counts)
def test_what_is_read_is_written_again(kind: dict[str, Any], count: dict[str, Any]) -> None:
    fault = parse_fault({"method": CREATE, **kind, **count})
    assert parse_fault(fault.to_json()) == fault
    assert {**fault.to_json(), **kind, **count} == fault.to_json()


@given(nth=st.integers(1, 6), times=st.none() | st.integers(1, 6), calls=st.integers(0, 15))
def test_calls_are_counted(nth: int, times: int | None, calls: int) -> None:
    faults = Faults()
    faults.add(Fault(method=CREATE, status=503, nth=nth, times=times))
    fired = [number for number in range(1, calls + 1) if faults.due(CREATE) is not None]
    last = calls if times is None else min(nth + times - 1, calls)
    assert fired == list(range(nth, last + 1))
    assert (faults.to_json()[0]["seen"], faults.to_json()[0]["fired"]) == (calls, len(fired))


def test_other_calls_are_not_counted() -> None:
    faults = Faults()
    faults.add(Fault(method="storage.objects", status=503))
    assert faults.due(CREATE) is None
    assert faults.due("") is None
    assert faults.to_json()[0]["seen"] == 0


def test_faults_of_one_method_come_one_after_the_other() -> None:
    faults = Faults()
    faults.add(Fault(method="*", status=500, times=2))
    faults.add(Fault(method=CREATE, status=429, nth=2))
    met = [faults.due(CREATE) for _ in range(4)]
    assert [each and each.number for each in met] == [1, 1, 2, None]


class Time:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("how_far", "undone"),
    [
        pytest.param(LookBack(seconds=0), {}, id="now"),
        pytest.param(LookBack(seconds=5), {"a": "a running"}, id="before a was deleted"),
        pytest.param(LookBack(seconds=15), {"a": "a queued"}, id="before a ran"),
        pytest.param(LookBack(seconds=25), {"a": "a queued", "b": None}, id="before b"),
        pytest.param(LookBack(seconds=999), {"a": None, "b": None}, id="before all"),
        pytest.param(LookBack(changes=1), {"a": "a running"}, id="one change"),
        pytest.param(LookBack(changes=2), {"a": "a queued", "b": None}, id="two changes"),
        pytest.param(LookBack(changes=3), {"a": None, "b": None}, id="three changes"),
        pytest.param(LookBack(changes=99), {"a": None, "b": None}, id="more than there were"),
    ],
)
def test_the_past(how_far: LookBack, undone: dict[str, Any]) -> None:
    clock = Time()
    history: ChangeHistory[str] = ChangeHistory(clock=clock)
    for job, before, counts in (
        ("a", None, True),
        ("b", None, True),
        ("a", "a queued", False),
        ("a", "a running", True),
    ):
        history.record(job, before=before, counts=counts)
        clock.now += 10
    clock.now -= 6
    assert history.rows_before() == {}
    with looking_back(how_far):
        assert history.rows_before() == undone
    assert history.rows_before() == {}


def test_the_past_is_bounded() -> None:
    history: ChangeHistory[str] = ChangeHistory(kept=2)
    for job in "abc":
        history.record(job, before=None, counts=True)
    with looking_back(LookBack(changes=3)):
        assert history.rows_before() == {"b": None, "c": None}
