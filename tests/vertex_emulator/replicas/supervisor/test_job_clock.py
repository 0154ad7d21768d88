"""The emulator's clock, frozen, advanced and scaled, as supervisors in processes of their own see it."""

from __future__ import annotations

import time
from contextlib import nullcontext
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.emulated.job_emulator import (
    SLEEP,
    JobEmulator,
    pool,
    processes_of,
    raise_flag,
    running_jobs,
    wait_for_flags,
    wait_until_gone,
)
from support.waiting import eventually
from vertex_emulator.daemon.admin import ClockControl
from vertex_emulator.kernel.clock import Clock, Setting
from vertex_emulator.kernel.times import parse
from vertex_emulator.replicas.sandbox.sandbox import Sandbox

DAY = 86_400
WEEK = timedelta(days=7)


def clock(emulator: JobEmulator, action: str = "", **body: Any) -> dict[str, Any]:
    """Return the clock after an action."""
    if not action:
        answer = emulator.call("GET", "/_local/clock")
    else:
        answer = emulator.call("POST", f"/_local/clock/{action}", body)
    assert answer.status == 200, answer.body
    return answer.json()


def lasted(job: dict[str, Any]) -> timedelta:
    return parse(job["endTime"]) - parse(job["startTime"])


def test_nothing_is_set_at_first(emulator: JobEmulator) -> None:
    shown = clock(emulator)
    assert shown["rate"] == 1
    assert abs(parse(shown["time"]) - datetime.now(timezone.utc)) < timedelta(minutes=1)
    assert not (emulator.data_dir / "clock.json").exists()


def test_a_week_passes_at_once(emulator: JobEmulator) -> None:
    """Use the default timeout, 7 days."""
    clock(emulator, "freeze")
    name = emulator.create(pool(SLEEP))
    emulator.wait(name, "JOB_STATE_RUNNING")
    clock(emulator, "advance", seconds=7 * DAY - 1)
    emulator.settle(name)
    assert emulator.get(name)["state"] == "JOB_STATE_RUNNING"
    clock(emulator, "advance", seconds=1)
    ended = emulator.wait(name)
    assert ended["state"] == "JOB_STATE_FAILED"
    assert "job_spec.scheduling.timeout, 604800s" in ended["error"]["message"]
    assert lasted(ended) == WEEK
    wait_until_gone(name)


def test_a_week_passes_in_a_minute(emulator: JobEmulator) -> None:
    """Let an hour pass in 0.36 s."""
    clock(emulator, "scale", factor=10_000)
    name = emulator.create(pool(SLEEP), scheduling={"timeout": "3600s"})
    ended = emulator.wait(name)
    assert ended["error"]["code"] == 4
    assert timedelta(hours=1) <= lasted(ended) < WEEK
    assert parse(ended["createTime"]) < parse(ended["startTime"]) < parse(ended["endTime"])


def test_a_frozen_clock_stops_no_work(emulator: JobEmulator) -> None:
    frozen = clock(emulator, "freeze")
    assert frozen["rate"] == 0
    name = emulator.create(pool("print('one'); print('two')"), scheduling={"timeout": "1s"})
    ended = emulator.wait(name)
    assert ended["state"] == "JOB_STATE_SUCCEEDED"
    assert emulator.printed(name) == ["one", "two"], "in this order, though at one moment"
    assert {parse(ended[key]) for key in ("createTime", "startTime", "endTime")} == {
        parse(ended["createTime"])
    }
    cancelled = emulator.create(pool(SLEEP))
    emulator.wait(cancelled, "JOB_STATE_RUNNING")
    emulator.cancel(cancelled)
    assert emulator.wait(cancelled)["state"] == "JOB_STATE_CANCELLED"
    assert clock(emulator)["time"] == frozen["time"]


def test_jobs_of_one_moment_are_in_order(emulator: JobEmulator) -> None:
    """List the newest first, page by page."""
    clock(emulator, "freeze")
    emulator.call("PUT", "/_local/start-delay", {"seconds": DAY})
    names = [emulator.create(pool("pass")) for _ in range(7)]
    assert len({emulator.get(name)["createTime"] for name in names}) == 1
    path, listed, token = "/v1/projects/local/locations/us-central1/customJobs?pageSize=3", [], ""
    while True:
        page = emulator.call("GET", f"{path}&pageToken={token}").json()
        listed += [each["name"] for each in page["customJobs"]]
        if not (token := page.get("nextPageToken", "")):
            break
    assert listed == names[::-1]
    assert [each["name"] for each in emulator.call("GET", "/_local/jobs").json()["jobs"]] == names[::-1]


