"""Arguments of `vertex-training` in printed commands, which find a job from any folder."""

from __future__ import annotations

from pathlib import Path

from pulumi_vertex_training.cloud.endpoint import EMULATOR_LOCATION, EMULATOR_PROJECT, Endpoint
from vertex_emulator import of_data_dir
from vertex_training.fields.resource_names import resource_id


def of_job(endpoint: Endpoint, name: str) -> str:
    """Return the arguments that name a job by its full name in an endpoint."""
    if not endpoint.is_emulator:
        return of_google_job(name)
    folder = None if endpoint.data_dir is None else Path(endpoint.data_dir)
    return of_emulator_job(name, project=endpoint.project, data_dir=folder)


def of_google_job(name: str) -> str:
    """Return the arguments that name a job in Google Cloud: the full name has the project and the region."""
    return f"{name} --endpoint google"


def of_emulator_job(name: str, *, project: str | None, data_dir: Path | None) -> str:
    """Return the arguments that name a job on the emulator: its id, if that is enough to find it.

    `project` is the job's, None for the emulator's own.
    """
    location = _location(name)
    is_elsewhere = project not in (None, EMULATOR_PROJECT) or location not in ("", EMULATOR_LOCATION)
    return f"{name if is_elsewhere else resource_id(name)}{of_data_dir(data_dir)}"


def of_emulator_view(name: str, *, project: str | None, data_dir: Path | None) -> str:
    """Return the arguments of `vertex-training ui` that show the project and location of a job; often "".

    `project` is the job's, None for the emulator's own.
    """
    named = "" if project in (None, EMULATOR_PROJECT) else f" --project {project}"
    location = _location(name)
    placed = "" if location in ("", EMULATOR_LOCATION) else f" --location {location}"
    return f"{named}{placed}{of_data_dir(data_dir)}"


def _location(name: str) -> str:
    return name.partition("/locations/")[2].partition("/")[0]
