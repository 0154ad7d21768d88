"""`top` and `watch` on a real emulator: on terminals, in pipes, with hostile names and logs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from pulumi_vertex_training.views import target
from support import json_schema
from support.emulated.command import (
    HANGS,
    Ended,
    environment,
    read_until,
    read_until_closed,
    run,
    run_on_terminal,
    start_on_terminal,
)
from support.services.training import job
from support.waiting import eventually
from vertex_cluster.reporting import REPORT_FILE
from vertex_emulator.client.control import Control
from vertex_emulator.daemon import reset as emulator_reset

BUCKET = "watched-bucket"
ATTACK = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"
OF_A_VIEW = re.compile(r"\x1b\[(\?25[hl]|\?1049[hl]|H|\d*A|2K|[0-9;]*m)|\r")
"""Sequences of rich itself: cursor, other screen, home, lines, colours."""
REPORT = {"step": 45, "total": 100, "metrics": {"loss": 0.25}, "time": "2026-11-23T12:00:00Z"}


def program(flag: str, end: str) -> str:
    """Return a program that prints a line, waits for an object of the bucket, and goes on to its end."""
    return (
        f"import os, sys, time\nprint({ATTACK!r} + 'loss 0.25', flush=True)\n"
        f"while not os.path.exists('/gcs/{BUCKET}/{flag}'): time.sleep(0.05)\n{end}\n"
    )


@dataclass(kw_only=True)
class Seen:
    """The output of the commands while a job was running, and when jobs ended."""

    env: dict[str, str]
    ids: dict[str, str] = field(default_factory=dict)
    ended: dict[str, Ended] = field(default_factory=dict)
    screens: dict[str, str] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    folder = tmp_path_factory.mktemp("live")
    env = environment(folder, VERTEX_TRAINING_DATA_DIR=str(folder / "emulator"))
    made = Seen(env=env)
    assert run("emulator", "start", env=env).code == 0
    try:
        made.ended["top without jobs"] = run("top", env=env)
        see(made, target.resolve(target.Choice(data_dir=folder / "emulator"), {}))
        yield made
    finally:
        emulator_reset.reset(folder / "emulator")


def submit(endpoint: Endpoint, name: str, end: str) -> str:
    base = f"gs://{BUCKET}/{name}"
    body = job(f"{name}{ATTACK}", program(f"end-{name}", end), program(f"end-{name}", ""))
    body["jobSpec"]["baseOutputDirectory"] = {"outputUriPrefix": base}
    objects.upload(endpoint, BUCKET, f"{name}/{REPORT_FILE}", json.dumps(REPORT).encode())
    return custom_jobs.create(endpoint, body).job_id


def see(made: Seen, endpoint: Endpoint) -> None:
    """Run the commands in the order of a day: list, look, watch, end."""
    buckets.create(endpoint, {"name": BUCKET, "location": "us-central1"})
    ends = {"good": "", "bad": "sys.exit(3)", "left": "", "cancelled": ""}
    made.ids = {name: submit(endpoint, name, end) for name, end in ends.items()}

    control = Control(url=endpoint.url or "", token=endpoint.token or "")

    def states() -> list[str]:
        return [str(one["state"]) for job in control.jobs() for one in job["replicas"]]

    def shown() -> bool:
        jobs = run("top", "--json", env=made.env).json["jobs"]
        return [one["state"] for job in jobs for one in job["replicas"]] == ["running"] * 8

    eventually(lambda: states() == ["running"] * 8, what=states)
    eventually(shown)
    made.ended["top in a pipe"] = run("top", env=made.env)
    made.ended["top --json"] = run("top", "--json", env=made.env)
    for columns in (80, 100):
        process, master = start_on_terminal(["top"], env={**made.env, "COLUMNS": str(columns), "LINES": "24"})
        shown = read_until(master, "q ends this view", timeout=HANGS)
        os.write(master, b"q")
        made.screens[f"top {columns}"] = shown + read_until_closed(master, timeout=HANGS)
        made.codes[f"top {columns}"] = process.wait(HANGS)
    stop_early(made, "q", lambda process, master: os.write(master, b"q"))
    stop_early(made, "Ctrl-C", lambda process, master: os.kill(process.pid, signal.SIGINT))
    watch_to_the_end(made, endpoint)


def stop_early(made: Seen, name: str, stop: Any) -> None:
    """Watch a live job on a terminal, and end the view before the job."""
    process, master = start_on_terminal(["watch", made.ids["left"]], env={**made.env, "LINES": "24"})
    shown = read_until(master, "loss 0.25", timeout=HANGS)
    shown += read_until(master, "the job goes on", timeout=HANGS)
    stop(process, master)
    made.screens[name] = shown + read_until_closed(master, timeout=HANGS)
    made.codes[name] = process.wait(HANGS)


def watch_to_the_end(made: Seen, endpoint: Endpoint) -> None:
    """Watch jobs from before their ends: in a pipe, as JSON, and on a terminal."""
    watched = {
        "good": start(made, "watch", made.ids["good"]),
        "json": start(made, "watch", made.ids["good"], "--json"),
        "bad": start(made, "watch", made.ids["bad"]),
        "cancelled": start(made, "watch", made.ids["cancelled"], "--json"),
    }
    begun = {name: read_line(one, "RUNNING") for name, one in watched.items()}
    process, master = start_on_terminal(["watch", made.ids["bad"]], env={**made.env, "LINES": "24"})
    shown = read_until(master, "45%", timeout=HANGS)
    run("cancel", made.ids["cancelled"], env=made.env)
    for name in ("good", "bad"):
        objects.upload(endpoint, BUCKET, f"end-{name}", b"")
    made.screens["bad"] = shown + read_until_closed(master, timeout=HANGS)
    made.codes["bad"] = process.wait(HANGS)
    for name, one in watched.items():
        assert one.stdout is not None and one.stderr is not None
        with one:
            out, err = begun[name] + one.stdout.read(), one.stderr.read()
        made.ended[name] = Ended(code=one.wait(HANGS), out=out, err=err)
    made.ended["after its end"] = run("watch", made.ids["good"], env=made.env)
    made.ended["mistyped"] = run("watch", "goood", env=made.env)
    made.ended["too often"] = run("watch", made.ids["good"], "--interval", "0.01", env=made.env)
    made.ended["no such kind"] = run("top", "--kind", "job", env=made.env)
    made.ended["after its end, on a terminal"] = run_on_terminal("watch", made.ids["good"], env=made.env)


def start(made: Seen, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(Path(sys.executable).with_name("vertex-training")), *words],
        env=made.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def read_line(process: subprocess.Popen[str], text: str) -> str:
    """Return the output of a process up to a line with this text."""
    assert process.stdout is not None
    read = ""
    for line in process.stdout:
        read += line
        if text in line:
            break
    return read


def documents(ended: Ended) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ended.out.splitlines()]


def test_a_table_in_a_pipe_has_each_live_job(seen: Seen) -> None:
    assert seen.ended["top without jobs"].out == ""
    assert "No live jobs" in seen.ended["top without jobs"].err
    ended = seen.ended["top in a pipe"]
    heading, *rows = ended.out.splitlines()
    assert heading.split() == ["NAME", "KIND", "STATE", "REPLICAS", "AGE", "COST", "ID", "PROGRESS"]
    assert [row.split()[0].partition("\\")[0] for row in rows] == ["cancelled", "left", "bad", "good"]
    ends = re.compile(r"custom job +RUNNING +2/2 +\w+ +\$0\.\d+ +\d+ +45%, loss 0\.25$")
    assert all(ends.search(row) for row in rows)


def test_the_page_has_every_key_of_top(seen: Seen) -> None:
    document = seen.ended["top --json"].json
    json_schema.check("top", document)
    shared = json_schema.keys("jobs", "jobs[].")
    own = {key for key in document["jobs"][0] if f"jobs[].{key}" not in shared}
    keys = {*document, *(f"jobs[].{key}" for key in own)}
    keys |= {f"jobs[].replicas[].{key}" for key in document["jobs"][0]["replicas"][0]}
    assert keys == json_schema.keys("top")
    assert [job["progress"]["percent"] for job in document["jobs"]] == [45] * 4


def test_a_view_on_a_terminal_ends_with_q_and_leaves_the_terminal_as_it_was(seen: Seen) -> None:
    for columns, ids in ((80, False), (100, True)):
        shown = seen.screens[f"top {columns}"]
        assert seen.codes[f"top {columns}"] == 0
        assert shown.startswith("\x1b[?1049h") and shown.index("\x1b[?1049l") > shown.index("q ends")
        assert shown.endswith("\x1b[?25h\x1b[?1049l")
        assert (seen.ids["good"] in shown) is ids
        assert "4 live jobs: 4 running" in shown


def test_a_watch_that_is_left_says_that_the_job_goes_on(seen: Seen) -> None:
    for name in ("q", "Ctrl-C"):
        assert seen.codes[name] == 130
        assert f"Job {seen.ids['left']} is still RUNNING. Watch it again:" in seen.screens[name]
        assert "Traceback" not in seen.screens[name]


def test_a_watch_in_a_pipe_prints_states_and_the_whole_log_and_exits_by_the_end(seen: Seen) -> None:
    good = seen.ended["good"]
    lines = good.out.splitlines()
    assert (good.code, good.err) == (0, "")
    assert "==> RUNNING, 2 running, 45%, loss 0.25" in lines
    assert sum(line.endswith("loss 0.25") and line.startswith("workerpool0-0 | ") for line in lines) == 1
    assert re.fullmatch(rf"Job {seen.ids['good']} \(good.*\): SUCCEEDED after [\dhms]+\.", lines[-1])
    bad = seen.ended["bad"]
    assert bad.code == 1
    assert ": FAILED after " in bad.out.splitlines()[-1]


def test_a_watch_as_json_is_one_document_a_line(seen: Seen) -> None:
    found = documents(seen.ended["json"])
    assert {one["type"] for one in found[:-1]} == {"state", "log"}
    assert (found[-1]["type"], found[-1]["state"]) == ("end", "JOB_STATE_SUCCEEDED")
    assert [
        one["message"]
        for one in found
        if one.get("task") == "workerpool0-0" and one.get("severity") == "INFO"
    ] == [f"{ATTACK}loss 0.25"]
    cancelled = documents(seen.ended["cancelled"])[-1]
    assert (seen.ended["cancelled"].code, cancelled["state"]) == (1, "JOB_STATE_CANCELLED")
    for one in found:
        json_schema.check("logs" if one["type"] == "log" else "watch", one)
    named = json_schema.keys("watch")
    assert {key for one in found if one["type"] != "log" for key in one} - named <= {
        "id", "kind", "name", "displayName", "state", "createTime", "startTime", "endTime", "labels", "error",
    }  # fmt: skip


def test_the_last_view_of_a_failed_job_stays_on_the_terminal(seen: Seen) -> None:
    last = seen.screens["bad"].rpartition("\x1b[?1049l")[2]
    assert seen.codes["bad"] == 1
    assert re.search(r"FAILED.* after ", last)
    assert "exit code 3" in last
    assert "workerpool0-0 | " in re.sub(r"\x1b\[[0-9;]*m", "", last)


def test_a_job_that_has_ended_is_shown_once(seen: Seen) -> None:
    assert seen.ended["after its end"].code == 0
    assert ": SUCCEEDED after " in seen.ended["after its end"].out.splitlines()[-1]
    on_terminal = seen.ended["after its end, on a terminal"]
    assert on_terminal.code == 0
    assert ": SUCCEEDED after " in on_terminal.plain


def test_no_control_character_of_others_reaches_a_terminal_or_a_pipe(seen: Seen) -> None:
    shown = {**seen.screens, **{name: one.out + one.err for name, one in seen.ended.items()}}
    foreign = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e]")
    found = {name: foreign.findall(OF_A_VIEW.sub("", text)) for name, text in shown.items()}
    assert {name: those for name, those in found.items() if those} == {}
    for name in ("top 80", "q", "bad"):
        assert r"\x1b]0;owned" in shown[name]


def test_wrong_words_are_bad_usage(seen: Seen) -> None:
    for name, words in (
        ("mistyped", "There is no job 'goood'."),
        ("too often", "give 0.1 seconds or more"),
        ("no such kind", "invalid choice: 'job'"),
    ):
        assert (seen.ended[name].code, seen.ended[name].out) == (2, "")
        assert words in seen.ended[name].err
