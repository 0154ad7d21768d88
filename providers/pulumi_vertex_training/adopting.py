"""`CustomJob(adopt=...)`: an existing job becomes that of a new resource, when it is what is declared."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection

from pulumi_vertex_training.connection import connect_if_running
from pulumi_vertex_training.declaration import CustomJobInputs, follows_run, spec_of
from pulumi_vertex_training.plugin import PLUGIN
from pulumi_vertex_training.sightings import SIGHTINGS
from vertex_training.cloud.custom_jobs import JobRecord
from vertex_training.cloud.endpoint import Endpoint
from vertex_training.lifecycle import adoption
from vertex_training.lifecycle.adoption import AdoptionError
from vertex_training.lifecycle.kinds import CUSTOM_JOB
from vertex_training.specs.custom_job import CustomJobSpec
from vertex_training.specs.custom_job_kind import CUSTOM_JOB as SPEC
from vertex_training.topology.problems import Problem


def is_due(inputs: CustomJobInputs, released: Collection[str], *, recorded: int) -> bool:
    """Whether a create adopts: that of a resource of which the state has no job.

    `recorded`: the run whose job the state has, 0 without one.
    """
    return inputs.adopt is not None and not recorded and _id(inputs.adopt) not in set(map(_id, released))


def adopted(endpoint: Endpoint, inputs: CustomJobInputs, *, tell: Callable[[str], None]) -> JobRecord:
    """The record of the job. Raises AdoptionError for one that is another, or somebody else's."""
    record = _compared(endpoint, inputs)
    PLUGIN.note_made(record.name)
    tell(f"{_resource(inputs)}: {adoption.sentence(CUSTOM_JOB, record)}")
    return record


def refusal(inputs: CustomJobInputs, unknown: Collection[str], *, exists: bool) -> Problem | None:
    """Why the job cannot be adopted, for a plan; None where it can, and where that is not known yet.

    The one question that a check asks the service: a preview of an adoption that does not compare is worth
    nothing. It is asked once for a resource, within a deadline.
    """
    if inputs.adopt is None or exists or any(path != "run" for path in unknown):
        return None
    place = (inputs.endpoint, inputs.project, inputs.location)

    def look() -> str:
        endpoint = connect_if_running(*place, PLUGIN.settings)  # type: ignore[arg-type]
        if endpoint is None:
            return ""
        try:
            record = _compared(endpoint, inputs)
        except AdoptionError as error:
            return str(error)
        stands = record.state.word.lower()
        PLUGIN.say_once(f"{_resource(inputs)} will adopt custom job {record.job_id}, which is {stands}")
        return ""

    error = SIGHTINGS.ask(place, look, unknown=f"whether {inputs.adopt} can be adopted")
    return Problem(path="adopt", message=error) if error else None


def _compared(endpoint: Endpoint, inputs: CustomJobInputs) -> JobRecord:
    record: JobRecord = adoption.adopt(
        CUSTOM_JOB,
        endpoint,
        inputs.adopt or "",
        _declared(inputs),
        spec_kind=SPEC,
        key=inputs.run if isinstance(inputs.run, str) else "",
        taking_over=inputs.taking_over,
    )
    return record


def _declared(inputs: CustomJobInputs) -> CustomJobSpec:
    spec = spec_of(inputs)
    return dataclasses.replace(spec, base_output_directory=None) if follows_run(inputs) else spec


def _resource(inputs: CustomJobInputs) -> str:
    return inputs.marks.get("resource", "custom job")


def _id(name: str) -> str:
    return name.rpartition("/")[2]
