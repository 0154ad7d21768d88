"""The emulator's notifications: what is sent, how often, and what survives a restart."""

from __future__ import annotations

import json
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from support.emulated.emulator import ask, found_sandbox, is_alive, kill
from support.emulated.job_emulator import PARENT, JobEmulator, job_id, pool, running_jobs
from support.emulated.job_emulator import job as custom_job
from support.notifications.receiver import Receiver, receiver
from support.waiting import eventually
from vertex_emulator.client.lookup import Emulator
from vertex_emulator.jobs.notifications import subscriptions
from vertex_emulator.jobs.notifications.service import PAUSES
from vertex_emulator.jobs.notifications.subscriptions import Subscription
from vertex_emulator.replicas.sandbox.sandbox import Sandbox
from vertex_training.notifications.notification import Notification

RUN = "feedfeedfeedfeed"
LABELS = {
    "vertex-training-run": f"{RUN}-3",
    "vertex-training-declaration": RUN,
    "pulumi-resource": "train",
    "pulumi-stack": "dev",
    "pulumi-project": "digits",
}
ID = "0123456789abcdef"
FAILS = "import sys; sys.exit(7)"


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    return found_sandbox()


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox) -> Iterator[JobEmulator]:
    with running_jobs(tmp_path_factory.mktemp("notify") / "data", sandbox=sandbox) as found:
        yield found


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as found:
        yield found


@pytest.fixture(autouse=True)
def settled(emulator: JobEmulator) -> Iterator[None]:
    """Leave the emulator without subscriptions and with the machine's time."""
    yield
    subscriptions.remove_all(emulator.data_dir)
    emulator.call("POST", "/_local/clock/reset", {})


def subscribe(data_dir: Path, *notifications: Notification, **options: Any) -> None:
    given = {"id": ID, "collection": "customJobs", "declaration": RUN, **options}
    subscriptions.write(data_dir, Subscription(notifications=notifications, **given))


def deliveries(emulator: JobEmulator, name: str) -> list[dict[str, Any]]:
    answer = emulator.call("GET", f"/_local/notifications/customJobs/{job_id(name)}")
    assert answer.status == 200, answer.body
    return answer.json()["deliveries"]


def settle(emulator: JobEmulator, name: str, *states: str) -> list[dict[str, Any]]:
    """Wait until the deliveries of a job have these states, in their order. Return them."""
    eventually(
        lambda: [one["state"] for one in deliveries(emulator, name)] == list(states),
        what=lambda: deliveries(emulator, name),
    )
    return deliveries(emulator, name)


def failed_attempts(emulator: JobEmulator, name: str, count: int) -> list[dict[str, Any]]:
    def noted() -> bool:
        return [(one["attempts"], bool(one["error"])) for one in deliveries(emulator, name)] == [
            (count, True)
        ]

    eventually(noted, what=lambda: deliveries(emulator, name))
    return deliveries(emulator, name)


def test_a_webhook_gets_the_facts(emulator: JobEmulator, hook: Receiver) -> None:
    subscribe(emulator.data_dir, Notification(webhook=f"{hook.url}/a?token=t0k3n"))
    name = emulator.create(pool(FAILS), labels=LABELS)
    settle(emulator, name, "delivered")
    (posted,) = hook.posted
    job = emulator.get(name)
    assert posted.path == "/a?token=t0k3n"
    assert posted.headers["vertex-training-delivery"] == posted.run["delivery"]
    assert posted.body["incident"]["summary"] == f"train: CustomJob {job_id(name)} failed"
    assert {
        key: posted.run[key] for key in ("event", "state", "job", "run", "stack", "program", "error")
    } == {
        "event": "failed",
        "state": "JOB_STATE_FAILED",
        "job": name,
        "run": f"{RUN}-3",
        "stack": "dev",
        "program": "digits",
        "error": job["error"]["message"],
    }
    assert posted.run["end_time"] == job["endTime"]


def test_a_cancelled_job_of_a_quick_end_and_only_the_chosen_ends(
    emulator: JobEmulator, hook: Receiver
) -> None:
    subscribe(
        emulator.data_dir,
        Notification(on=("cancelled",), webhook=f"{hook.url}/cancelled"),
        Notification(on=("succeeded",), webhook=f"{hook.url}/succeeded"),
    )
    succeeded = emulator.create(pool("pass"), labels=LABELS)
    settle(emulator, succeeded, "delivered")
    cancelled = emulator.create(pool("import time; time.sleep(600)"), labels=LABELS)
    assert emulator.cancel(cancelled).status == 200
    settle(emulator, cancelled, "delivered")
    assert [one.path for one in hook.posted] == ["/succeeded", "/cancelled"]
    assert [one["target"] for one in deliveries(emulator, cancelled)] == ["notifications[0].webhook"]


