"""Records of earlier runs that cannot be deleted do not fail the deployment, whose new job would be lost."""

from __future__ import annotations

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import Unavailable
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.core.running import provider
from pulumi_vertex_training.kinds.custom_job.provider import DECLARED
from pulumi_vertex_training.runs import deletion
from pulumi_vertex_training.runs.deletion import StillRunningError
from pulumi_vertex_training.runs.identity import labels
from pulumi_vertex_training.runs.submission import run_of
from support.ground.jobs import pool


@pytest.mark.parametrize(
    "error", [Unavailable("no answer"), StillRunningError("custom job 7 is CANCELLING, 300 s after")]
)
def test_old_runs_that_cannot_be_deleted_are_a_warning(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(deletion, "delete_oldest", fail)
    inputs = DECLARED.inputs(
        endpoint="google",
        project="p",
        location="us-central1",
        display_name="train",
        worker_pool_specs=(pool(),),
        keep_runs=3,
        marks={"resource": "train"},
    )
    carried = labels("aaaa-2", "v1-0")
    state = JobState.JOB_STATE_PENDING
    record = JobRecord(name="new", display_name="train", state=state, labels=carried)
    endpoint = Endpoint(kind="google", project="p", location="us-central1")
    provider._delete_oldest(DECLARED, endpoint, inputs, record, until=run_of(record))
    assert f"warning: train: old runs are kept, keep_runs=3 applies again with the next run: {error}" in (
        capsys.readouterr().out
    )
