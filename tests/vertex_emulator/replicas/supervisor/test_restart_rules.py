"""The decision after a failed replica, one fact for each case, and the source of its facts."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables import every_row
from vertex_emulator.job_folder import outcome
from vertex_emulator.replicas.supervisor import starting
from vertex_emulator.replicas.supervisor.restarts import Failure, History, decide

KILLED = {"code": 137}
ABORTED = {"code": 134}
SPOT = {"preempted": True, "spot": True}


@every_row(
    ("facts", "step"),
    [
        pytest.param({"code": 1}, "fail", id="a plain failure is permanent"),
        pytest.param({"code": 2}, "fail", id="any other status too"),
        pytest.param({"code": 127}, "fail", id="no such program"),
        pytest.param({"code": 128}, "fail", id="its surroundings could not be set up"),
        pytest.param({"code": 130}, "fail", id="SIGINT is nobody's machine"),
        pytest.param({"code": 6}, "restart_job", id="SIGABRT as a status"),
        pytest.param({"code": 134}, "restart_job", id="SIGABRT as containers report it"),
        pytest.param({"code": 11}, "restart_job", id="SIGSEGV as a status"),
        pytest.param({"code": 139}, "restart_job", id="SIGSEGV as containers report it"),
        pytest.param({"code": 137}, "restart_replica", id="killed from outside"),
        pytest.param({"code": 143}, "restart_replica", id="terminated from outside"),
        pytest.param({**KILLED, "out_of_memory": True}, "fail", id="out of memory is permanent"),
        pytest.param({**KILLED, "shim_killed": True}, "fail", id="perhaps something of it is left"),
        pytest.param({**KILLED, "replica_restarts": 4}, "restart_replica", id="the fifth restart"),
        pytest.param({**KILLED, "replica_restarts": 5}, "restart_job", id="no sixth one"),
        pytest.param(
            {**KILLED, "replica_restarts": 5, "job_restarts": 3}, "fail", id="all restarts are used up"
        ),
        pytest.param(
            {**KILLED, "job_restarts": 3}, "restart_replica", id="the last attempt has its five too"
        ),
        pytest.param({**ABORTED, "job_restarts": 2}, "restart_job", id="the job's third restart"),
        pytest.param({**ABORTED, "job_restarts": 3}, "fail", id="no fourth one"),
        pytest.param(
            {**ABORTED, "replica_restarts": 5}, "restart_job", id="an abort asks for the job's alone"
        ),
        pytest.param({**ABORTED, "disable_retries": True}, "fail", id="no retry of an abort"),
        pytest.param({**KILLED, "disable_retries": True}, "fail", id="no retry of a kill"),
        pytest.param(
            {**KILLED, "restart_job_on_worker_restart": True},
            "restart_job",
            id="the job instead of a replica",
        ),
        pytest.param(
            {**KILLED, "restart_job_on_worker_restart": True, "job_restarts": 3},
            "fail",
            id="the job's restarts are counted there",
        ),
        pytest.param(
            {**KILLED, "restart_job_on_worker_restart": True, "disable_retries": True},
            "fail",
            id="disable_retries overrides it",
        ),
        pytest.param(
            {"code": 1, "restart_job_on_worker_restart": True}, "fail", id="it makes nothing transient"
        ),
        pytest.param({**SPOT, "code": 143}, "restart_job", id="a Spot VM's end"),
        pytest.param({**SPOT, "code": 0}, "restart_job", id="a Spot VM's end, and a polite program"),
        pytest.param({**SPOT, "code": 1}, "restart_job", id="a Spot VM's end, and any status"),
        pytest.param({**SPOT, "code": 0, "preemptions": 5}, "restart_job", id="the sixth preemption"),
        pytest.param({**SPOT, "code": 0, "preemptions": 6}, "fail", id="no seventh one"),
        pytest.param({**SPOT, "code": 0, "job_restarts": 3}, "restart_job", id="they are counted alone"),
        pytest.param({**SPOT, "code": 0, "disable_retries": True}, "fail", id="no retry of a preemption"),
        pytest.param({**SPOT, "code": 143, "shim_killed": True}, "fail", id="perhaps it is not gone"),
        pytest.param({"code": 0, "preempted": True}, "restart_replica", id="another machine's end"),
        pytest.param({"code": 1, "preempted": True}, "restart_replica", id="another machine's, any status"),
        pytest.param(
            {"code": 0, "preempted": True, "restart_job_on_worker_restart": True},
            "restart_job",
            id="another machine's end restarts the job on request",
        ),
    ],
)
@every_row("replica", ["workerpool0-0", "workerpool1-2"])
def test_what_follows_from_a_failure(replica: str, facts: dict[str, Any], step: str) -> None:
    """Treat all replicas alike, as the documents do, the primary one included."""
    assert decide(Failure(replica=replica, **facts)).step == step


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"code": 1}, ""),
        (
            {**KILLED, "replica_restarts": 1},
            "The replica workerpool1-0 ended with status 137 (SIGKILL). It is restarted: restart 2 of 5.",
        ),
        (
            {**KILLED, "replica_restarts": 5},
            "The replica workerpool1-0 ended with status 137 (SIGKILL), after 5 restarts. The job is "
            "restarted: restart 1 of 3.",
        ),
        (
            {"code": 6, "job_restarts": 2},
            "The replica workerpool1-0 ended with status 6, which may be transient. The job is restarted: "
            "restart 3 of 3.",
        ),
        ({**ABORTED, "job_restarts": 3}, "The job had been restarted 3 times before."),
        (
            {**ABORTED, "disable_retries": True},
            "Nothing was restarted, because job_spec.scheduling.disable_retries is true.",
        ),
        (
            {**KILLED, "restart_job_on_worker_restart": True},
            "The replica workerpool1-0 ended with status 137 (SIGKILL), and restart_job_on_worker_restart is "
            "true. The job is restarted: restart 1 of 3.",
        ),
        (
            {"code": 1, "preempted": True},
            "The machine of the replica workerpool1-0 was preempted. It is restarted: restart 1 of 5.",
        ),
        (
            {**SPOT, "code": 143, "preemptions": 4},
            "The machine of the replica workerpool1-0 was preempted, on Spot VMs. The job is restarted: "
            "restart 5 of 6.",
        ),
        (
            {**SPOT, "code": 143, "preemptions": 6},
            "The job had been restarted after 6 preemptions of Spot VMs before.",
        ),
    ],
)
def test_the_words_of_a_decision(facts: dict[str, Any], words: str) -> None:
    assert decide(Failure(replica="workerpool1-0", **facts)).words == words


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.sampled_from([6, 11, 134, 137, 139, 143]))),
    st.booleans(),
)
def test_no_history_restarts_for_ever(failures: list[tuple[str, int]], whole: bool) -> None:
    """Whatever fails how often: at most 3 restarts of the job, and 5 of a replica in each attempt."""
    history = History()
    starts = dict.fromkeys("abc", 1)
    forever = itertools.chain(failures, itertools.repeat(("a", 137)))
    for replica, code in forever:
        failure = Failure(
            replica=replica,
            code=code,
            replica_restarts=history.of(replica),
            job_restarts=history.job,
            restart_job_on_worker_restart=whole,
        )
        step = decide(failure).step
        history = history.after(step, replica=replica)
        if step == "fail":
            break
        for each in starts if step == "restart_job" else replica:
            starts[each] += 1
    assert history.job == 3
    assert max(starts.values()) <= 4 * (1 + 5)
    assert max(starts.values()) <= 4 or not whole


def test_a_new_attempt_of_the_job_resets_the_restarts_of_its_replicas() -> None:
    history = History(job=1).after("restart_replica", replica="a").after("restart_replica", replica="b")
    assert (history.of("a"), history.of("b"), history.of("c"), history.job) == (1, 1, 0, 1)
    again = history.after("restart_job", replica="a")
    assert (again.of("a"), again.of("b"), again.job) == (0, 0, 2)
    assert again.after("fail", replica="a") == again


def test_preemptions_and_other_restarts_of_a_job_are_counted_apart() -> None:
    history = History(job=1, preemptions=2).after("restart_replica", replica="a")
    assert (history.job, history.preemptions, history.attempt) == (1, 2, 4)
    preempted = history.after("restart_job", replica="a", spot_ended=True)
    assert (preempted.job, preempted.preemptions, preempted.of("a"), preempted.attempt) == (1, 3, 0, 5)
    aborted = preempted.after("restart_job", replica="a")
    assert (aborted.job, aborted.preemptions, aborted.attempt) == (2, 3, 6)


def test_the_words_of_a_failure_after_restarts() -> None:
    end = outcome.Exit(replica="workerpool0-0", code=134, words="The job had been restarted 3 times before.")
    found = outcome.after(end, where_to_look="U")
    assert found is not None
    assert found.message == (
        "The replica workerpool0-0 exited with a non-zero status of 134. Termination reason: Error. It was "
        "ended by the signal SIGABRT. The job had been restarted 3 times before. To find out more about why "
        "your job exited please check the logs: U"
    )


def test_the_words_of_a_failure_for_want_of_memory() -> None:
    """Compare the first sentence with the documents."""
    end = outcome.Exit(replica="workerpool1-0", code=137, out_of_memory=True)
    found = outcome.after(end, where_to_look="U")
    assert found is not None
    assert found.message.startswith(
        "The replica workerpool1-0 ran out of memory and exited with a non-zero status of 137. It was ended"
    )


@pytest.mark.parametrize(
    ("own_group", "events", "count"),
    [
        pytest.param("4:memory:/v1\n0::/user/a.scope\n", "low 0\noom 9\noom_kill 7\n", 7, id="reported"),
        pytest.param("4:memory:/v1\n", "oom_kill 7\n", 0, id="version 1 alone"),
        pytest.param("0::/user/b.scope\n", "oom_kill 7\n", 0, id="no memory controller there"),
        pytest.param("0::/user/a.scope\n", "oom 9\n", 0, id="an older kernel"),
    ],
)
def test_how_many_were_killed_for_want_of_memory(
    tmp_path: Path, own_group: str, events: str, count: int
) -> None:
    (tmp_path / "own").write_text(own_group)
    (tmp_path / "groups/user/a.scope").mkdir(parents=True)
    (tmp_path / "groups/user/a.scope/memory.events").write_text(events)
    assert starting.oom_kills(own_group=tmp_path / "own", groups=tmp_path / "groups") == count
    assert starting.oom_kills(own_group=tmp_path / "none", groups=tmp_path / "groups") == 0
