"""A reset without a running emulator waits for the supervisors of jobs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vertex_emulator.daemon import reset as emulator_reset
from vertex_emulator.daemon.reset import ResetError
from vertex_emulator.job_folder.folder import JobFolder
from vertex_emulator.kernel.disk import data_folder
from vertex_emulator.kernel.timeouts import ClientTimeouts


@pytest.mark.parametrize(
    ("plan", "seconds"),
    [
        pytest.param({"timeout_scale": 4.0}, "0.4", id="of a slower emulator"),
        pytest.param({"timeout_scale": 1.0}, "0.1", id="of an ordinary one"),
        pytest.param({}, "0.1", id="without a scale"),
    ],
)
def test_a_job_is_awaited_as_long_as_its_supervisor_needs(
    tmp_path: Path, plan: dict[str, float], seconds: str
) -> None:
    folder = data_folder.prepare(tmp_path)
    job = JobFolder(folder.jobs / "1")
    job.create(job={}, plan=plan)
    folder.lock.touch()
    lock = job.hold(seconds=0)
    assert lock is not None, "this test is its supervisor"
    with pytest.raises(ResetError, match=rf"Job 1 has not ended within {seconds} s, so nothing was deleted"):
        emulator_reset.reset(tmp_path, timeouts=ClientTimeouts(jobs_end=0.1))
    os.close(lock)
    assert job.cancel.exists() and job.plan.exists()
