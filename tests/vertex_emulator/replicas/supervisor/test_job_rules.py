"""The parts without processes: filters, transitions, the end of a job, ports, JSON into messages."""

from __future__ import annotations

import contextlib
import itertools
import re
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.emulated.job_emulator import IMAGE, job, pool
from vertex_emulator.job_folder import outcome
from vertex_emulator.jobs.custom import store
from vertex_emulator.jobs.custom.checks import image_rules
from vertex_emulator.jobs.custom.store import CUSTOM_JOB
from vertex_emulator.jobs.pipelines import store as pipeline_store
from vertex_emulator.kernel import times
from vertex_emulator.replicas.network import addresses
from vertex_emulator.server.rpc import descriptors, filters, payload
from vertex_emulator.server.rpc.filters import And, Comparison, Not, Or

START = outcome.Exit(replica="workerpool0-0", code=128, tail=["a", "b"])
A, B, C = (Comparison(name, "=", "1") for name in "abc")


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("", And(())),
        ("a=1", A),
        ("a = 1 AND b=1", And((A, B))),
        ("a=1 b=1", And((A, B))),
        ("a=1 OR b=1 AND c=1", And((Or((A, B)), C))),
        ("a=1 AND b=1 OR c=1", And((A, Or((B, C))))),
        ("(a=1 AND b=1) OR c=1", Or((And((A, B)), C))),
        ("NOT a=1 AND -b=1", And((Not(A), Not(B)))),
        ("NOT (a=1 OR b=1)", Not(Or((A, B)))),
        ('labels."x y".z:"q \\"r\\""', Comparison("labels.x y.z", ":", 'q "r"')),
        ("a>=-1", Comparison("a", ">=", "-1")),
        ("t<2026-01-01T10:00:00Z", Comparison("t", "<", "2026-01-01T10:00:00Z")),
    ],
)
def test_filters(text: str, expression: filters.Expression) -> None:
    assert filters.parse(text) == expression


@pytest.mark.parametrize(
    "text", ["a", "a=", "=1", "(a=1", "a=1)", "a=1 OR", "AND a=1", "NOT", "a ! b", 'a="x']
)
def test_what_is_no_filter(text: str) -> None:
    with pytest.raises(filters.FilterError):
        filters.parse(text)


WORDS = st.lists(
    st.sampled_from(["a=1 ", "a:a ", 'b>="a"', " AND ", " OR ", "NOT ", "-a=a ", "(a=1)", "(", ")"])
)


@given(WORDS.map("".join) | st.text(alphabet='ab=:"()-. ANDORT<>!', max_size=20))
def test_any_text_is_a_filter_or_an_error(text: str) -> None:
    with contextlib.suppress(filters.FilterError):
        expression = filters.parse(text)
        assert filters.matches(Or((expression, Not(expression))), lambda each: each.value == "a")


def test_what_a_filter_requires() -> None:
    expression = filters.parse('job="7" AND t>="2" AND ((t="3" AND i>"x") OR t>"3")')
    assert filters.required(expression, "job") == "7"
    assert filters.required(expression, "t") is None
    assert filters.lower_bound(expression, "t") == "3"
    assert filters.lower_bound(filters.parse("t>=5 OR job=7"), "t") == ""
    assert filters.required(filters.parse("job=7 OR job=8"), "job") is None
    assert filters.required(filters.parse("NOT job=7"), "job") is None


def test_every_transition() -> None:
    at = itertools.count(1_700_000_000_000_000)
    for start, end in itertools.product(store.TRANSITIONS, repeat=2):
        message = descriptors.message(CUSTOM_JOB)
        store.begin(message, at=times.from_microseconds(next(at)))
        message.state = (
            descriptors.pool()
            .FindEnumTypeByName("google.cloud.aiplatform.v1.JobState")
            .values_by_name[start]
            .number
        )
        before = message.SerializeToString()
        moment = times.from_microseconds(next(at))
        entered = store.enter(message, end, at=moment, error={"code": 3, "message": "m"})
        assert entered == (end in store.TRANSITIONS[start])
        if not entered:
            assert message.SerializeToString() == before
            continue
        assert store.state_of(message) == end
        assert message.update_time.ToJsonString() == moment.replace("000Z", "Z")
        assert message.HasField("start_time") == (end == store.RUNNING)
        assert message.HasField("end_time") == (end in store.TERMINAL)
        assert message.error.code == 3


