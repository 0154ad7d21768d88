"""Addresses of a job in the Google Cloud console, and the commands that show the same on the emulator."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from urllib.parse import quote

from pulumi_vertex_training.program.shell_command import job_command
from vertex_emulator.kernel.data_folder import DataFolder, chosen_data_dir

CONSOLE = "https://console.cloud.google.com"


def console_url(endpoint: str, name: str) -> str:
    """Return the address of a job's page, or the command that shows its state on the emulator.

    Custom jobs, tuning jobs and pipelines have the same kind of page (google-cloud-aiplatform,
    `_dashboard_uri`). Project and location are "" for a name that Pulumi's mocks make up.
    """
    if endpoint != "google":
        return job_command("status", _id(name))
    project, location = _parts(name)
    return f"{CONSOLE}/agent-platform/locations/{location}/training/{_id(name)}?project={project}"


def logs_url(endpoint: str, name: str) -> str:
    """Return the address of a custom job's log, or the command that prints it on the emulator."""
    if endpoint != "google":
        return logs_command(name)
    project, _ = _parts(name)
    query = f'resource.type="ml_job"\nresource.labels.job_id="{_id(name)}"'
    return f"{CONSOLE}/logs/query;query={quote(query, safe='')}?project={project}"


def logs_command(name: str) -> str:
    """Return the command that prints the logs of all replicas of a job."""
    return job_command("logs", _id(name))


def tensorboard_url(name: str, tensorboard: str) -> str:
    """Return the address of a custom job's experiment, which has the job's id (google-cloud-aiplatform)."""
    experiment = f"{tensorboard}/experiments/{_id(name)}".replace("/", "+")
    _, location = _parts(tensorboard)
    return f"https://{location}.tensorboard.googleusercontent.com/experiment/{experiment}"


def event_files_command(data_dir: Path | None, base_output_directory: str) -> str:
    """Return the command that shows the event files of a job on the emulator, whose objects are files."""
    folder = DataFolder(root=chosen_data_dir(data_dir)).buckets
    directory = base_output_directory.removeprefix("gs://").rstrip("/")
    return f"tensorboard --logdir {shlex.quote(str(folder / directory / 'logs'))}"


def _id(name: str) -> str:
    return name.rpartition("/")[2]


def _parts(name: str) -> tuple[str, str]:
    """Return project and location of a full name, or empty strings: mocks of a unit test have other ids."""
    found = re.match(r"projects/([^/]+)/locations/([^/]+)/", name)
    return (found[1], found[2]) if found else ("", "")
