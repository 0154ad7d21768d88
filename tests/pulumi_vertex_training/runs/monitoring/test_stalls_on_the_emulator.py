"""Real replicas that hang in three ways, and one that is slow: their ends, the cause, and who is behind."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import vertex_cluster
from pulumi_vertex_training.cloud import logs
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord
from pulumi_vertex_training.kinds.custom_job.provider import DECLARED
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from pulumi_vertex_training.package.waits.job_wait import JobWait, WaitOptions
from pulumi_vertex_training.runs.diagnosis.diagnosis import Diagnosis, examine
from pulumi_vertex_training.ui.source import job as job_page
from pulumi_vertex_training.views.jobs import status
from support.emulated.command import Ended, environment, run
from support.services.training import pool
from support.waiting import eventually

FIND = f"import sys; sys.path.append({str(Path(vertex_cluster.__file__).parents[1])!r})\n"
WAITS_IN_A_COLLECTIVE = """
import socket, vertex_cluster
cluster = vertex_cluster.from_environment()
listening = socket.create_server(("", cluster.port))
peers = [listening.accept()[0] for _ in range(2)]
vertex_cluster.report(step=6)
for peer in peers:
    peer.send(b"-")
def all_reduce():
    return [peer.recv(1) for peer in peers]
all_reduce()
"""
JOINS = """
import ctypes, socket, time, vertex_cluster
cluster = vertex_cluster.from_environment()
while True:
    try:
        peer = socket.create_connection((cluster.chief_host, cluster.chief_port))
        break
    except OSError:
        time.sleep(0.1)
"""
SLEEPS_IN_C = f"import vertex_cluster; vertex_cluster.report(step=5)\n{JOINS}\nctypes.PyDLL(None).sleep(600)"
LOOPS = JOINS + "peer.recv(1); vertex_cluster.report(step=7)\nwhile True: time.sleep(0.01)"
"""The order of their last reports is 5, 6, 7."""
PACED = """
import time, vertex_cluster
step = 0
while True:
    step += 1
    vertex_cluster.report(step=step, total=100000)
    time.sleep({seconds})
"""
STALL = [{"name": "VERTEX_CLUSTER_STALL_TIMEOUT", "value": "3"}]


def declared(name: str, *programs: str, stall: bool = False) -> dict[str, Any]:
    pools = [pool(FIND + program) for program in programs]
    for one in pools if stall else ():
        one["containerSpec"]["env"] = STALL
    directory = {"outputUriPrefix": f"gs://stalls/{name}"}
    return {"displayName": name, "jobSpec": {"workerPoolSpecs": pools, "baseOutputDirectory": directory}}


@pytest.fixture(scope="module")
def jobs(endpoint: Endpoint) -> Mapping[str, JobRecord]:
    """Start both jobs at once: the stacks take half a minute, and the slow replica needs two reports."""
    buckets.create(endpoint, {"name": "stalls", "location": "US-CENTRAL1"})
    return {
        "hangs": custom_jobs.create(
            endpoint, declared("hangs", WAITS_IN_A_COLLECTIVE, SLEEPS_IN_C, LOOPS, stall=True)
        ),
        "uneven": custom_jobs.create(
            endpoint, declared("uneven", *(PACED.format(seconds=seconds) for seconds in (0.02, 0.02, 8)))
        ),
    }


@dataclass
class Rows:
    """A host that keeps the lines on the rows of resources."""

    lines: list[str] = field(default_factory=list)
    engine: None = None

    def report(self, _urn: str, message: str, *, passing: bool) -> None:
        assert passing
        self.lines.append(message)


def command(data_dir: Path, tmp_path: Path, *words: str) -> Ended:
    return run(*words, env=environment(tmp_path, VERTEX_TRAINING_DATA_DIR=str(data_dir)))


@pytest.fixture(scope="module")
def diagnosis(endpoint: Endpoint, jobs: Mapping[str, JobRecord]) -> Diagnosis:
    name = jobs["hangs"].name
    eventually(lambda: custom_jobs.get(endpoint, name).state.is_terminal)
    return examine(endpoint, custom_jobs.get(endpoint, name))


@pytest.mark.parity(
    "Custom jobs: a replica that hangs",
    own_way="exit code 1 ends the job at once and is not retried; stacks and last lines of all replicas are "
    "in the log, and `status` names the first that was silent",
)
def test_the_cause_names_the_first_replica_that_was_silent_since_when_and_at_which_step(
    diagnosis: Diagnosis, data_dir: Path, tmp_path: Path
) -> None:
    assert (diagnosis.kind, diagnosis.exit_code) == ("stalled", 1)
    first, _, others = diagnosis.cause.partition(". Then: ")
    assert first.startswith("a replica hangs. The first that was silent: workerpool1-0 since 20")
    assert first.endswith("Z, after step 5")
    second, third = others.split("; ")
    assert (second[:13], second[-12:]) == ("workerpool0-0", "after step 6")
    assert (third[:13], third[-12:]) == ("workerpool2-0", "after step 7")
    said = " ".join(command(data_dir, tmp_path, "status", "hangs").out.split())
    assert f"{diagnosis.cause} (likely)" in said
    assert "Read the stacks of its threads" in said


def test_all_replicas_leave_their_stacks_before_the_first_one_exits(
    diagnosis: Diagnosis, endpoint: Endpoint, jobs: Mapping[str, JobRecord]
) -> None:
    assert diagnosis.kind == "stalled"
    entries = list(logs.entries(endpoint, jobs["hangs"].job_id))
    for replica in ("workerpool0-0", "workerpool1-0", "workerpool2-0"):
        lines = [entry.message for entry in entries if entry.task == replica]
        assert any(line.startswith("Timeout (0:00:03") for line in lines), replica
        assert sum("has reported nothing since" in line for line in lines) == 1, lines
    assert any("in all_reduce" in entry.message for entry in entries)


def test_a_replica_that_is_far_behind_is_shown_while_the_job_runs(
    endpoint: Endpoint, jobs: Mapping[str, JobRecord], data_dir: Path, tmp_path: Path
) -> None:
    record = jobs["uneven"]
    eventually(lambda: status.stragglers_of(endpoint, custom_jobs.get(endpoint, record.name)))
    said = command(data_dir, tmp_path, "status", "uneven").out.split()
    assert said[said.index("Behind:") + 1] == "workerpool2-0"
    document = json.loads(command(data_dir, tmp_path, "status", "uneven", "--json").out)
    (straggler,) = document["stragglers"]
    assert straggler["replica"] == "workerpool2-0"
    assert straggler["behind"] > straggler["step"]
    page = job_page.read(endpoint, "customJobs", record.job_id)
    assert [text.partition(" is ")[0] for text in page.stragglers] == ["workerpool2-0"]
    host = Rows()
    OPERATION.configure({"vertex-training:dataDir": str(data_dir)}.get, host)
    place = {"endpoint": "emulator", "project": "local", "location": "us-central1"}
    wait = JobWait(
        urn="urn:pulumi:dev::p::t::uneven",
        id=record.name,
        outputs={**place, "base_output_directory": "gs://stalls/uneven/"},
        declared=DECLARED,
        options=WaitOptions(wait="done"),
    )
    waiting = threading.Thread(target=wait.run)
    waiting.start()
    eventually(lambda: any(", workerpool2-0 is " in line for line in host.lines), what=lambda: host.lines)
    custom_jobs.cancel(endpoint, record.name)
    eventually(lambda: custom_jobs.get(endpoint, record.name).state.is_terminal)
    waiting.join()
    assert status.stragglers_of(endpoint, custom_jobs.get(endpoint, record.name)) == ()
