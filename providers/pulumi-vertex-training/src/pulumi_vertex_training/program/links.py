"""Addresses of a job in the Google Cloud console, and the commands that show it in the user's shell."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from urllib.parse import quote

import pulumi

from pulumi_vertex_training import printed_commands
from pulumi_vertex_training.program.resource import stack_settings
from pulumi_vertex_training.runs.command_arguments import of_emulator_job, of_emulator_view, of_google_job
from vertex_emulator import DataFolder, chosen_data_dir
from vertex_training.fields.resource_names import resource_id


def job_command(verb: str, name: str) -> str:
    """Return the command about a job that can be pasted, such as `vertex-training logs 7`.

    `name` is the job's full name, or the id that Pulumi's mocks have made up.
    """
    settings = stack_settings()
    if settings.endpoint == "google" and "/" in name:
        job = of_google_job(name)
    else:
        job = of_emulator_job(name, project=settings.project, data_dir=settings.data_dir)
    return f"{printed_commands.own_command(pulumi.get_root_directory())} {verb} {job}"


def cancel_command(name: str) -> str:
    """Return the command that cancels a job of this deployment, without a question: no other is meant."""
    return f"{job_command('cancel', name)} --yes"


CONSOLE = "https://console.cloud.google.com"


def console_url(endpoint: str, name: str) -> str:
    """Return the address of a job's page, or the command that opens the dashboard of the emulator.

    Custom jobs, tuning jobs and pipelines have the same kind of page (google-cloud-aiplatform,
    `_dashboard_uri`). Project and location are "" for a name that Pulumi's mocks make up.
    """
    if endpoint != "google":
        settings = stack_settings()
        shown = of_emulator_view(name, project=settings.project, data_dir=settings.data_dir)
        return f"{printed_commands.own_command(pulumi.get_root_directory())} ui --open{shown}"
    project, location = _parts(name)
    return f"{CONSOLE}/agent-platform/locations/{location}/training/{resource_id(name)}?project={project}"


def logs_url(endpoint: str, name: str) -> str:
    """Return the address of a custom job's log, or the command that prints it on the emulator."""
    if endpoint != "google":
        return logs_command(name)
    project, _ = _parts(name)
    query = f'resource.type="ml_job"\nresource.labels.job_id="{resource_id(name)}"'
    return f"{CONSOLE}/logs/query;query={quote(query, safe='')}?project={project}"


def logs_command(name: str) -> str:
    """Return the command that prints the logs of all replicas of a job."""
    return job_command("logs", name)


def tensorboard_url(name: str, tensorboard: str) -> str:
    """Return the address of a custom job's experiment, which has the job's id (google-cloud-aiplatform)."""
    experiment = f"{tensorboard}/experiments/{resource_id(name)}".replace("/", "+")
    _, location = _parts(tensorboard)
    return f"https://{location}.tensorboard.googleusercontent.com/experiment/{experiment}"


def event_files_command(data_dir: Path | None, base_output_directory: str) -> str:
    """Return the command that shows the event files of a job on the emulator, whose objects are files."""
    folder = DataFolder(root=chosen_data_dir(data_dir)).buckets
    directory = base_output_directory.removeprefix("gs://").rstrip("/")
    return f"tensorboard --logdir {shlex.quote(str(folder / directory / 'logs'))}"


def _parts(name: str) -> tuple[str, str]:
    """Return project and location of a full name, or empty strings: mocks of a unit test have other ids."""
    found = re.match(r"projects/([^/]+)/locations/([^/]+)/", name)
    return (found[1], found[2]) if found else ("", "")