def test_a_stubborn_program_is_killed_though_the_clock_stands(emulator: JobEmulator) -> None:
    clock(emulator, "freeze")
    code = "import signal\nsignal.signal(15, signal.SIG_IGN)\n" + raise_flag("ready") + SLEEP
    name = emulator.create(pool(code))
    eventually((emulator.flags / "ready").exists)
    emulator.cancel(name)
    assert emulator.wait(name)["state"] == "JOB_STATE_CANCELLED"


def test_a_clock_that_goes_again_makes_up_for_nothing(emulator: JobEmulator) -> None:
    clock(emulator, "freeze")
    name = emulator.create(pool(SLEEP), scheduling={"timeout": "2s"})
    emulator.wait(name, "JOB_STATE_RUNNING")
    time.sleep(0.3)
    clock(emulator, "scale", factor=20)
    ended = emulator.wait(name)
    assert ended["error"]["code"] == 4
    assert lasted(ended) >= timedelta(seconds=2)


def test_the_machines_time_again(emulator: JobEmulator) -> None:
    """Let waiting continue: it is neither hurried nor started again."""
    clock(emulator, "advance", seconds=30 * DAY)
    name = emulator.create(pool(SLEEP), scheduling={"timeout": "3600s"})
    assert parse(emulator.get(name)["createTime"]) - datetime.now(timezone.utc) > timedelta(days=29)
    emulator.wait(name, "JOB_STATE_RUNNING")
    clock(emulator, "advance", seconds=3000)
    shown = clock(emulator, "reset")
    assert abs(parse(shown["time"]) - datetime.now(timezone.utc)) < timedelta(minutes=1)
    emulator.settle(name)
    assert emulator.get(name)["state"] == "JOB_STATE_RUNNING"
    clock(emulator, "advance", seconds=300)
    emulator.settle(name)
    assert emulator.get(name)["state"] == "JOB_STATE_RUNNING"
    clock(emulator, "advance", seconds=301)
    assert emulator.wait(name)["error"]["code"] == 4


def test_who_waits_for_a_start_waits_no_longer_after_a_reset(emulator: JobEmulator) -> None:
    clock(emulator, "advance", seconds=30 * DAY)
    emulator.call("PUT", "/_local/start-delay", {"seconds": 600})
    name = emulator.create(pool("pass"))
    clock(emulator, "reset")
    clock(emulator, "advance", seconds=300)
    emulator.settle()
    assert emulator.get(name)["state"] == "JOB_STATE_PENDING"
    clock(emulator, "advance", seconds=301)
    assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"


def test_who_waits_for_a_quota_gives_up_in_time_after_a_reset(emulator: JobEmulator) -> None:
    quota = {"metric": "cpus", "limit": 0, "preemptible": True, "whenExceeded": "queue"}
    emulator.call("POST", "/_local/quotas", quota)
    clock(emulator, "advance", seconds=30 * DAY)
    scheduling = {"strategy": "FLEX_START", "maxWaitDuration": "600s"}
    name = emulator.create(pool("pass"), scheduling=scheduling)
    clock(emulator, "reset")
    clock(emulator, "advance", seconds=300)
    emulator.settle()
    assert emulator.get(name)["state"] == "JOB_STATE_QUEUED"
    clock(emulator, "advance", seconds=301)
    assert emulator.wait(name)["error"]["code"] == 8


def test_jobs_start_when_their_delay_has_passed(emulator: JobEmulator) -> None:
    clock(emulator, "freeze")
    emulator.call("PUT", "/_local/start-delay", {"seconds": DAY})
    name = emulator.create(pool("pass"))
    clock(emulator, "advance", seconds=DAY - 1)
    emulator.settle()
    assert (emulator.get(name)["state"], processes_of(name)) == ("JOB_STATE_PENDING", [])
    clock(emulator, "advance", seconds=1)
    ended = emulator.wait(name)
    assert ended["state"] == "JOB_STATE_SUCCEEDED"
    assert parse(ended["startTime"]) - parse(ended["createTime"]) == timedelta(days=1)


