"""What this machine has of all that a deployment and the emulator need: looked at, nothing changed."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pulumi_vertex_training.kinds.training_image import container_tools
from vertex_emulator import launcher
from vertex_emulator.custom_jobs.sandbox import probe
from vertex_emulator.kernel import data_folder

_SECONDS = 20.0
_PLUGINS = ("pulumi-language-python", "pulumi-resource-pulumi-python")


@dataclass(frozen=True, kw_only=True)
class Machine:
    """`pulumi` is the path of the CLI, `pulumi_version` None where it does not say one; `missing_plugins` are
    its programs for Python that are not on PATH. `missing_packages` are not installed for this Python.
    `data_dir_problem` says why nothing can be written there. `sandbox_reason` says why replicas have no
    namespaces, None where they have. `emulator` is the address of the one that runs, `address_given` that of
    the shell. `credentials` is the file of Application Default Credentials.
    """

    python: tuple[int, ...]
    executable: str
    pulumi: str | None
    pulumi_version: tuple[int, ...] | None
    missing_plugins: tuple[str, ...]
    missing_packages: tuple[str, ...]
    data_dir: Path
    data_dir_problem: str | None
    free_bytes: int
    sandbox_reason: str | None
    emulator: str | None
    emulator_problem: str | None
    address_given: str | None
    container_tools: tuple[str, ...]
    credentials: str | None
    credentials_problem: str | None


def look(data_dir: Path | None = None, environment: Mapping[str, str] = os.environ) -> Machine:
    """Look at everything; takes about a second. `data_dir` defaults to the user's."""
    folder = data_dir or data_folder.default_data_dir()
    existing = next((path for path in (folder, *folder.parents) if path.exists()), Path("/"))
    usable = existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)
    emulator, emulator_problem = _emulator(folder)
    credentials, credentials_problem = _credentials(environment)
    pulumi = shutil.which("pulumi")
    sandbox = probe.probe()
    return Machine(
        python=sys.version_info[:3],
        executable=sys.executable,
        pulumi=pulumi,
        pulumi_version=_version(pulumi) if pulumi else None,
        missing_plugins=tuple(name for name in _PLUGINS if shutil.which(name) is None),
        missing_packages=tuple(
            package
            for package, module in (("pulumi", "pulumi"), ("cloudml-hypertune", "hypertune"))
            if importlib.util.find_spec(module) is None
        ),
        data_dir=folder,
        data_dir_problem=None if usable else f"{existing} is no folder that you may write to",
        free_bytes=shutil.disk_usage(existing).free,
        sandbox_reason=sandbox.reason if sandbox.kind == "process" else None,
        emulator=emulator,
        emulator_problem=emulator_problem,
        address_given=environment.get("VERTEX_EMULATOR_HOST") or None,
        container_tools=tuple(tool for tool in container_tools.TOOLS if container_tools.find_tool([tool])),
        credentials=credentials,
        credentials_problem=credentials_problem,
    )


def _version(pulumi: str) -> tuple[int, ...] | None:
    try:
        done = subprocess.run(  # noqa: S603 - the program that PATH names
            [pulumi, "version"], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.match(r"v?(\d+)\.(\d+)\.(\d+)", done.stdout.strip())
    return tuple(map(int, found.groups())) if found else None


def _emulator(folder: Path) -> tuple[str | None, str | None]:
    try:
        running = launcher.find(folder)
    except launcher.LauncherError as error:
        return None, str(error)
    return (running.url if running else None), None


def _credentials(environment: Mapping[str, str]) -> tuple[str | None, str | None]:
    """The file where Google's libraries look first, then gcloud's; and what is wrong with it."""
    named = environment.get("GOOGLE_APPLICATION_CREDENTIALS")
    folder = environment.get("CLOUDSDK_CONFIG") or Path.home() / ".config" / "gcloud"
    file = Path(named) if named else Path(folder) / "application_default_credentials.json"
    try:
        json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None, f"GOOGLE_APPLICATION_CREDENTIALS is {named}, which does not exist" if named else None
    except (OSError, ValueError) as error:
        return None, f"{file} cannot be read: {error}"
    return str(file), None
