"""Find secrets of Pulumi in the environment variables of a job, which Vertex AI shows as plain text."""

from __future__ import annotations

from collections.abc import Iterator

from pulumi_vertex_training.core.secret_masking import SECRETS
from vertex_training.fields.schema import child
from vertex_training.findings.problems import Problem
from vertex_training.job.job_spec import parts


def secret_variables(inputs: object) -> Iterator[Problem]:
    """Yield a warning for each variable of a job whose value is a secret in this call."""
    for path, part in parts(inputs):
        for position, pool in enumerate(part.worker_pool_specs):
            if pool.task is None:
                continue
            task = "container_spec" if pool.container_spec else "python_package_spec"
            below = f"{child(path, 'worker_pool_specs')}[{position}].{task}.env"
            for i, variable in enumerate(pool.task.env):
                if SECRETS.covers(f"{below}[{i}].value"):
                    yield Problem(path=f"{below}[{i}].value", level="warning", message=_shown(variable.name))


def _shown(name: str) -> str:
    return (
        f"the value of {name} is a secret of Pulumi, but Vertex AI shows the environment variables of a job "
        "as plain text to everybody who may read the job. Put the value into Secret Manager, set the "
        "variable to the secret's name, projects/PROJECT/secrets/NAME, and read the value in the program: "
        f'vertex_cluster.secret(os.environ["{name}"])'
    )
