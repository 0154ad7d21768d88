"""One command sets the value of a secret, and a real replica reads it by `vertex_cluster.secret`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import vertex_cluster
from pulumi_vertex_training.cloud import logs
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from support.emulated.command import environment, read_until, read_until_closed, run, start_on_terminal
from support.services.training import job
from support.waiting import TIMEOUT, eventually
from vertex_emulator.testing.emulator import VertexEmulator

READS = f"""
import sys; sys.path.append({str(Path(vertex_cluster.__file__).parents[1])!r})
import os, vertex_cluster
print("it ends with", vertex_cluster.secret(os.environ["TOKEN"])[-3:])
print("and", vertex_cluster.secret("typed"))
try:
    vertex_cluster.secret("none")
except vertex_cluster.SecretError as error:
    print(error)
"""


@pytest.mark.parity(
    "Custom jobs: secrets",
    own_way="a program reads a version over HTTP as on Google Cloud; one command sets the value, and each "
    "account may read it unless `vertex-training emulator deny` denies it",
)
def test_a_replica_reads_what_the_command_has_set(vertex_emulator: VertexEmulator, tmp_path: Path) -> None:
    env = environment(tmp_path, VERTEX_TRAINING_DATA_DIR=str(vertex_emulator.data_dir))
    done = run("emulator", "secret", "set", "wandb", env=env, stdin="hunter2-old\n")
    assert (done.code, done.out) == (0, "Set the value of projects/local/secrets/wandb.\n")
    changed = run("emulator", "secret", "set", "wandb", "--json", env=env, stdin="hunter2-new\n").json
    assert changed == {"name": "projects/local/secrets/wandb"}
    process, master = start_on_terminal(["emulator", "secret", "set", "typed"], env=env)
    read_until(master, "Value of typed: ", timeout=TIMEOUT)
    os.write(master, b"with keys\n")
    shown = read_until_closed(master, timeout=TIMEOUT)
    assert (process.wait(timeout=TIMEOUT), "with keys" in shown) == (0, False)
    empty = run("emulator", "secret", "set", "wandb", env=env, stdin="")
    assert (empty.code, "The value is empty" in empty.err) == (2, True)

    endpoint = Endpoint(
        kind="emulator",
        project="local",
        location="us-central1",
        url=vertex_emulator.host,
        token=vertex_emulator.token,
    )
    wire = job("reads", READS)
    (pool,) = wire["jobSpec"]["workerPoolSpecs"]
    pool["containerSpec"]["env"] = [{"name": "TOKEN", "value": changed["name"]}]
    created = custom_jobs.create(endpoint, wire)
    eventually(lambda: custom_jobs.get(endpoint, created.name).state.is_terminal)
    entries = list(logs.entries(endpoint, created.job_id, task="workerpool0-0"))
    said = [one.message for one in entries if one.severity != "NOTICE"]
    assert said[:2] == ["it ends with new", "and with keys"]
    assert said[2].startswith("The secret projects/")
    assert "/secrets/none/versions/latest cannot be read: Secret [" in said[2]