def test_the_clock_outlives_the_emulator(tmp_path: Path, sandbox: Sandbox) -> None:
    with running_jobs(tmp_path, sandbox=sandbox) as first:
        clock(first, "freeze")
        then = clock(first, "advance", seconds=DAY)["time"]
        name = first.create(pool(SLEEP), scheduling={"timeout": "60s"})
        first.wait(name, "JOB_STATE_RUNNING")
    with running_jobs(tmp_path, sandbox=sandbox) as second:
        assert (clock(second)["time"], clock(second)["rate"]) == (then, 0)
        clock(second, "advance", seconds=60)
        assert second.wait(name)["error"]["code"] == 4


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"rate": ', id="half of it"),
        pytest.param("[]", id="a list"),
        pytest.param('{"rate": 0, "speed": 2}', id="another key"),
        pytest.param('{"rate": "0"}', id="a text"),
        pytest.param('{"rate": null}', id="null"),
        pytest.param('{"rate": true}', id="a boolean"),
        pytest.param('{"rate": -1}', id="back"),
        pytest.param('{"rate": NaN}', id="no number"),
        pytest.param('{"rate": 0, "utc": 1.5}', id="a fraction of a microsecond"),
        pytest.param('{"rate": 0, "seconds": 1e400}', id="endless"),
        pytest.param('{"rate": 0, "wall": %s}' % (10**400), id="more digits than a float has"),
    ],
)
def test_a_spoilt_file_is_no_clock(tmp_path: Path, text: str) -> None:
    path = tmp_path / "clock.json"
    path.write_text(text)
    assert Clock(path).setting == Setting()


def test_the_clock_ends_with_the_year_9999(idle: JobEmulator) -> None:
    then = datetime(9999, 12, 31, 23, tzinfo=timezone.utc).timestamp()
    setting = Setting(rate=0, utc=round(then * 1e6))
    idle.daemon.clock.setting = setting
    answer = idle.call("POST", "/_local/clock/advance", {"seconds": 3600})
    assert (answer.status, "ends with the year 9999" in answer.message) == (400, True)
    assert idle.daemon.clock.setting == setting
    assert clock(idle, "advance", seconds=3599)["time"] == "9999-12-31T23:59:59.000Z"
    assert clock(idle, "reset")["rate"] == 1


def test_logs_and_objects_have_the_same_time(emulator: JobEmulator) -> None:
    clock(emulator, "freeze")
    at = parse(clock(emulator, "advance", seconds=365 * DAY)["time"])
    made = emulator.call("POST", "/storage/v1/b?project=local", {"name": "some-bucket"}).json()
    stored = emulator.call("POST", "/upload/storage/v1/b/some-bucket/o?uploadType=media&name=one", {"a": 1})
    written = "open('/gcs/some-bucket/two', 'w').close(); print('done')"
    name = emulator.create(pool(written))
    emulator.wait(name)
    clock(emulator, "scale", factor=1)
    (emulator.data_dir / "buckets/some-bucket/three").touch()
    [entry, *_] = emulator.entries(name)
    listed = emulator.call("GET", "/storage/v1/b/some-bucket/o").json()["items"]
    times = [parse(made["timeCreated"]), parse(stored.json()["timeCreated"]), parse(entry["timestamp"])]
    times += [parse(each["timeCreated"]) for each in listed if each["name"] == "three"]
    assert len(times) == 4
    assert all(abs(each - at) < timedelta(minutes=1) for each in times), times


def test_a_list_may_be_stale_by_the_clock(emulator: JobEmulator) -> None:
    clock(emulator, "freeze")
    emulator.create(pool("pass"))
    fault = {"method": "ListCustomJobs", "stale": {"seconds": 60}, "times": "always"}
    assert emulator.call("POST", "/_local/faults", fault).status == 200
    path = "/v1/projects/local/locations/us-central1/customJobs"
    assert emulator.call("GET", path).json() == {}
    clock(emulator, "advance", seconds=61)
    assert len(emulator.call("GET", path).json()["customJobs"]) == 1


@pytest.mark.parametrize(
    ("action", "body", "says"),
    [
        pytest.param("advance", {"seconds": -1}, "seconds must be", id="back"),
        pytest.param("advance", {}, "seconds must be", id="how far"),
        pytest.param("scale", {"factor": 0}, "from 0.0001 to 10000, not 0", id="factor 0"),
        pytest.param("scale", {"factor": 1e9}, "to 10000", id="too fast"),
        pytest.param(
            "freeze", {"seconds": 1}, "'seconds' is unknown: this call has no parameters", id="for a time"
        ),
        pytest.param("freeze", [], "The body must be a JSON object which may be empty.", id="a list"),
        pytest.param("advance", {"seconds": 10**400}, f"not 1{'0' * 99}...", id="how very far"),
        pytest.param("reset", {"to": 1}, "'to' is unknown", id="reset to a time"),
    ],
)
def test_what_cannot_be_set(idle: JobEmulator, action: str, body: object, says: str) -> None:
    answer = idle.call("POST", f"/_local/clock/{action}", body)
    assert (answer.status, says in answer.message) == (400, True), answer.body
    assert clock(idle)["rate"] == 1