def test_labels_that_a_replica_forges_run_no_command(emulator: JobEmulator, tmp_path: Path) -> None:
    touch = (sys.executable, "-c", "import sys; open(sys.argv[1], 'a').write('ran ')", str(tmp_path / "ran"))
    subscribe(emulator.data_dir, Notification(command=touch))
    forge = (
        "import json, os, urllib.request\n"
        f"body = {json.dumps(custom_job(pool('pass'), labels=LABELS))!r}.encode()\n"
        f"url = os.environ['VERTEX_EMULATOR_HOST'] + '{PARENT}/customJobs'\n"
        "headers = {'Authorization': 'Bearer ' + os.environ['VERTEX_EMULATOR_TOKEN'],"
        " 'Content-Type': 'application/json'}\n"
        "asked = urllib.request.Request(url, data=body, headers=headers)\n"
        "opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))\n"
        "print('NAME', json.load(opener.open(asked))['name'])\n"
    )
    assert emulator.wait(emulator.create(pool(forge)))["state"] == "JOB_STATE_SUCCEEDED"
    (forged, *_) = [one["name"] for one in emulator.call("GET", f"{PARENT}/customJobs").json()["customJobs"]]
    assert emulator.wait(forged)["labels"] == LABELS
    declared = emulator.create(pool("pass"), labels=LABELS)
    settle(emulator, declared, "delivered")
    assert deliveries(emulator, forged) == []
    assert (tmp_path / "ran").read_text() == "ran "


def test_jobs_of_others_are_not_reported(emulator: JobEmulator, hook: Receiver) -> None:
    subscribe(emulator.data_dir, Notification(webhook=f"{hook.url}/a"))
    for labels in ({}, {**LABELS, "vertex-training-declaration": "other"}):
        name = emulator.create(pool("pass"), labels=labels)
        emulator.wait(name)
        assert deliveries(emulator, name) == []


def test_an_adopted_job_is_reported_by_its_id(emulator: JobEmulator, hook: Receiver) -> None:
    name = emulator.create(pool("import time; time.sleep(600)"))
    subscribe(emulator.data_dir, Notification(webhook=hook.url), job=job_id(name))
    assert emulator.cancel(name).status == 200
    settle(emulator, name, "delivered")


def test_a_notification_that_is_added_to_a_live_job_reports_it(emulator: JobEmulator, hook: Receiver) -> None:
    code = "import os, time\nwhile 'go' not in os.listdir('/gcs/flags'): time.sleep(0.01)\n"
    name = emulator.create(pool(code), labels=LABELS)
    emulator.wait(name, "JOB_STATE_RUNNING")
    subscribe(emulator.data_dir, Notification(webhook=hook.url))
    (emulator.flags / "go").touch()
    hook.wait(1)  # nobody asks for the job meanwhile
    settle(emulator, name, "delivered")
    (emulator.flags / "go").unlink()


def test_failed_attempts_are_repeated_and_given_up(emulator: JobEmulator, hook: Receiver) -> None:
    hook.answers = [500] * (len(PAUSES) + 1)
    emulator.call("POST", "/_local/clock/freeze", {})
    subscribe(emulator.data_dir, Notification(webhook=f"{hook.url}/a?token=t0k3n"))
    name = emulator.create(pool("pass"), labels=LABELS)
    for number, pause in enumerate(PAUSES, start=1):
        (found,) = failed_attempts(emulator, name, number)
        assert (found["state"], found["error"]) == (
            "pending",
            "the webhook answered 500 Internal Server Error",
        )
        emulator.call("POST", "/_local/clock/advance", {"seconds": pause})
    (found,) = settle(emulator, name, "failed")
    assert found["attempts"] == len(hook.posted) == len(PAUSES) + 1
    assert len({one.run["delivery"] for one in hook.posted}) == 1


def test_an_attempt_that_fails_is_followed_by_one_that_arrives(emulator: JobEmulator, hook: Receiver) -> None:
    hook.answers = [503]
    emulator.call("POST", "/_local/clock/freeze", {})
    subscribe(emulator.data_dir, Notification(webhook=hook.url))
    name = emulator.create(pool("pass"), labels=LABELS)
    failed_attempts(emulator, name, 1)
    emulator.call("POST", "/_local/clock/advance", {"seconds": PAUSES[0]})
    (found,) = settle(emulator, name, "delivered")
    assert (found["attempts"], found["error"], len(hook.posted)) == (2, "", 2)


