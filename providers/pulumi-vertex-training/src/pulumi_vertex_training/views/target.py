"""Choose the endpoint of a command: from its options, the environment and the running emulator."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pulumi_vertex_training.cloud.endpoint import EMULATOR_LOCATION, EMULATOR_PROJECT, Endpoint
from pulumi_vertex_training.timeouts import ORDINARY, Timeouts
from vertex_emulator import find_emulator, not_running
from vertex_training.catalog.regions import REGIONS
from vertex_training.command_line.errors import CommandError, InputError
from vertex_training.findings.words import nearest, shown

if TYPE_CHECKING:
    from vertex_emulator import Emulator

DEFAULT_LOCATION = EMULATOR_LOCATION
"""The region of a command without one, also in Google Cloud."""

_JOB_NAME = re.compile(
    r"projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+)/"
    r"(?:customJobs|hyperparameterTuningJobs|trainingPipelines)/[^/]+"
)
_PROJECT = re.compile(r"(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]*|[0-9]+")
"""The id of a project, also in a domain as in example.com:my-project, or its number."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Endpoint options of the user; None for an option that is not given. `timeouts` are the command's."""

    timeouts: Timeouts = ORDINARY
    kind: str | None = None
    project: str | None = None
    location: str | None = None
    data_dir: Path | None = None


def of_options(options: argparse.Namespace) -> Choice:
    """Return the command's endpoint options. A job's full name also gives project and location."""
    match = _JOB_NAME.fullmatch(getattr(options, "job", None) or "")
    named = match.groupdict() if match else {}
    return Choice(
        kind=options.endpoint,
        project=options.project or named.get("project"),
        location=named.get("location") or options.location,
        data_dir=options.data_dir,
        timeouts=options.timeouts,
    )


def resolve(choice: Choice, environment: Mapping[str, str] = os.environ) -> Endpoint:
    """Return the endpoint to call. Starts nothing.

    The first that applies: --endpoint google; the emulator of --data-dir; the emulator of the default folder,
    if it is running; VERTEX_EMULATOR_HOST and VERTEX_EMULATOR_TOKEN; Google Cloud, if project or location is
    given. Raises InputError, and CommandError if the chosen emulator is not running.
    """
    if choice.kind == "google":
        if choice.data_dir is not None:
            raise InputError(
                "--data-dir is for the emulator. Leave it out with --endpoint google.", path="--data-dir"
            )
        return _google(choice, environment)
    running = find_emulator(choice.data_dir, choice.timeouts)
    if running is not None:
        return _emulator(choice, running)
    if choice.data_dir is not None:
        raise not_running(choice.data_dir)
    url = environment.get("VERTEX_EMULATOR_HOST")
    if url:
        return _of_environment(choice, url, environment)
    if choice.kind == "emulator":
        raise not_running(None)
    if choice.project or choice.location:
        return _google(choice, environment)
    from vertex_emulator import default_data_dir

    raise CommandError(
        f"The emulator of {default_data_dir()} is not running, and no project is given. For the emulator, "
        "run `vertex-training emulator start`, or name the folder of another one with --data-dir or "
        "VERTEX_TRAINING_DATA_DIR. For Google Cloud, give --project P --location L."
    )


def location_hint(location: str) -> str:
    """Return a hint, with a leading space, about a location that is not a known region, else ""."""
    if location in REGIONS:
        return ""
    return f" {location!r} is not a known region; {nearest(location, REGIONS) or 'check its spelling.'}"


def _of_environment(choice: Choice, url: str, environment: Mapping[str, str]) -> Endpoint:
    token = environment.get("VERTEX_EMULATOR_TOKEN")
    if not token:
        raise InputError(
            f"VERTEX_EMULATOR_HOST is {url}, but VERTEX_EMULATOR_TOKEN is not set. To set both, run "
            '`eval "$(vertex-training emulator env)"`.',
            path="VERTEX_EMULATOR_TOKEN",
        )
    if not re.fullmatch(r"http://(127\.0\.0\.1|localhost)(:\d+)?/?", url):
        raise InputError(
            f"VERTEX_EMULATOR_HOST is {url!r}; it must be like http://127.0.0.1:8765. To set it, run "
            '`eval "$(vertex-training emulator env)"`.',
            path="VERTEX_EMULATOR_HOST",
        )
    return Endpoint(
        kind="emulator",
        project=choice.project or EMULATOR_PROJECT,
        location=choice.location or DEFAULT_LOCATION,
        url=url.rstrip("/"),
        token=token,
        storage_url=_storage_url(environment),
        timeouts=choice.timeouts,
    )


def _storage_url(environment: Mapping[str, str]) -> str | None:
    """Return the emulator's address for Cloud Storage, which has another name in shells with the proxy."""
    from vertex_emulator import addresses

    return environment.get("STORAGE_EMULATOR_HOST") or environment.get(addresses.GCSFS)


def _emulator(choice: Choice, running: Emulator) -> Endpoint:
    return Endpoint(
        kind="emulator",
        project=choice.project or EMULATOR_PROJECT,
        location=choice.location or DEFAULT_LOCATION,
        url=running.url,
        token=running.token,
        storage_url=running.storage_url,
        data_dir=str(running.data_dir),
        timeouts=choice.timeouts.at_least(running.timeout_scale),
    )


def _google(choice: Choice, environment: Mapping[str, str]) -> Endpoint:
    project = (
        choice.project or environment.get("GOOGLE_CLOUD_PROJECT") or environment.get("CLOUDSDK_CORE_PROJECT")
    )
    if not project:
        raise InputError(
            "No Google Cloud project is given. Give --project P, or set GOOGLE_CLOUD_PROJECT.",
            path="--project",
        )
    if not _PROJECT.fullmatch(project):
        raise InputError(
            f"{shown(project)} is not the id of a project of Google Cloud. Write one of those that "
            "`gcloud projects list` prints, such as my-project.",
            path="--project",
        )
    return Endpoint(
        kind="google",
        project=project,
        location=choice.location or DEFAULT_LOCATION,
        timeouts=choice.timeouts,
    )