WAYS_OF_A_JOB = {
    "QUEUED": "PENDING FAILED CANCELLING",
    "PENDING": "RUNNING SUCCEEDED FAILED CANCELLING",
    "RUNNING": "SUCCEEDED FAILED CANCELLING",
    "CANCELLING": "SUCCEEDED FAILED CANCELLED",
}
WAYS_OF_A_PIPELINE = {
    "PENDING": "RUNNING SUCCEEDED FAILED CANCELLING CANCELLED",
    "RUNNING": "SUCCEEDED FAILED CANCELLING CANCELLED",
    "CANCELLING": "SUCCEEDED FAILED CANCELLED",
}
"""The states that may follow each state; a job that is cancelled is CANCELLING first."""


@pytest.mark.parametrize(
    ("of", "full_name", "prefix", "ways"),
    [
        pytest.param(store, CUSTOM_JOB, "JOB_STATE_", WAYS_OF_A_JOB, id="job"),
        pytest.param(
            pipeline_store,
            f"{descriptors.VERTEX_AI}.TrainingPipeline",
            "PIPELINE_STATE_",
            WAYS_OF_A_PIPELINE,
            id="pipeline",
        ),
    ],
)
def test_each_state_leads_to_these_states_and_no_others(
    of: Any, full_name: str, prefix: str, ways: dict[str, str]
) -> None:
    at = times.from_microseconds(1_700_000_000_000_000)
    entered: dict[str, set[str]] = {}
    for start, end in itertools.product(of.names(), repeat=2):
        message = descriptors.message(full_name)
        message.state = of.names().index(start)
        assert of.state_of(message) == start
        if of.enter(message, end, at=at):
            entered.setdefault(start.removeprefix(prefix), set()).add(end.removeprefix(prefix))
    assert entered == {start: set(ends.split()) for start, ends in ways.items()}


def test_a_job_that_waits_for_a_quota_is_queued() -> None:
    message = descriptors.message(CUSTOM_JOB)
    store.begin(message, at=times.from_microseconds(1_700_000_000_000_000))
    store.queue(message)
    assert store.state_of(message) == "JOB_STATE_QUEUED"


@pytest.mark.parametrize(
    ("sent", "strategy"),
    [
        ("STRATEGY_UNSPECIFIED", "STRATEGY_UNSPECIFIED"),
        ("ON_DEMAND", "STANDARD"),
        ("STANDARD", "STANDARD"),
        ("LOW_COST", "SPOT"),
        ("SPOT", "SPOT"),
        ("FLEX_START", "FLEX_START"),
    ],
)
def test_the_old_names_of_strategies_are_read_as_todays(sent: str, strategy: str) -> None:
    message = descriptors.message(CUSTOM_JOB)
    scheduling = message.job_spec.scheduling
    enum = scheduling.DESCRIPTOR.fields_by_name["strategy"].enum_type
    scheduling.strategy = enum.values_by_name[sent].number
    assert store.strategy_of(message) == strategy


def test_nothing_leads_out_of_a_terminal_state() -> None:
    assert {name for name, targets in store.TRANSITIONS.items() if not targets} == store.TERMINAL
    assert set(store.TRANSITIONS) < set(store.names())


@pytest.mark.parametrize(
    ("replica", "code", "state"),
    [
        ("workerpool0-0", 0, "JOB_STATE_SUCCEEDED"),
        ("workerpool0-0", 1, "JOB_STATE_FAILED"),
        ("workerpool1-0", 0, None),
        ("workerpool1-3", 2, "JOB_STATE_FAILED"),
        ("workerpool3-0", 0, None),
    ],
)
def test_what_the_end_of_a_replica_means(replica: str, code: int, state: str | None) -> None:
    end = outcome.after(outcome.Exit(replica=replica, code=code), where_to_look="HERE")
    assert (end.state if end else None) == state