def test_redirects_are_not_followed(emulator: JobEmulator, hook: Receiver) -> None:
    statuses = [301, 302, 303, 307, 308]
    with receiver() as elsewhere:
        hook.answers, hook.location = list(statuses), f"{elsewhere.url}/stolen"
        emulator.call("POST", "/_local/clock/freeze", {})
        subscribe(emulator.data_dir, Notification(webhook=hook.url))
        name = emulator.create(pool("pass"), labels=LABELS)
        for number, pause in enumerate(PAUSES, start=1):
            (found,) = failed_attempts(emulator, name, number)
            assert found["error"].startswith(f"the webhook answered {statuses[number - 1]} ")
            assert found["error"].endswith("redirects are not followed, so declare the final address")
            emulator.call("POST", "/_local/clock/advance", {"seconds": pause})
        (given_up,) = settle(emulator, name, "failed")
        assert "stolen" not in str(given_up)
        assert (elsewhere.posted, len(hook.posted)) == ([], len(statuses))


REPORT = """
import json, os, pathlib, sys
found = {"arguments": sys.argv[2:], "variables": dict(os.environ), "document": json.load(sys.stdin)}
target = pathlib.Path(sys.argv[1])
target.with_suffix(".new").write_text(json.dumps({**found, "folder": os.getcwd()}))
target.with_suffix(".new").rename(target)
"""


def test_a_command_gets_the_facts_and_no_shell(
    emulator: JobEmulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "s3cr3t")
    report, target = tmp_path / "report.py", tmp_path / "found.json"
    report.write_text(REPORT)
    hostile = "$(touch /tmp/x); `id` 'a\" *"
    subscribe(
        emulator.data_dir, Notification(command=(sys.executable, str(report), str(target), hostile, ""))
    )
    name = emulator.create(pool("pass"), labels=LABELS, name=hostile)
    settle(emulator, name, "delivered")
    found = json.loads(target.read_text())
    assert found["arguments"] == [hostile, ""]
    assert found["document"]["display_name"] == hostile
    assert found["variables"]["VERTEX_TRAINING_RUN_DISPLAY_NAME"] == hostile
    assert found["variables"]["VERTEX_TRAINING_RUN_EVENT"] == "succeeded"
    assert found["folder"] == str(Path.home().resolve())
    assert "s3cr3t" not in str(found["variables"])


def test_a_command_that_fails_keeps_its_output_in_a_private_file(
    emulator: JobEmulator, tmp_path: Path
) -> None:
    emulator.call("POST", "/_local/clock/freeze", {})
    code = "print('the disk is full'); raise SystemExit(3)"
    subscribe(emulator.data_dir, Notification(command=(sys.executable, "-c", code, "t0k3n")))
    name = emulator.create(pool("pass"), labels=LABELS)
    (found,) = failed_attempts(emulator, name, 1)
    words, _, path = found["error"].partition("; its output is in ")
    assert words == "the command ended with exit code 3"
    output = Path(path)
    assert output.read_text() == "the disk is full\n"
    assert stat.S_IMODE(output.stat().st_mode) == 0o600
    subscribe(emulator.data_dir, Notification(command=(str(tmp_path / "missing"),)))
    other = emulator.create(pool("pass"), labels=LABELS)
    (missing,) = failed_attempts(emulator, other, 1)
    assert missing["error"] == "the program was not found, or cannot be executed"


def test_no_method_of_the_emulator_adds_a_notification(emulator: JobEmulator) -> None:
    """Even the emulator's token does not make the emulator run a command: that takes a file of the user."""
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        for path in ("/_local/notifications", f"/_local/notifications/customJobs/{ID}"):
            assert emulator.call(method, path, {"command": ["true"]}).status in (404, 405)
    assert not list((emulator.data_dir / subscriptions.FOLDER).glob("*.json"))


ESCAPE = """
import contextlib, pathlib
folder = pathlib.Path({folder!r})
with contextlib.suppress(OSError):
    print("seen:", [path.name for path in folder.iterdir()])
with contextlib.suppress(OSError):  # it may be a folder of the replica's own
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "aaaaaaaaaaaaaaaa.json").write_text("{{}}")
print("tried")
"""


def test_a_replica_neither_sees_nor_writes_subscriptions(
    emulator: JobEmulator, sandbox: Sandbox, hook: Receiver
) -> None:
    if not sandbox.shows_gcs:
        pytest.skip("replicas are plain processes on this machine")
    subscribe(emulator.data_dir, Notification(webhook=hook.url))
    folder = emulator.data_dir / subscriptions.FOLDER
    name = emulator.create(pool(ESCAPE.format(folder=str(folder))))
    emulator.wait(name)
    eventually(lambda: emulator.printed(name) == ["tried"], what=lambda: emulator.printed(name))
    assert not (folder / "aaaaaaaaaaaaaaaa.json").exists()


def test_a_subscription_that_is_damaged_breaks_nothing(emulator: JobEmulator, hook: Receiver) -> None:
    subscribe(emulator.data_dir, Notification(webhook=hook.url))
    folder = emulator.data_dir / subscriptions.FOLDER
    for number, text in enumerate(("{", "[]", '{"collection": 1}', '{"declaration": "a", "job": ""}')):
        (folder / f"{number:016x}.json").write_text(text)
    name = emulator.create(pool("pass"), labels=LABELS)
    settle(emulator, name, "delivered")


