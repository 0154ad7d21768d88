"""`replica exec` runs a command in a real replica: in its namespaces, with its rights, and with no more."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cloud import logs
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from support.emulated.command import (
    Ended,
    environment,
    read_until,
    read_until_closed,
    run,
    start_on_terminal,
)
from support.services.training import job
from support.waiting import TIMEOUT, eventually

SENTINEL = "ONLY-THE-CALLER-HAS-THIS"
FACTS = """
import json, os
rows = open("/proc/self/status").read().splitlines()
status = dict(row.split(":\\t", 1) for row in rows if ":\\t" in row)
kinds = ("user", "mnt", "pid", "net", "uts", "ipc")
print(json.dumps({
    **{kind: os.readlink("/proc/self/ns/" + kind) for kind in kinds},
    **{name: status[name] for name in ("Uid", "Gid", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp")},
    "root": sorted(os.listdir("/")), "cwd": os.getcwd(), "host": os.uname().nodename,
    "job": os.environ["CLOUD_ML_JOB_ID"],
}), flush=True)
"""
WATCHES = """
import os, sys
print("watching", flush=True)
seen = set()
while True:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            text = open("/proc/" + pid + "/environ", "rb").read()
        except OSError:
            text = b""
        if b"SENTINEL" in text and pid not in seen:
            seen.add(pid)
            print("LEAK", flush=True)
        if int(pid) > 3 and pid not in seen and int(pid) != os.getpid():
            seen.add(pid)
            print("saw", pid, flush=True)
"""


def lines(endpoint: Endpoint, job_id: str, task: str = "workerpool0-0") -> list[str]:
    found = logs.entries(endpoint, job_id, task=task)
    return [entry.message for entry in found if entry.severity != "NOTICE"]


@pytest.fixture(scope="module")
def own(endpoint: Endpoint) -> dict[str, Any]:
    """Return the facts about itself that the chief of the job `shells` has printed; its worker watches."""
    created = custom_jobs.create(
        endpoint,
        job("shells", f"{FACTS}\nimport time; time.sleep(600)", WATCHES.replace("SENTINEL", SENTINEL)),
    )
    eventually(lambda: lines(endpoint, created.job_id) and lines(endpoint, created.job_id, "workerpool1-0"))
    return json.loads(lines(endpoint, created.job_id)[0])


def env_of(data_dir: Path, home: Path) -> dict[str, str]:
    return environment(home, VERTEX_TRAINING_DATA_DIR=str(data_dir), CALLER=SENTINEL)


def execute(data_dir: Path, home: Path, *words: str, stdin: str | None = None) -> Ended:
    return run("replica", "exec", "shells", *words, env=env_of(data_dir, home), stdin=stdin)


@pytest.mark.parity(
    "Custom jobs: shells",
    own_way="`vertex-training replica exec JOB REPLICA -- COMMAND` for the user who runs the emulator; "
    "webAccessUris stays empty",
)
def test_a_command_is_where_the_replica_is_and_may_do_what_it_may(
    data_dir: Path, own: dict[str, Any], tmp_path: Path
) -> None:
    done = execute(data_dir, tmp_path, "workerpool0-0", "--", "python3", "-c", FACTS, stdin="")
    assert (done.code, done.err) == (0, "")
    found = done.json
    assert found == own
    if str(Path("/proc/self/ns/mnt").readlink()) != own["mnt"]:  # elsewhere, replicas are plain processes
        assert (found["CapEff"].strip("0"), found["NoNewPrivs"], found["Seccomp"]) == ("", "1", "2")
        assert found["user"] != str(Path("/proc/self/ns/user").readlink())


def test_no_descriptor_and_no_variable_of_the_caller_goes_in(
    data_dir: Path, own: dict[str, Any], tmp_path: Path
) -> None:
    script = "ls -1 /proc/self/fd; env"
    done = execute(data_dir, tmp_path, "workerpool0-0", "--", "sh", "-c", script, stdin="")
    assert done.code == 0
    descriptors = [line for line in done.out.splitlines() if line.isdigit()]
    assert descriptors == ["0", "1", "2", "3"]  # the last is the folder that ls reads
    assert SENTINEL not in done.out
    assert f"CLOUD_ML_JOB_ID={own['job']}" in done.out


def test_a_replica_cannot_read_the_process_that_enters_it(
    data_dir: Path, endpoint: Endpoint, own: dict[str, Any], tmp_path: Path
) -> None:
    for _ in range(10):
        assert execute(data_dir, tmp_path, "workerpool1-0", "--", "sleep", "0.2", stdin="").code == 0
    eventually(lambda: any(line.startswith("saw") for line in lines(endpoint, own["job"], "workerpool1-0")))
    assert "LEAK" not in lines(endpoint, own["job"], "workerpool1-0")


@pytest.mark.usefixtures("own")
def test_streams_and_exit_codes_pass_through(data_dir: Path, tmp_path: Path) -> None:
    big = "x" * 300_000
    both = execute(
        data_dir, tmp_path, "workerpool0-0", "--", "sh", "-c", "cat; echo no >&2; exit 7", stdin=big
    )
    assert (both.code, both.out, both.err) == (7, big, "no\n")
    killed = execute(data_dir, tmp_path, "workerpool0-0", "--", "sh", "-c", "kill -9 $$", stdin="")
    assert killed.code == 137
    missing = execute(data_dir, tmp_path, "workerpool0-0", "--", "no-such-command", stdin="")
    assert (missing.code, missing.err) == (127, "no-such-command: no such file or directory in the replica\n")


@pytest.mark.usefixtures("own")
def test_on_a_terminal_the_command_has_a_terminal_of_its_own(data_dir: Path, tmp_path: Path) -> None:
    process, master = start_on_terminal(
        ["replica", "exec", "shells", "workerpool0-0", "--", "sh"], env=env_of(data_dir, tmp_path)
    )
    asks = "import os; print('tty', os.isatty(0), os.tcgetpgrp(0) > 0, os.environ['TERM'])"
    os.write(master, f'python3 -c "{asks}"\n'.encode())
    read_until(master, "tty True True xterm", timeout=TIMEOUT)
    os.write(master, b"sh -c 'echo begun $((40+2)); exec sleep 600'\n")
    read_until(master, "begun 42", timeout=TIMEOUT)  # the terminal shows what is typed before it runs
    os.write(master, b"\x03")  # Ctrl-C is for the command, not for ours
    os.write(master, b"echo $((6*7)) && exit 3\n")
    shown = read_until_closed(master, timeout=TIMEOUT)
    assert "42" in shown
    assert process.wait(timeout=TIMEOUT) == 3


@pytest.mark.usefixtures("own")
def test_a_replica_that_is_not_there_is_named(data_dir: Path, tmp_path: Path) -> None:
    unknown = execute(data_dir, tmp_path, "workerpool0-1", "--", "true")
    assert unknown.code == 2
    assert re.search(r"has no replica 'workerpool0-1'. Did you mean", unknown.err)
