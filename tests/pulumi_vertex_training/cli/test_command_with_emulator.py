"""The command against a real emulator, as in a first session: start, look, follow, cancel, reset."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from pulumi_vertex_training.views import target
from support.emulated.command import (
    environment,
    read_until,
    read_until_closed,
    run,
    run_on_terminal,
    start_on_terminal,
)
from support.free_port import free_port
from support.services.training import SLEEP, job
from support.waiting import TIMEOUT, eventually
from vertex_emulator.daemon import reset as emulator_reset
from vertex_emulator.kernel.disk import data_folder


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    """Yield an emulator's folder, and reset it afterwards."""
    folder = tmp_path / "emulator"
    yield folder
    emulator_reset.reset(folder)


@pytest.fixture
def env(tmp_path: Path, data_dir: Path) -> dict[str, str]:
    return environment(tmp_path, VERTEX_TRAINING_DATA_DIR=str(data_dir))


@pytest.fixture
def endpoint(env: dict[str, str], data_dir: Path) -> Endpoint:
    """Start the emulator by the command, and return its endpoint."""
    started = run("emulator", "start", env=env)
    assert (started.code, started.err) == (0, "")
    return target.resolve(target.Choice(data_dir=data_dir), {})


def wait_for_state(env: dict[str, str], name: str, *states: str) -> dict[str, Any]:
    """Wait for the state of a job. Return the document that the command then prints."""
    endpoint = target.resolve(target.Choice(data_dir=Path(env["VERTEX_TRAINING_DATA_DIR"])), {})

    def found() -> list[str]:
        return [one.state.word for one in custom_jobs.list_jobs(endpoint) if one.display_name == name]

    eventually(lambda: set(found()) & set(states), what=found)
    document: dict[str, Any] = run("status", name, "--json", env=env).json
    return document


