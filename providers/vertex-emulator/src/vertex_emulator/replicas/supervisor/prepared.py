"""The content of the fork server that its forks share, so that no job loads or computes it again."""

from __future__ import annotations

import codecs
import contextlib
import os
from pathlib import Path

from vertex_emulator.job_folder import folder
from vertex_emulator.replicas.plan import Plan
from vertex_emulator.replicas.preparation.packages import private_python
from vertex_emulator.replicas.sandbox import sandbox
from vertex_emulator.replicas.sandbox.linux import seccomp
from vertex_training.job import custom_job
from vertex_training.job.custom_job import CustomJobSpec

Prepared = tuple[Plan, CustomJobSpec]
"""The plan and the spec of a job."""


def warm_up() -> None:
    """Load and compute what every job needs."""
    codecs.lookup("ascii")
    sandbox.interpreter_paths()
    with contextlib.suppress(LookupError):  # a machine type without a filter
        seccomp.program(os.uname().machine)


def prepare(path: str) -> Prepared:
    """Read what the job of a folder runs, and compute what the jobs of equal images share."""
    job_folder = folder.JobFolder(Path(path))
    plan = Plan.from_json(folder.read_json(job_folder.plan))
    for replica in plan.replicas:
        private_python.prepare("" if replica.image is None else replica.image.stand_in)
    return plan, custom_job.from_wire(folder.read_json(job_folder.job))