def test_files_are_private_and_a_reset_removes_them(emulator: JobEmulator, hook: Receiver) -> None:
    subscribe(emulator.data_dir, Notification(webhook=hook.url))
    folder = emulator.data_dir / subscriptions.FOLDER
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / f"{ID}.json").stat().st_mode) == 0o600
    assert emulator.call("POST", "/_local/reset", {}).status == 200
    emulator.flags.mkdir(exist_ok=True)
    assert not subscriptions.exists(emulator.data_dir, ID)


def test_a_pending_notification_survives_a_restart(tmp_path: Path, sandbox: Sandbox, hook: Receiver) -> None:
    hook.answers = [500]
    with running_jobs(tmp_path / "data", sandbox=sandbox) as emulator:
        emulator.call("POST", "/_local/clock/freeze", {})
        subscribe(emulator.data_dir, Notification(webhook=hook.url))
        name = emulator.create(pool("pass"), labels=LABELS)
        failed_attempts(emulator, name, 1)
    subscriptions.remove(tmp_path / "data", ID)  # what is recorded needs no subscription any more
    with running_jobs(tmp_path / "data", sandbox=sandbox) as emulator:
        emulator.call("POST", "/_local/clock/reset", {})
        emulator.call("POST", "/_local/clock/advance", {"seconds": PAUSES[0]})
        settle(emulator, name, "delivered")
    first, second = hook.posted
    assert first.run == second.run


def test_a_job_that_ends_without_an_emulator_is_reported_after_the_next_start(
    tmp_path: Path, sandbox: Sandbox, hook: Receiver
) -> None:
    code = "import os, time\nwhile 'go' not in os.listdir('/gcs/flags'): time.sleep(0.01)\n"
    with running_jobs(tmp_path / "data", sandbox=sandbox) as emulator:
        subscribe(emulator.data_dir, Notification(webhook=hook.url))
        name = emulator.create(pool(code), labels=LABELS)
        emulator.wait(name, "JOB_STATE_RUNNING")
        supervisor = psutil.Process(emulator.supervisor(name))
    assert hook.posted == []
    (emulator.flags / "go").touch()
    eventually(lambda: not is_alive(supervisor))
    with running_jobs(tmp_path / "data", sandbox=sandbox) as emulator:
        settle(emulator, name, "delivered")
    assert [one.run["event"] for one in hook.posted] == ["succeeded"]


def test_a_kill_during_an_attempt_repeats_it(
    start: Callable[..., Emulator], tmp_path: Path, hook: Receiver
) -> None:
    hook.may_answer.clear()
    daemon = start()
    subscribe(tmp_path / "data", Notification(webhook=hook.url))
    job = {**custom_job(pool("pass")), "labels": LABELS}
    ask(daemon, "POST", f"{PARENT}/customJobs", job).ok()
    hook.wait(1)
    kill(daemon.pid)
    hook.may_answer.set()
    start()
    first, second = hook.wait(2)
    assert first.run == second.run


def test_a_stop_during_an_attempt_repeats_it(tmp_path: Path, sandbox: Sandbox, hook: Receiver) -> None:
    hook.may_answer.clear()
    with running_jobs(tmp_path / "data", sandbox=sandbox) as emulator:
        subscribe(emulator.data_dir, Notification(webhook=hook.url))
        name = emulator.create(pool("pass"), labels=LABELS)
        hook.wait(1)
    hook.may_answer.set()
    eventually(lambda: "notification" not in [thread.name for thread in threading.enumerate()])
    with running_jobs(tmp_path / "data", sandbox=sandbox) as emulator:
        settle(emulator, name, "delivered")
    first, second = hook.posted
    assert first.run == second.run


def test_no_log_has_an_address(
    emulator: JobEmulator, caplog: pytest.LogCaptureFixture, hook: Receiver
) -> None:
    hook.answers = [500]
    caplog.set_level("DEBUG")
    emulator.call("POST", "/_local/clock/freeze", {})
    webhook = f"{hook.url}/s3cr3t?token=t0k3n"
    subscribe(emulator.data_dir, Notification(webhook=webhook, command=("false", "t0k3n")))
    name = emulator.create(pool("pass"), labels=LABELS)
    eventually(lambda: all(one["error"] for one in deliveries(emulator, name)) and deliveries(emulator, name))
    eventually(lambda: "notifications[0].webhook: attempt 1 of 5 failed" in caplog.text)
    assert "s3cr3t" not in caplog.text
    assert "t0k3n" not in caplog.text
    shown = json.dumps([emulator.get(name), deliveries(emulator, name)])
    assert "t0k3n" not in shown
