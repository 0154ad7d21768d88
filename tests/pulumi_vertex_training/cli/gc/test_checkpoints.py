"""Lineages of checkpoints that no run has any longer: they are listed, and deleted only by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from pulumi_vertex_training.cli.gc.candidates import KnownStack, Status
from pulumi_vertex_training.cli.gc.checkpoints import decide_lineage, delete_lineage
from pulumi_vertex_training.cli.gc.findings import lineage_findings
from pulumi_vertex_training.cli.gc.stack_state import NOTHING, StackName, StateContents, contents_of
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.registry import type_token
from vertex_cluster import checkpoints
from vertex_emulator.client.control import Control

IDENTITY = "0123456789abcdef"
PARENT = "gs://lineages/train/checkpoints/"


def stack_with(folder: str) -> KnownStack:
    now = StateContents(checkpoints=frozenset({folder}), text=folder)
    return KnownStack(
        name=StackName(backend="file:///home/me", project="digits", stack="dev"), now=now, past=NOTHING
    )


@pytest.fixture
def bucket(data_dir: Path, endpoint: Endpoint) -> Path:
    control = Control(url=endpoint.url or "", token=endpoint.token or "")
    control.call("POST", "/storage/v1/b?project=local", {"name": "lineages"})
    local = data_dir / "buckets" / "lineages" / "train" / "checkpoints"
    for run in (1, 2):
        store = checkpoints.Checkpoints(local / f"{IDENTITY}-{run}", rank=0, world_size=1, environ={})
        store.resume(lambda _: None)
        store.save(10, lambda at: (at / "w").write_text("state"))
    (local / "notes").mkdir()
    (local / "notes" / "mine.txt").write_text("not a lineage")
    return local


def test_a_lineage_is_listed_and_deleted(bucket: Path, endpoint: Endpoint) -> None:
    old, present = (f"{PARENT}{IDENTITY}-{run}/" for run in (1, 2))
    stacks = [stack_with(present)]
    found = {one.name: one for one in lineage_findings(endpoint, stacks)}
    assert {name: one.decision.status for name, one in found.items()} == {
        old: Status.UNPROVEN,
        present: Status.KNOWN,
    }
    assert found[old].record.size == sum(
        each.stat().st_size for each in (bucket / f"{IDENTITY}-1").rglob("*") if each.is_file()
    )
    assert f"`vertex-training gc --yes {old}` deletes it" in found[old].decision.reason
    assert delete_lineage(endpoint, old, refusal=lambda: "a job has it").words == "skipped: a job has it"
    assert delete_lineage(endpoint, old, refusal=lambda: "").deleted
    assert [one.name for one in lineage_findings(endpoint, stacks)] == [present]
    assert (bucket / "notes" / "mine.txt").exists()


def test_a_lineage_of_a_job_is_known() -> None:
    folder = f"{PARENT}{IDENTITY}-1/"
    assert decide_lineage(folder, [], read_by_jobs=folder).status is Status.KNOWN
    assert decide_lineage(folder, [], read_by_jobs=f"{PARENT}{IDENTITY}-2/").status is Status.UNPROVEN


def test_a_longer_number_is_another_lineage() -> None:
    assert decide_lineage(f"{PARENT}{IDENTITY}-1/", [], read_by_jobs=f"{PARENT}{IDENTITY}-12/").status is (
        Status.UNPROVEN
    )


def test_the_state_of_a_stack_has_the_folder_of_a_job() -> None:
    folder = f"{PARENT}{IDENTITY}-1/"
    job = {
        "urn": "urn:pulumi:dev::digits::vertex-training:index:CustomJob::train",
        "type": type_token("CustomJob"),
        "outputs": {"__run": {"key": f"{IDENTITY}-3", "checkpoints": folder}},
    }
    assert contents_of({"deployment": {"resources": [job]}}).checkpoints == {folder}
