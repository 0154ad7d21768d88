"""`CustomJob(adopt=...)`: an existing job becomes that of a new resource, when it is what is declared."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection

from pulumi_vertex_training.connection import connect_if_running
from pulumi_vertex_training.declaration import CustomJobInputs, follows_run, spec_of
from pulumi_vertex_training.plugin import PLUGIN
from pulumi_vertex_training.sightings import answer_in_time
from vertex_training.cloud.custom_jobs import JobRecord
from vertex_training.cloud.endpoint import Endpoint
from vertex_training.lifecycle import adoption, identity
from vertex_training.lifecycle.adoption import AdoptionError
from vertex_training.lifecycle.kinds import CUSTOM_JOB
from vertex_training.specs.custom_job import CustomJobSpec
from vertex_training.topology.problems import Problem


def is_due(inputs: CustomJobInputs, released: Collection[str]) -> bool:
    """Whether a create adopts: in the first run of a declaration, unless it is that very job it replaces."""
    if inputs.adopt is None or identity.parse(inputs.run).generation != 1:
        return False
    return _id(inputs.adopt) not in set(map(_id, released))


def adopted(endpoint: Endpoint, inputs: CustomJobInputs, *, tell: Callable[[str], None]) -> JobRecord:
    """The record of the job. Raises AdoptionError for one that is another, or somebody else's."""
    record: JobRecord = adoption.adopt(
        CUSTOM_JOB,
        endpoint,
        inputs.adopt or "",
        _declared(inputs),
        key=inputs.run if isinstance(inputs.run, str) else "",
        taking_over=inputs.taking_over,
    )
    tell(f"{inputs.marks.get('resource', 'custom job')}: {adoption.sentence(CUSTOM_JOB, record)}")
    return record


def refusal(inputs: CustomJobInputs, unknown: Collection[str], *, exists: bool) -> Problem | None:
    """Why the job cannot be adopted, for a plan; None where it can, and where that is not known yet.

    The one question that a check asks the service: a preview of an adoption that does not compare is worth
    nothing. It is asked once for a resource, within a deadline.
    """
    if inputs.adopt is None or exists or any(path != "run" for path in unknown):
        return None
    place = (inputs.endpoint, inputs.project, inputs.location)

    def look() -> AdoptionError | None:
        endpoint = connect_if_running(*place, PLUGIN.settings)  # type: ignore[arg-type]
        if endpoint is None:
            return None
        try:
            adopted(endpoint, inputs, tell=lambda _: None)
        except AdoptionError as error:
            return error
        return None

    error = answer_in_time(look, unknown=f"whether {inputs.adopt} can be adopted")
    return Problem(path="adopt", message=str(error)) if error else None


def _declared(inputs: CustomJobInputs) -> CustomJobSpec:
    spec = spec_of(inputs)
    return dataclasses.replace(spec, base_output_directory=None) if follows_run(inputs) else spec


def _id(name: str) -> str:
    return name.rpartition("/")[2]
