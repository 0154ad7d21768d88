"""Usage, mistakes and a scripted service: what the command says, and how it exits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.emulated.command import (
    Ended,
    environment,
    read_until_closed,
    run,
    run_on_terminal,
    start_on_terminal,
)
from support.scripted_service import Answer, Asked, Service, refusal
from support.waiting import eventually

PARENT = "projects/7/locations/us-central1/customJobs"


def job(number: int, name: str, state: str = "JOB_STATE_RUNNING", **more: Any) -> dict[str, Any]:
    pools = [{"replicaCount": "1"}, {}, {"replicaCount": "2"}]
    return {
        "name": f"{PARENT}/{number}",
        "displayName": name,
        "state": state,
        "createTime": f"2026-01-01T00:00:{number % 60:02}Z",
        "jobSpec": {"workerPoolSpecs": pools},
        **more,
    }


class Vertex:
    """Jobs by id, as the API answers for them; logs; replicas."""

    def __init__(self, *jobs: dict[str, Any]) -> None:
        self.jobs = {one["name"].rpartition("/")[2]: one for one in jobs}
        self.entries: list[dict[str, Any]] = []
        self.cancelled: list[str] = []

    def __call__(self, asked: Asked) -> Answer:
        last = asked.path.rpartition("/")[2]
        if asked.path.endswith("entries:list"):
            return Answer(document={"entries": self.entries})
        if asked.path.startswith("/_local/jobs/"):
            return Answer(document={"replicas": []})
        if last.endswith(":cancel"):
            self.cancelled.append(last.removesuffix(":cancel"))
            return Answer(document={})
        if last == "customJobs":
            (text,) = asked.query.get("filter", [""])
            found = [
                one
                for one in self.jobs.values()
                if not text.startswith("display_name=") or text == f'display_name="{one["displayName"]}"'
            ]
            return Answer(document={"customJobs": found})
        if last in ("hyperparameterTuningJobs", "trainingPipelines"):
            return Answer(document={})
        if last in self.jobs:
            return Answer(document=self.jobs[last])
        return refusal(404, "NOT_FOUND", f"The CustomJob {last} does not exist.")


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    made.script(Vertex(job(1, "digits"), job(2, "words", "JOB_STATE_SUCCEEDED")))
    yield made
    made.close()


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    return environment(tmp_path, CLOUDSDK_CONFIG=str(tmp_path), NO_GCE_CHECK="true")


@pytest.fixture
def env(bare: dict[str, str], service: Service) -> dict[str, str]:
    """Return the environment after `emulator env`, for the scripted service."""
    return {**bare, "VERTEX_EMULATOR_HOST": service.url, "VERTEX_EMULATOR_TOKEN": "t"}


def assert_clean_error(ended: Ended, *words: str, code: int, lines: int = 1) -> None:
    """Check for one line on standard error, or so many, and nothing on standard output."""
    assert ended.code == code, ended
    assert ended.out == ""
    assert ended.err.startswith("error: ")
    assert ended.err.count("\n") == lines
    assert "Traceback" not in ended.err
    for word in words:
        assert word in ended.err


def assert_json_error(ended: Ended, *words: str, code: int) -> None:
    assert ended.code == code, ended
    assert ended.err == ""
    (error,) = ended.json["errors"]
    for word in words:
        assert word in error["message"]


MISTAKES: list[tuple[str, list[str]]] = [
    ("", ["Name a command: explain, jobs, status, logs, doctor"]),
    ("emulator", ["Name a command: start, stop, status, env, reset"]),
    ("job", ["no command 'job'", "Did you mean 'jobs'?"]),
    ("emulator strat", ["no command 'strat'", "Did you mean 'start'?"]),
    ("zebra", ["no command 'zebra'.", "Commands: explain, jobs"]),
    ("logs digits --folow", ["has no option '--folow'", "Did you mean '--follow'?"]),
    ("logs digits --task", ["--task"]),
    ("cancel", ["JOB"]),
    ("jobs --endpoint gogle", ["--endpoint", "gogle"]),
    ("jobs --proj x", ["has no option '--proj x'", "Did you mean '--project'?"]),
    ("emulator start --port 99999", ["--port", "'99999' is not a port", "1 to 65535"]),
    ("jobs --endpoint google --data-dir /tmp/x --project p", ["--data-dir is for the emulator"]),
    ("jobs --endpoint google", ["No Google Cloud project is given", "--project"]),
]


@pytest.mark.parametrize(("words", "said"), MISTAKES, ids=[words for words, _ in MISTAKES])
def test_a_mistake_is_one_line_and_exit_code_2(bare: dict[str, str], words: str, said: list[str]) -> None:
    assert_clean_error(run(*words.split(), env=bare), *said, code=2)
    if words:
        assert_json_error(run(*words.split(), "--json", env=bare), *said, code=2)


def test_help_of_every_command(bare: dict[str, str]) -> None:
    commands = ["", "emulator", "emulator start", "emulator stop", "emulator status", "emulator env"]
    for words in [*commands, "emulator reset", "jobs", "status", "logs", "cancel"]:
        ended = run(*words.split(), "--help", env=bare)
        assert (ended.code, ended.err) == (0, "")
        assert ended.out.startswith(f"usage: {' '.join(['vertex-training', *words.split()])}")
        if words and words != "emulator":
            assert "--json" in ended.out


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from pulumi_vertex_training.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print([m for m in ('rich', 'requests', 'grpc', 'google.auth', 'sqlite3') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"


def test_version(bare: dict[str, str]) -> None:
    from vertex_training import __version__

    assert run("--version", env=bare).out == f"vertex-training {__version__}\n"


def test_no_emulator_and_no_project(bare: dict[str, str]) -> None:
    assert_clean_error(run("jobs", env=bare), "vertex-training emulator start", "--project", code=1)
    assert_clean_error(run("jobs", "--endpoint", "emulator", env=bare), "is not running", code=1)
    ended = run("logs", "x", "--data-dir", "/nowhere/at/all", env=bare)
    assert_clean_error(ended, "emulator start --data-dir /nowhere/at/all", code=1)
    folder = f"The emulator of {bare['HOME']}/.local/share/vertex-training/emulator is not running."
    assert_clean_error(run("emulator", "env", env=bare), folder, "VERTEX_TRAINING_DATA_DIR", code=1)


def test_google_without_credentials(bare: dict[str, str]) -> None:
    ended = run("jobs", "--project", "my-project", "--location", "europe-west4", env=bare)
    assert_clean_error(ended, "gcloud auth application-default login", "my-project, europe-west4", code=1)


def test_a_half_set_environment(bare: dict[str, str]) -> None:
    half = {**bare, "VERTEX_EMULATOR_HOST": "http://127.0.0.1:1"}
    assert_clean_error(run("jobs", env=half), "VERTEX_EMULATOR_TOKEN is not set", "emulator env", code=2)
    wrong = {**bare, "VERTEX_EMULATOR_HOST": "https://evil.example", "VERTEX_EMULATOR_TOKEN": "t"}
    assert_clean_error(run("jobs", env=wrong), "VERTEX_EMULATOR_HOST is 'https://evil.example'", code=2)


def test_the_emulator_of_the_environment_has_gone(bare: dict[str, str]) -> None:
    gone = {**bare, "VERTEX_EMULATOR_HOST": "http://127.0.0.1:1", "VERTEX_EMULATOR_TOKEN": "t"}
    assert_clean_error(run("jobs", env=gone), "Connection refused", "emulator start", code=1)


def test_jobs_in_a_pipe_are_plain_lines(env: dict[str, str]) -> None:
    ended = run("jobs", env=env)
    assert (ended.code, ended.err) == (0, "")
    heading, first, second = ended.out.splitlines()
    assert heading.split() == ["ID", "KIND", "NAME", "STATE", "CREATED", "RAN", "FOR"]
    assert first.split()[:5] == ["2", "custom", "job", "words", "SUCCEEDED"]
    assert second.split()[:5] == ["1", "custom", "job", "digits", "RUNNING"]
    assert "\x1b" not in ended.out


def test_jobs_as_json(env: dict[str, str]) -> None:
    document = run("jobs", "--json", env=env).json
    assert document["endpoint"] == {"kind": "emulator", "project": "local", "location": "us-central1"}
    assert [one["displayName"] for one in document["jobs"]] == ["words", "digits"]
    live = run("jobs", "--json", "--live", env=env).json
    assert [one["displayName"] for one in live["jobs"]] == ["digits"]


def test_jobs_on_a_terminal_are_a_table_in_colour(env: dict[str, str]) -> None:
    ended = run_on_terminal("jobs", env=env)
    assert ended.code == 0
    assert "\x1b[36mRUNNING" in ended.out and "\x1b[32mSUCCEEDED" in ended.out
    assert "digits" in ended.plain
    assert "\x1b" not in run_on_terminal("jobs", env={**env, "NO_COLOR": "1"}).out


def test_no_jobs(service: Service, env: dict[str, str]) -> None:
    service.script(Vertex())
    ended = run("jobs", env=env)
    assert (ended.code, ended.out) == (0, "")
    assert "No jobs (project local, us-central1" in ended.err
    assert run("jobs", "--json", env=env).json["jobs"] == []


def test_no_jobs_in_a_mistyped_location(service: Service, env: dict[str, str]) -> None:
    service.script(Vertex())
    assert "did you mean us-central1, " in run("jobs", "--location", "us-centrl1", env=env).err
    assert "did you mean us-central1, " in run("status", "1", "--location", "us-centrl1", env=env).err


@pytest.mark.parametrize("job_text", ["1", "digits", f"{PARENT}/1"])
def test_a_job_by_id_name_and_display_name(env: dict[str, str], job_text: str) -> None:
    document = run("status", job_text, "--json", env=env).json
    assert (document["id"], document["displayName"]) == ("1", "digits")
    assert document["replicas"] == []


@pytest.mark.parametrize("command", ["status", "logs", "cancel"])
def test_a_mistyped_job_says_which_exist(env: dict[str, str], command: str) -> None:
    said = ["no job 'digts'", "Did you mean 'digits'?", "  words   SUCCEEDED  2\n  digits  RUNNING    1"]
    assert_clean_error(run(command, "digts", env=env), *said, code=2, lines=3)
    assert_json_error(run(command, "digts", "--json", env=env), *said, code=2)
    assert_clean_error(run(command, "12345", env=env), "no job '12345'", said[-1], code=2, lines=3)
    assert_clean_error(run(command, "projects/p/jobs/1", env=env), "is not a job name", code=2)


def test_an_unknown_job_where_there_are_none(service: Service, env: dict[str, str]) -> None:
    service.script(Vertex())
    assert_clean_error(run("logs", "digits", env=env), "There are no jobs in local, us-central1.", code=2)


def test_a_display_name_of_several_jobs(service: Service, env: dict[str, str]) -> None:
    ended_ones = [job(number, "digits", "JOB_STATE_FAILED") for number in range(1, 8)]
    service.script(Vertex(*ended_ones))
    ended = run("logs", "digits", env=env)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: 7 jobs are named 'digits'. To pick one, run its command:\n")
    picks = [line.rpartition("  ")[2] for line in ended.err.splitlines()[1:]]
    assert picks == [f"vertex-training logs {number}" for number in range(7, 0, -1)]
    service.script(Vertex(*ended_ones, job(9, "digits")))
    assert run("status", "digits", "--json", env=env).json["id"] == "9"


def test_the_display_name_of_a_resource_means_its_latest_run(service: Service, env: dict[str, str]) -> None:
    def runs(*declarations: str) -> list[dict[str, Any]]:
        return [
            job(number, "digits", "JOB_STATE_FAILED", labels={"vertex-training-declaration": declaration})
            for number, declaration in enumerate(declarations, 1)
        ]

    service.script(Vertex(*runs("ab12", "ab12", "ab12")))
    assert run("status", "digits", "--json", env=env).json["id"] == "3"
    service.script(Vertex(*runs("ab12", "ab12", "cd34")))
    refused = run("status", "digits", env=env)
    assert (refused.code, "3 jobs are named 'digits'." in refused.err) == (2, True)


def test_cancel(service: Service, env: dict[str, str]) -> None:
    vertex = Vertex(
        job(1, "digits"), job(2, "words", "JOB_STATE_SUCCEEDED"), job(3, "old", "JOB_STATE_CANCELLED")
    )
    service.script(vertex)
    assert run("cancel", "digits", env=env).out == "Job 1 (digits): RUNNING.\n"
    assert vertex.cancelled == ["1"]
    assert_clean_error(run("cancel", "words", env=env), "has already ended: SUCCEEDED", code=1)
    again = run("cancel", "old", "--json", env=env)
    assert (again.code, again.json["state"]) == (0, "JOB_STATE_CANCELLED")
    assert vertex.cancelled == ["1"]


def entry(seconds: int, task: str, message: str, severity: str = "INFO") -> dict[str, Any]:
    return {
        "timestamp": f"2026-01-01T00:00:{seconds:02}Z",
        "insertId": f"{task}-{seconds}",
        "severity": severity,
        "textPayload": message,
        "resource": {"labels": {"task_name": task}},
    }


@pytest.fixture
def chatty(service: Service, env: dict[str, str]) -> dict[str, str]:
    """Return the environment of a service whose finished job 1 has a log."""
    vertex = Vertex(job(1, "digits", "JOB_STATE_FAILED", error={"code": 3, "message": "It broke."}))
    vertex.entries = [
        entry(0, "service", "Job is running."),
        entry(1, "workerpool0-0", "loss 0.5"),
        entry(2, "workerpool2-1", "Traceback:\n  File x", "ERROR"),
    ]
    service.script(vertex)
    return env


def test_logs_in_a_pipe_have_a_prefix(chatty: dict[str, str]) -> None:
    ended = run("logs", "digits", env=chatty)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "service       | Job is running.",
        "workerpool0-0 | loss 0.5",
        "workerpool2-1 | Traceback:",
        "workerpool2-1 |   File x",
    ]


def test_logs_on_a_terminal_colour_each_replica(chatty: dict[str, str]) -> None:
    ended = run_on_terminal("logs", "digits", "--follow", env=chatty)
    lines = ended.out.splitlines()
    colours = {line.partition("m")[0] for line in lines[:3]}
    assert len(colours) == 3 and all(colour.startswith("\x1b[") for colour in colours)
    assert "\x1b[31mTraceback:\x1b[0m" in lines[2]
    assert lines[-1] == "Job 1: FAILED. It broke."


def test_logs_with_times(chatty: dict[str, str]) -> None:
    lines = run("logs", "digits", "-t", env={**chatty, "TZ": "UTC"}).out.splitlines()
    assert lines[:2] == ["00:00:00 service       | Job is running.", "00:00:01 workerpool0-0 | loss 0.5"]


def test_a_long_line_continues_below_its_text(service: Service, env: dict[str, str]) -> None:
    vertex = Vertex(job(1, "digits", "JOB_STATE_SUCCEEDED"))
    words = " ".join(f"word{number}" for number in range(20))
    vertex.entries = [entry(0, "workerpool0-0", words), entry(1, "workerpool0-0", "x" * 80)]
    service.script(vertex)
    lines = run_on_terminal("logs", "digits", env=env, columns=60).plain.splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[0].startswith("workerpool0-0 | word0") and lines[1].startswith(" " * 16 + "word")
    joined = " ".join(line[16:].strip() for line in lines if "x" not in line)
    assert joined == words
    assert "".join(line[16:] for line in lines if "x" in line) == "x" * 80
    piped = run("logs", "digits", env=env).out.splitlines()
    assert len(piped) == 2, "no line is broken in a pipe"


def test_logs_as_json_are_an_object_a_line(chatty: dict[str, str]) -> None:
    ended = run("logs", "digits", "--json", "--follow", env=chatty)
    documents = [json.loads(line) for line in ended.out.splitlines()]
    assert [one["message"] for one in documents] == ["Job is running.", "loss 0.5", "Traceback:\n  File x"]
    assert documents[0]["task"] == ""
    assert ended.err == ""


def test_logs_of_one_task(service: Service, chatty: dict[str, str]) -> None:
    assert run("logs", "digits", "--task", "workerpool2-1", env=chatty).code == 0
    assert 'task_name="workerpool2-1"' in service.asked[-1].body["filter"]
    wrong = run("logs", "digits", "--task", "workerpool2-7", env=chatty)
    said = ["no task 'workerpool2-7'", "Tasks: workerpool0-0, workerpool2-0, workerpool2-1, service."]
    assert_clean_error(wrong, "Did you mean 'workerpool2-", *said, code=2)


def test_a_log_that_is_empty_so_far(env: dict[str, str]) -> None:
    ended = run("logs", "digits", env=env)
    assert (ended.code, ended.out) == (0, "")
    assert "Job 1 (RUNNING) has no log entries yet." in ended.err


def test_a_reader_that_leaves_early(service: Service, env: dict[str, str]) -> None:
    vertex = Vertex(job(1, "digits", "JOB_STATE_SUCCEEDED"))
    vertex.entries = [entry(0, "workerpool0-0", "x" * 1000 + "\n" + "y" * 1000) for _ in range(500)]
    service.script(vertex)
    command = Path(sys.executable).with_name("vertex-training")
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} logs digits | head -1 | cut -c 1-20"],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "workerpool0-0 | xxxx\n"


def test_ctrl_c_while_following_is_quiet(service: Service, env: dict[str, str]) -> None:
    vertex = Vertex(job(1, "digits"))
    vertex.entries = [entry(0, "workerpool0-0", "hello")]
    service.script(vertex)
    process, master = start_on_terminal(["logs", "digits", "--follow"], env=env)
    eventually(lambda: len([asked for asked in service.asked if asked.path.endswith("entries:list")]) >= 2)
    os.kill(process.pid, signal.SIGINT)
    out = read_until_closed(master, timeout=20)
    assert process.wait(timeout=10) == 130
    assert "hello" in out
    assert "Traceback" not in out and "KeyboardInterrupt" not in out


def test_a_service_that_answers_nonsense_is_one_clean_line(service: Service, env: dict[str, str]) -> None:
    service.script(Answer(status=404, text="<html>proxy</html>", content_type="text/html"))
    assert_clean_error(run("jobs", env=env), "not in the service's format", code=1)
    assert_json_error(run("jobs", "--json", env=env), "not in the service's format", code=1)


def test_characters_that_the_locale_lacks_do_not_end_the_log(service: Service, env: dict[str, str]) -> None:
    vertex = Vertex(job(1, "digits", "JOB_STATE_SUCCEEDED"))
    vertex.entries = [entry(0, "workerpool0-0", "loss ↓ 0.5")]
    service.script(vertex)
    ended = run("logs", "digits", env={**env, "PYTHONIOENCODING": "ascii"})
    assert ended.code == 0
    assert "loss \\u2193 0.5" in ended.out