def test_the_rules_hold_in_scaled_time(tmp_path: Path, sandbox: Sandbox) -> None:
    """Five restarts of the replica in each of four attempts, all ten minutes apart: 3 h 50 min in 1.4 s."""
    with running_jobs(tmp_path, sandbox=sandbox, restart_seconds=600.0) as emulator:
        clock(emulator, "scale", factor=10_000)
        name = emulator.create(pool(SLEEP), pool("import os; os.kill(os.getpid(), 9)"))
        ended = emulator.wait(name)
        assert "The job had been restarted 3 times before." in ended["error"]["message"]
        assert lasted(ended) >= timedelta(minutes=230)
        replica = emulator.replicas(name)["workerpool1-0"]
        assert (replica["attempt"], replica["jobAttempt"]) == (24, 4)


@pytest.mark.parity(
    "Custom jobs: timeout",
    own_way="by the emulator's clock; the error message is ours",
    fields=("job_spec.scheduling.timeout",),
)
def test_the_timeout_counts_over_all_attempts(tmp_path: Path, sandbox: Sandbox) -> None:
    """End the job before its second restart, which is due when the timeout has passed."""
    with running_jobs(tmp_path, sandbox=sandbox, restart_seconds=3600.0) as emulator:
        clock(emulator, "freeze")
        name = emulator.create(pool("import os; os.abort()"), scheduling={"timeout": "36000s"})
        emulator.until(lambda: emulator.replicas(name).get("workerpool0-0", {}).get("exitCode") == 134)
        clock(emulator, "advance", seconds=3600)
        emulator.until(lambda: emulator.replicas(name)["workerpool0-0"]["attempt"] == 2)
        emulator.until(lambda: emulator.replicas(name)["workerpool0-0"]["exitCode"] == 134)
        clock(emulator, "advance", seconds=36_000)
        ended = emulator.wait(name)
        assert ended["error"]["code"] == 4
        assert emulator.replicas(name)["workerpool0-0"]["attempt"] == 2


def test_restarts_wait_by_the_clock(tmp_path: Path, sandbox: Sandbox) -> None:
    code = "import os\n" + raise_flag("first") + "os.kill(os.getpid(), 9)\n"
    again = "import os\nif os.path.exists('/gcs/flags/first'): raise SystemExit(0)\n" + code
    with running_jobs(tmp_path, sandbox=sandbox, restart_seconds=600.0) as emulator:
        clock(emulator, "freeze")
        name = emulator.create(pool(wait_for_flags("end")), pool(again))
        emulator.wait(name, "JOB_STATE_RUNNING")
        emulator.until(lambda: emulator.replicas(name)["workerpool1-0"]["state"] == "restarting")
        emulator.settle(name)
        assert emulator.replicas(name)["workerpool1-0"]["attempt"] == 1
        clock(emulator, "advance", seconds=600)
        emulator.until(lambda: emulator.replicas(name)["workerpool1-0"]["state"] == "succeeded")
        (emulator.flags / "end").touch()
        assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"


@pytest.mark.parametrize("parts", [(3599.0, 1.0), (0.1, 0.2, 0.3), (1800.7, 1799.3)], ids=str)
@given(began=st.floats(0, 1e8), rate=st.sampled_from([0.0, 1.0, 60.0]))
def test_parts_of_a_wait_add_up_to_it(parts: tuple[float, ...], began: float, rate: float) -> None:
    setting = Setting(seconds=began, rate=rate).changed(wall=0, steady=0.0, rate=0.0)
    start = setting.seconds_at(1.0)
    for part in parts:
        setting = setting.changed(wall=0, steady=1.0, by=part)
    assert setting.seconds_at(2.0) - start >= sum(parts) - 1e-12
    assert start >= began


def test_a_file_is_of_the_setting_under_which_it_was_written(tmp_path: Path) -> None:
    """Though a file system's times are those of the kernel's last tick, and both come within one."""
    found = Clock(tmp_path / "clock.json")
    control = ClockControl(found, tmp_path / "clock.json", changing=lambda _jump: nullcontext())
    for number in range(20):
        before, after = tmp_path / f"before-{number}", tmp_path / f"after-{number}"
        at_first = found.moment()
        before.touch()
        control.advance(DAY)
        after.touch()
        times = [parse(found.file_time(path.stat().st_mtime_ns)) for path in (before, after)]
        assert times[0] < datetime.now(timezone.utc)
        assert times[1] >= at_first + timedelta(days=1) - timedelta(milliseconds=1)