def has_ended(pid: int) -> bool:
    """Return whether the process has ended; one that nobody has waited for yet has."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def test_start_status_stop(env: dict[str, str], data_dir: Path) -> None:
    before = run("emulator", "status", "--json", env=env)
    assert (before.code, before.json) == (1, {"running": False, "dataDir": str(data_dir)})
    assert "is not running" in run("emulator", "status", env=env).out
    first = run("emulator", "start", "--json", env=env)
    assert first.code == 0
    assert first.json["started"] is True
    assert first.json["dataDir"] == str(data_dir)
    again = run("emulator", "start", "--json", env=env)
    assert again.json == {**first.json, "started": False}
    assert f"already running at {first.json['url']}" in run("emulator", "start", env=env).out
    status = run("emulator", "status", "--json", env=env)
    assert (status.code, status.json["running"], status.json["liveJobs"]) == (0, True, 0)
    shown = run("emulator", "status", env=env).out
    assert "no live job" in shown
    assert (status.json["network"], status.json["replicaAddresses"]) == ("host", "127.0.0.0/8")
    assert "Network of new jobs: host, with a loopback address in 127.0.0.0/8 for each replica.\n" in shown
    assert status.json["unpackedImages"]["folders"] == 0
    assert "Unpacked" not in shown
    assert f"gRPC: {status.json['grpc']}. Proxy for Google's hosts: {status.json['proxy']}.\n" in shown
    assert not has_ended(first.json["pid"])
    stopped = run("emulator", "stop", "--json", env=env)
    assert (stopped.code, stopped.json) == (0, {"stopped": True, "liveJobs": 0})
    assert has_ended(first.json["pid"])
    assert run("emulator", "stop", "--json", env=env).json == {"stopped": False, "liveJobs": 0}
    assert run("emulator", "stop", env=env).out == "The emulator was not running.\n"


def test_eight_starts_at_once_end_with_one_emulator(env: dict[str, str]) -> None:
    seen: list[dict[str, Any]] = []
    threads = [
        threading.Thread(target=lambda: seen.append(run("emulator", "start", "--json", env=env).json))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8
    assert len({one["pid"] for one in seen}) == 1


def test_start_returns_although_its_output_is_read_to_the_end(env: dict[str, str]) -> None:
    """`$(vertex-training emulator start)` must not wait for the daemon."""
    command = Path(sys.executable).with_name("vertex-training")
    out = subprocess.run(
        ["sh", "-c", f'echo "$({command} emulator start 2>&1)"'],
        env=env,
        capture_output=True,
        timeout=TIMEOUT,
    )
    assert b"is running at" in out.stdout


def test_a_port_that_is_taken(env: dict[str, str]) -> None:
    port = str(free_port())
    with socket.create_server(("127.0.0.1", int(port))):
        ended = run("emulator", "start", "--port", port, env=env)
    assert (ended.code, ended.out) == (1, "")
    assert port in ended.err and "Traceback" not in ended.err
    chosen = run("emulator", "start", "--port", port, "--json", env=env)
    assert chosen.json["url"] == f"http://127.0.0.1:{port}"
    other = run("emulator", "start", "--port", str(int(port) + 1), env=env)
    assert other.code == 1
    assert "already runs" in other.err


def test_a_data_folder_that_cannot_be_made(env: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    ended = run("emulator", "start", "--data-dir", str(file / "sub"), env=env)
    assert ended.code == 1
    assert str(file) in ended.err
    assert "Traceback" not in ended.err


def test_env_points_clients_at_the_emulator(env: dict[str, str], endpoint: Endpoint, tmp_path: Path) -> None:
    ended = run("emulator", "env", "--project", "my project's", env={**env, "NO_PROXY": "intra.example"})
    assert (ended.code, ended.err) == (0, "")
    values = {}
    for line in ended.out.splitlines():
        word, assignment = shlex.split(line)
        assert word == "export"
        name, _, value = assignment.partition("=")
        values[name] = value
    assert values["VERTEX_EMULATOR_HOST"] == endpoint.url
    assert values["VERTEX_EMULATOR_TOKEN"] == endpoint.token
    assert values["STORAGE_EMULATOR_HOST"] == endpoint.storage_url
    for service in (
        "AIPLATFORM",
        "STORAGE",
        "ARTIFACTREGISTRY",
        "SERVICEUSAGE",
        "IAM",
        "CLOUDRESOURCEMANAGER",
    ):
        assert values[f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{service}"] == f"{endpoint.url}/"
    assert Path(values["CLOUDSDK_AUTH_ACCESS_TOKEN_FILE"]).read_text().strip() == endpoint.token
    assert json.loads(Path(values["VERTEX_EMULATOR_SIGNING_KEY"]).read_text())["type"] == "service_account"
    assert values["CLOUDSDK_CORE_PROJECT"] == values["GOOGLE_CLOUD_PROJECT"] == "my project's"
    assert values["CLOUDSDK_AI_REGION"] == "us-central1"
    assert values["NO_PROXY"] == values["no_proxy"] == "intra.example,127.0.0.1,localhost"
    assert (
        run("emulator", "env", "--json", env=env).json["environment"]["VERTEX_EMULATOR_HOST"] == endpoint.url
    )
    # In that shell the command finds the emulator, although its folder is another one's.
    elsewhere = {**environment(tmp_path / "other"), **values}
    listed = run("jobs", "--json", env=elsewhere)
    assert listed.json["endpoint"]["kind"] == "emulator"
    # And Google's own client, which knows nothing of us.
    code = "from google.cloud import storage; print([b.name for b in storage.Client().list_buckets()])"
    buckets.create(endpoint, {"name": "seen-by-all", "location": "us-central1"})
    values["GOOGLE_CLOUD_PROJECT"] = "local"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**environment(tmp_path), **values},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip() == "['seen-by-all']", done.stderr


def test_env_with_the_proxy_leads_google_s_hosts_to_the_emulator(
    env: dict[str, str], endpoint: Endpoint, tmp_path: Path
) -> None:
    """Use a program that reads neither VERTEX_EMULATOR_HOST nor STORAGE_EMULATOR_HOST."""
    buckets.create(endpoint, {"name": "behind-the-proxy", "location": "us-central1"})
    command = Path(sys.executable).with_name("vertex-training")
    ask = (
        'curl -sS "https://storage.googleapis.com/storage/v1/b/behind-the-proxy?fields=name" '
        '-H "Authorization: Bearer $VERTEX_EMULATOR_TOKEN"'
    )
    script = (
        f'set -e; eval "$({command} emulator env --proxy)"; eval "$({command} emulator env --proxy)"\n'
        f'{ask}; echo; echo "${{STORAGE_EMULATOR_HOST-unset}}"; echo "$VERTEX_TRAINING_UPSTREAM_PROXY"'
        f"; {command} jobs --json"
    )
    own = {"HTTPS_PROXY": "http://proxy.example.com:3128", "NO_PROXY": "*.googleapis.com,intra.example"}
    done = subprocess.run(
        ["sh", "-c", script],
        env={**env, **own, "STORAGE_EMULATOR_HOST": "http://127.0.0.1:1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    answer, storage, upstream, jobs = done.stdout.split("\n", 3)
    assert (json.loads(answer), storage) == ({"name": "behind-the-proxy"}, "unset")
    assert upstream == "http://proxy.example.com:3128"
    assert json.loads(jobs)["endpoint"]["kind"] == "emulator"
    secret = data_folder.proxy_secret(endpoint.token or "")
    assert secret not in run("emulator", "status", "--json", env=env).out


def test_env_for_java_includes_the_proxy(env: dict[str, str], endpoint: Endpoint) -> None:
    proxied = json.loads(run("emulator", "env", "--proxy", "--json", env=env).out)
    java = json.loads(run("emulator", "env", "--java", "--json", env=env).out)
    options = java["environment"].pop("JAVA_TOOL_OPTIONS")
    assert java == proxied
    assert options == java["environment"]["VERTEX_EMULATOR_JAVA_OPTIONS"]
    assert data_folder.proxy_secret(endpoint.token or "") not in options


def test_the_shell_evaluates_env(env: dict[str, str], endpoint: Endpoint) -> None:
    command = Path(sys.executable).with_name("vertex-training")
    script = f'eval "$({command} emulator env)" && printf %s "$VERTEX_EMULATOR_HOST"'
    done = subprocess.run(["sh", "-c", script], env=env, capture_output=True, text=True, timeout=60)
    assert done.stdout == endpoint.url


def followed(
    name: str, awaited: set[str], go_on: Callable[[], object], *, env: dict[str, str]
) -> tuple[int, list[str], str]:
    """Follow the log of a job. Call `go_on` once it has the awaited lines.

    Return the exit code, all lines, and standard error.
    """
    command = Path(sys.executable).with_name("vertex-training")
    lines: list[str] = []
    with subprocess.Popen(
        [command, "logs", name, "--follow"],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        try:
            for line in process.stdout:
                lines.append(line.rstrip("\n"))
                if lines[-1] in awaited and awaited <= set(lines):
                    go_on()
            err = process.stderr.read()
        except BaseException:
            process.kill()  # the job may go on for ever, and its log with it
            raise
    assert awaited <= set(lines), lines
    return process.returncode, lines, err


def test_a_job_from_submission_to_its_end(env: dict[str, str], endpoint: Endpoint) -> None:
    buckets.create(endpoint, {"name": "flags", "location": "us-central1"})
    chief = (
        "import os, time\nprint('waiting', flush=True)\n"
        "while not os.path.exists('/gcs/flags/end'): time.sleep(0.05)\nprint('loss 0.25')"
    )
    created = custom_jobs.create(endpoint, job("digits", chief, SLEEP))
    wait_for_state(env, "digits", "RUNNING")
    status = run("status", "digits", env=env)
    assert (status.code, status.err) == (0, "")
    assert f"Job:      {created.job_id}" in status.out
    code, lines, err = followed(
        "digits",
        {"workerpool0-0 | waiting", "workerpool1-0 | sleeping"},
        lambda: objects.upload(endpoint, "flags", "end", b""),
        env=env,
    )
    assert (code, err) == (0, f"Job {created.job_id}: SUCCEEDED.\n")
    assert "workerpool0-0 | loss 0.25" in lines
    assert "service       | Job is running." in lines
    assert sorted(run("logs", "digits", env=env).out.splitlines()) == sorted(lines)
    only = run("logs", created.job_id, "--task", "workerpool0-0", "--json", env=env)
    assert {json.loads(line)["task"] for line in only.out.splitlines()} == {"workerpool0-0"}
    document = run("status", created.name, "--json", env=env).json
    assert document["state"] == "JOB_STATE_SUCCEEDED"
    assert document["replicas"][0] == {
        "name": "workerpool0-0",
        "role": "chief",
        "state": "succeeded",
        "exitCode": 0,
        "attempt": 1,
        "jobAttempt": 1,
    }
    table = run_on_terminal("status", "digits", env=env)
    assert "workerpool1-0" in table.plain and "chief" in table.plain
    assert "  ended with the chief  143" in table.plain
    assert "\x1b[33m" not in table.out  # nothing to look at
    listed = run_on_terminal("jobs", env=env)
    assert created.job_id in listed.plain and "\x1b[32mSUCCEEDED" in listed.out


def test_a_mistyped_job_says_which_exist(env: dict[str, str], endpoint: Endpoint) -> None:
    created = custom_jobs.create(endpoint, job("digits", "pass"))
    ended = run("logs", "digist", env=env)
    assert (ended.code, ended.out) == (2, "")
    assert "Did you mean 'digits'?" in ended.err
    assert created.job_id in ended.err
    other_digit = "1" if created.job_id.endswith("0") else "0"
    wrong_id = run("status", created.job_id[:-1] + other_digit, "--json", env=env)
    assert wrong_id.code == 2
    assert created.job_id in wrong_id.json["errors"][0]["message"]
    elsewhere = run("status", "digits", "--location", "europe-west4", env=env)
    assert "There are no jobs in local, europe-west4." in elsewhere.err


def test_cancel_ends_the_replicas(env: dict[str, str], endpoint: Endpoint) -> None:
    custom_jobs.create(endpoint, job("endless", SLEEP, SLEEP))
    wait_for_state(env, "endless", "RUNNING")
    assert "1 live job" in run("emulator", "status", env=env).out
    cancelled = run("cancel", "endless", env=env)
    assert (cancelled.code, cancelled.err) == (0, "")
    wait_for_state(env, "endless", "CANCELLED")
    assert run("cancel", "endless", env=env).code == 0
    document = run("status", "endless", "--json", env=env).json
    assert {one["state"] for one in document["replicas"]} == {"stopped"}
    assert document["error"]["code"] == 1


def test_a_live_job_outlives_the_emulator_and_its_log_goes_on(
    env: dict[str, str], endpoint: Endpoint
) -> None:
    custom_jobs.create(endpoint, job("survivor", SLEEP))
    wait_for_state(env, "survivor", "RUNNING")
    stopped = run("emulator", "stop", env=env)
    assert stopped.code == 0
    assert stopped.out == (
        "The emulator is stopped.\n1 job is still running. To see or cancel it, start the emulator again: "
        "run `vertex-training emulator start`.\n"
    )
    gone = run("logs", "survivor", env=env)
    assert (gone.code, gone.out) == (1, "")
    assert "vertex-training emulator start" in gone.err
    assert run("emulator", "start", env=env).code == 0
    eventually(lambda: "workerpool0-0 | sleeping" in run("logs", "survivor", env=env).out)
    assert run("jobs", "--live", "--json", env=env).json["jobs"][0]["state"] == "JOB_STATE_RUNNING"


def test_ctrl_c_ends_following_and_not_the_job(env: dict[str, str], endpoint: Endpoint) -> None:
    custom_jobs.create(endpoint, job("watched", SLEEP))
    wait_for_state(env, "watched", "RUNNING")
    process, master = start_on_terminal(["logs", "watched", "--follow"], env=env)
    read_until(master, "sleeping", timeout=60)
    os.kill(process.pid, signal.SIGINT)
    shown = read_until_closed(master, timeout=30)
    assert process.wait(timeout=30) == 130
    assert "Traceback" not in shown
    assert wait_for_state(env, "watched", "RUNNING", "FAILED", "CANCELLED")["state"] == "JOB_STATE_RUNNING"


def processes_in(folder: Path) -> list[psutil.Process]:
    """Return all processes whose command line or environment names the folder."""
    found = []
    for process in psutil.process_iter():
        try:
            words = " ".join(process.cmdline())
            if str(folder) in words:
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_reset_leaves_nothing_behind(env: dict[str, str], endpoint: Endpoint, data_dir: Path) -> None:
    custom_jobs.create(endpoint, job("doomed", SLEEP))
    buckets.create(endpoint, {"name": "doomed", "location": "us-central1"})
    objects.upload(endpoint, "doomed", "o", b"x")
    wait_for_state(env, "doomed", "RUNNING")
    done = run("emulator", "reset", "--json", env=env)
    assert done.code == 0, done
    expected = {"dataDir": str(data_dir), "stopped": True, "endedJobs": 1, "deleted": True, "kept": []}
    assert done.json == expected
    assert processes_in(data_dir) == []
    assert not (data_dir / "buckets").exists() and not (data_dir / "jobs").exists()
    again = run("emulator", "reset", env=env)
    assert (again.code, again.out) == (0, f"There is nothing to delete in {data_dir}.\n")
    assert run("emulator", "start", env=env).code == 0
    assert run("jobs", "--json", env=env).json["jobs"] == []
    restarted = target.resolve(target.Choice(data_dir=data_dir), {})
    buckets.create(restarted, {"name": "doomed", "location": "us-central1"})


def test_reset_asks_on_a_terminal(env: dict[str, str], endpoint: Endpoint) -> None:
    buckets.create(endpoint, {"name": "kept", "location": "us-central1"})
    refused = run_on_terminal("emulator", "reset", env=env, typed="n\n")
    assert refused.code == 1
    assert "Nothing was deleted." in refused.plain
    assert buckets.get(endpoint, "kept")
    agreed = run_on_terminal("emulator", "reset", env=env, typed="y\n")
    assert agreed.code == 0
    assert "Deleted all jobs" in agreed.plain


def test_reset_of_a_folder_that_is_no_emulators_touches_nothing(env: dict[str, str], tmp_path: Path) -> None:
    other = tmp_path / "thesis"
    (other / "jobs").mkdir(parents=True)
    (other / "jobs" / "chapter").write_text("words")
    done = run("emulator", "reset", "--data-dir", str(other), env=env)
    assert (done.code, done.out) == (1, "")
    assert (
        f"{other} is not a data folder of the emulator: it has jobs/. Nothing in it was changed" in done.err
    )
    assert (other / "jobs" / "chapter").read_text() == "words"
