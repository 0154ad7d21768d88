"""Addresses of a job in the Google Cloud console, and the commands that show it in the user's shell."""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from urllib.parse import quote

import pulumi

from pulumi_vertex_training.program.resource import stack_settings
from pulumi_vertex_training.runs.command_arguments import of_emulator_job, of_google_job
from vertex_emulator.kernel.data_folder import DataFolder, chosen_data_dir
from vertex_training.fields.resource_names import resource_id

COMMAND_VARIABLE = "VERTEX_TRAINING_COMMAND"
"""The command to print. The chores of a clone set it, because they extend PATH for `pulumi` only."""

_PROGRAM = "vertex-training"


def job_command(verb: str, name: str) -> str:
    """Return the command about a job that can be pasted, such as `vertex-training logs 7`.

    `name` is the job's full name, or the id that Pulumi's mocks have made up.
    """
    settings = stack_settings()
    if settings.endpoint == "google" and "/" in name:
        job = of_google_job(name)
    else:
        job = of_emulator_job(name, project=settings.project, data_dir=settings.data_dir)
    return f"{_command()} {verb} {job}"


def _command() -> str:
    return os.environ.get(COMMAND_VARIABLE) or _found(sys.executable, os.environ.get("PATH", os.defpath))


@functools.lru_cache
def _found(python: str, path: str) -> str:
    """Return the name of the command if it is on the user's PATH, else its path beside the interpreter."""
    own = Path(python).parent
    folders = path.split(os.pathsep)
    # Pulumi puts the folder of the project's environment first. The shell that ran `pulumi` may not have it.
    if folders[0] == str(own) and _has_environment(pulumi.get_root_directory()):
        del folders[0]
    if shutil.which(_PROGRAM, path=os.pathsep.join(folders)):
        return _PROGRAM
    program = own / _PROGRAM
    return shlex.quote(str(program)) if os.access(program, os.X_OK) else _PROGRAM


def _has_environment(root: str | None) -> bool:
    """Return whether the project's runtime has a virtual environment, or a tool that makes one."""
    try:
        text = Path(root or ".", "Pulumi.yaml").read_text(encoding="utf-8")
    except OSError:
        return False
    return bool(re.search(r"\b(virtualenv|toolchain)['\"]?\s*:", text))


CONSOLE = "https://console.cloud.google.com"


def console_url(endpoint: str, name: str) -> str:
    """Return the address of a job's page, or the command that shows its state on the emulator.

    Custom jobs, tuning jobs and pipelines have the same kind of page (google-cloud-aiplatform,
    `_dashboard_uri`). Project and location are "" for a name that Pulumi's mocks make up.
    """
    if endpoint != "google":
        return job_command("status", name)
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