@pytest.mark.parity("Custom jobs: the end of a job")
def test_the_words_of_a_failure() -> None:
    """Compare the frame with a captured answer of the service; the lines between are ours."""
    plain = outcome.after(outcome.Exit(replica="workerpool0-0", code=1), where_to_look="URL")
    assert plain is not None
    assert re.fullmatch(
        r"The replica workerpool0-0 exited with a non-zero status of 1\. Termination reason: Error\. .*"
        r"To find out more about why your job exited please check the logs: URL",
        plain.message.replace("Error. To", "Error.  To"),
    )
    start = outcome.after(START, where_to_look="U")
    assert start is not None
    assert "reason: StartError.\nThe last lines of its log:\n    a\n    b\nTo find" in start.message
    assert [outcome.signal_name(code) for code in (0, 1, 128, 137, 143, 255)] == [
        None,
        None,
        None,
        "SIGKILL",
        "SIGTERM",
        None,
    ]


def test_ports_are_distinct_free_and_held() -> None:
    first = addresses.claim(20)
    second = addresses.claim(20)
    try:
        numbers = [each.port for each in (*first, *second)]
        assert len(set(numbers)) == 40
        for each in first:
            with socket.socket() as taken, pytest.raises(OSError, match="in use"):
                taken.bind((addresses.HOST, each.port))
        for each in first:
            each.release()
        assert any(_binds(each.port) for each in first), "other processes of the machine took all of them"
        assert all(addresses._take(each.port) is None for each in first), "still claimed against other jobs"
    finally:
        for each in (*first, *second):
            each.close()
    again = [taken for number in numbers if (taken := addresses._take(number))]
    assert again
    for one in again:
        one.close()


def _binds(port: int) -> bool:
    try:
        socket.create_server((addresses.HOST, port)).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    ("image", "prebuilt"),
    [
        (IMAGE, True),
        ("us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6", True),
        ("europe-docker.pkg.dev/vertex-ai/training/tf-gpu.2-17.py310:latest@sha256:" + "a" * 64, True),
        ("gcr.io/cloud-aiplatform/training/xgboost-cpu.1-1:latest", True),
        ("us-docker.pkg.dev/vertex-ai/training/", False),
        ("us-docker.pkg.dev/vertex-ai/training/ray-cpu.2-4:latest", False),
        ("us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest", False),
        ("evil.example/us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17:latest", False),
        ("us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17/x:latest", False),
    ],
)
def test_prebuilt_images(image: str, prebuilt: bool) -> None:
    assert image_rules.is_prebuilt(image) == prebuilt


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.data())
def test_any_json_is_a_job_or_a_list_of_problems(data: st.DataObject) -> None:
    """Something else stands in a right job: it is read, or refused with a path, never an accident."""
    one = pool(env=[{"name": "A", "value": "1"}])
    body: Any = job(one, labels={"a": "b"}, scheduling={"timeout": "1s"})
    at: Any = body
    while True:
        key = data.draw(st.sampled_from(list(range(len(at)) if isinstance(at, list) else at)))
        if not isinstance(at[key], (dict, list)) or not at[key] or data.draw(st.booleans()):
            break
        at = at[key]
    at[key] = data.draw(json_values)
    message = descriptors.message(CUSTOM_JOB)
    try:
        payload.read(body, message, path="custom_job")
    except payload.PayloadError as error:
        assert error.problems
        assert all(path.startswith("custom_job") and text for path, text in error.problems)


def test_times() -> None:
    assert times.text(times.parse("2026-01-01T00:00:00.123456789Z")) == "2026-01-01T00:00:00.123456Z"
    assert times.text(times.parse("2026-01-01T02:00:00.5+02:00")) == "2026-01-01T00:00:00.500000Z"
    assert times.text(times.parse("2026-01-01T00:00:00Z")) == "2026-01-01T00:00:00.000000Z"
    for wrong in ("2026-01-01", "2026-01-01T00:00:00", "soon"):
        with pytest.raises(ValueError):
            times.parse(wrong)
