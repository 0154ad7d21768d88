"""Adopt a job that was not submitted for the resource: when, and why not."""

from __future__ import annotations

from collections.abc import Callable, Collection

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.remote_queries import QUERIES
from pulumi_vertex_training.core.running.declaration import JobInputs, JobResourceType
from pulumi_vertex_training.runs import adoption
from pulumi_vertex_training.runs.adoption import AdoptionError
from vertex_training.fields.uris import directory
from vertex_training.findings.problems import Problem


def is_due(inputs: JobInputs, released: Collection[str], *, recorded: bool) -> bool:
    """Return whether `create` should adopt: the state has no job yet (`recorded`)."""
    return inputs.adopt is not None and not recorded and _id(inputs.adopt) not in set(map(_id, released))


def adopt(
    declared: JobResourceType, endpoint: Endpoint, inputs: JobInputs, *, key: str, tell: Callable[[str], None]
) -> JobRecord:
    """Return the record of the adopted job.

    Raises AdoptionError for a job that differs from the declaration or belongs to another one.
    """
    record = _compared(declared, endpoint, inputs, key)
    OPERATION.note_made(record.name)
    tell(f"{_resource(declared, inputs)}: {adoption.sentence(declared.gateway, record)}")
    return record


def refusal(
    declared: JobResourceType, inputs: JobInputs, unknown: Collection[str], *, key: str, exists: bool
) -> Problem | None:
    """Return why the job cannot be adopted, for a plan; None if it can, and while that is not known.

    This is the only query of a check: a preview of an adoption that is not compared is worth nothing. It is
    made once for a resource, within a deadline.
    """
    if inputs.adopt is None or exists or unknown:
        return None

    def look(endpoint: Endpoint) -> str:
        try:
            record = _compared(declared, endpoint, inputs, key)
        except AdoptionError as error:
            return str(error)
        state = record.state.word.lower()
        OPERATION.print_once(
            f"{_resource(declared, inputs)} will adopt {declared.noun} {record.job_id}, which is {state}"
        )
        return ""

    error = QUERIES.ask_endpoint(inputs.target, look, unknown=f"whether {inputs.adopt} can be adopted")
    return Problem(path="adopt", message=error) if error else None


def _compared(declared: JobResourceType, endpoint: Endpoint, inputs: JobInputs, key: str) -> JobRecord:
    return adoption.adopt(
        declared.gateway,
        endpoint,
        inputs.adopt or "",
        declared.spec_of(inputs),
        spec_kind=declared.spec,
        key=key,
        taking_over=inputs.taking_over,
        checkpoints=directory(inputs.resume or ""),
    )


def _resource(declared: JobResourceType, inputs: JobInputs) -> str:
    return inputs.marks.get("resource", declared.noun)


def _id(name: str) -> str:
    return name.rpartition("/")[2]
