"""A rerun on failure that the real engine was killed in continues from the checkpoints of the first run.

`tests/pulumi_vertex_training/core/running/test_lineages.py` has a kill at every call, with both records.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from support.client.kills.stage import UP, Hold, Moment, Stage, Victim, at
from support.client.kills.subjects import CUSTOM_JOB, Declaration, state_of
from support.waiting import eventually

# Shown quicker in tests/pulumi_vertex_training: core/running/test_lineages.py
pytestmark = pytest.mark.slow

SUBJECT = dataclasses.replace(
    CUSTOM_JOB,
    needs=('bucket = vt.StagingBucket("bucket", name=f"{name}-bucket", force_destroy=True)\n',),
    text=CUSTOM_JOB.text.replace("name, worker", "name, staging_bucket=bucket, worker"),
)
FAILS = Declaration(command=("false",), options='rerun="on_failure", rerun_limit=9')


def folders(stage: Stage) -> list[str]:
    """Return the folder of each job."""
    return [_folder(one) for one in stage.jobs()]


def _folder(job: dict[str, Any]) -> str:
    (pool,) = job["jobSpec"]["workerPoolSpecs"]
    (found,) = [
        one["value"] for one in pool["containerSpec"]["env"] if one["name"] == "VERTEX_CLUSTER_CHECKPOINT_DIR"
    ]
    return str(found)


@pytest.mark.parametrize(
    ("hold", "record"),
    [
        pytest.param(at("CreateCustomJob", Moment.LOST), "delete", id="between deletion and creation"),
        pytest.param(at("CreateCustomJob", Moment.CARRIED_OUT), "keep", id="after the creation"),
    ],
)
def test_a_killed_rerun_continues(stage: Stage, hold: Hold, record: str) -> None:
    stage.subject = SUBJECT
    stage.declaration = dataclasses.replace(FAILS, options=f'{FAILS.options}, on_replace="{record}"')
    stage.engine.write(SUBJECT.program(stage.declaration))
    stage.up()
    eventually(lambda: {state_of(one) for one in stage.jobs()} == {"FAILED"})
    (first,) = folders(stage)
    stage.interrupt(UP, hold, Victim.BOTH)
    stage.settle()
    stage.up()
    assert len(stage.recorded_jobs()) == 1
    assert set(folders(stage)) == {first}
    (recorded,) = stage.recorded()
    assert recorded["outputs"]["__run"]["checkpoints"] == first
    assert int(recorded["outputs"]["__run"]["key"].rpartition("-")[2]) > 1
