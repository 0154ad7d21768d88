"""`doctor`: check the machine and the configuration, and print a remedy for each finding."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from pulumi_vertex_training.cli.doctor import backend_files, state_check, variables
from pulumi_vertex_training.kinds.training_image import container_tools
from pulumi_vertex_training.timeouts import ORDINARY, Timeouts, timeouts_of
from vertex_emulator import data_folder, disk_space, disk_use, extras, interpreter, launcher, probe
from vertex_training.command_line.answer import Answer
from vertex_training.command_line.errors import FAILED
from vertex_training.command_line.output import Output
from vertex_training.fields.document import json_of
from vertex_training.timeouts import VARIABLE

Level = Literal["ok", "note", "warning", "error"]

OLDEST_PYTHON = (3, 10)
OLDEST_PULUMI = (3, 216, 0)
LITTLE_SPACE = 2 * 1024**3
"""Free bytes below which `doctor` warns: the data folder holds images and packages of jobs."""
NO_SPACE = 1024**2
"""Free bytes below which the emulator can store nothing."""

_MODULES = {"pulumi": "pulumi", "cloudml-hypertune": "hypertune"}
"""The packages that programs and tuning jobs import, with a module of each."""
_PLUGINS = ("pulumi-language-python", "pulumi-resource-pulumi-python")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Result of one check. `remedy` is "" if there is nothing to do. A note concerns only some users."""

    about: str
    level: Level
    message: str
    remedy: str = ""


def findings(machine: Machine) -> list[Finding]:
    """Return one finding for each check, in a fixed order; for packages only where one is missing."""
    return [
        _python(machine),
        _pulumi(machine),
        *_state_files(machine),
        _data_folder(machine),
        _emulator(machine),
        *_interpreter(machine),
        *_replicas(machine),
        *_packages(machine),
        *_extras(machine),
        _container_tools(machine),
        _google(machine),
        *_timeout_scale(machine),
        *_variables(machine),
    ]


def _python(machine: Machine) -> Finding:
    message = f"{_dotted(machine.python)} at {machine.executable}"
    if machine.python >= OLDEST_PYTHON:
        return Finding(about="Python", level="ok", message=message)
    remedy = f"Install Python {_dotted(OLDEST_PYTHON)} or newer, then install this package into it."
    return Finding(about="Python", level="error", message=f"{message} is too old", remedy=remedy)


def _pulumi(machine: Machine) -> Finding:
    remedy = (
        "In a clone of this project, run `make setup`, then `source ./activate`. Otherwise install it from "
        "https://www.pulumi.com/docs/install/."
    )
    oldest = _dotted(OLDEST_PULUMI[:2])
    if machine.pulumi is None:
        fault = "not found on PATH"
    elif machine.pulumi_version is None:
        fault = f"{machine.pulumi} does not print its version"
    elif machine.pulumi_version < OLDEST_PULUMI:
        fault = f"{_dotted(machine.pulumi_version)} at {machine.pulumi} is older than {oldest}"
    elif machine.missing_plugins:
        fault = f"{' and '.join(machine.missing_plugins)} not found next to {machine.pulumi}"
    else:
        message = f"{_dotted(machine.pulumi_version)} at {machine.pulumi}"
        return Finding(about="Pulumi CLI", level="ok", message=message)
    return Finding(about="Pulumi CLI", level="error", message=fault, remedy=remedy)


def _state_files(machine: Machine) -> Iterator[Finding]:
    about = "Pulumi state"
    lost = [damage for damage in machine.damages if damage.is_lost]
    if machine.damages:
        shown = str(machine.damages[0])
        more = f", and {len(machine.damages) - 1} more" if len(machine.damages) > 1 else ""
        remedy = "Run `vertex-training doctor --repair`."
        yield Finding(about=about, level="error", message=f"{shown}{more}", remedy=remedy)
    for damage in lost:
        remedy = "Restore it from a copy, or delete it and adopt the resources with `vertex-training import`."
        yield Finding(about=about, level="error", message=str(damage), remedy=remedy)
    for stack, count in machine.interrupted:
        remedy = (
            f"Run `pulumi up --stack {stack} && pulumi refresh --clear-pending-creates --stack {stack}`: the "
            "first command finds what they made, the second one removes them."
        )
        words = "1 interrupted operation" if count == 1 else f"{count} interrupted operations"
        yield Finding(about=about, level="note", message=f"stack {stack} records {words}", remedy=remedy)


def _data_folder(machine: Machine) -> Finding:
    about = "Data folder"
    if machine.data_dir_problem:
        remedy = "Name another folder with --data-dir or VERTEX_TRAINING_DATA_DIR."
        return Finding(about=about, level="error", message=machine.data_dir_problem, remedy=remedy)
    message = f"{machine.data_dir}, {machine.free_bytes / 1024**3:.1f} GiB free"
    if machine.unpacked_images:
        message += f"; unpacked layers of images take {machine.unpacked_images}"
    if machine.free_bytes < NO_SPACE:
        remedy = (
            "Free some space, or name another folder with --data-dir or VERTEX_TRAINING_DATA_DIR. You can "
            "still delete objects and jobs; `vertex-training emulator reset` deletes all of them."
        )
        message = f"{machine.data_dir}, its disk is full: {machine.disk}"
        return Finding(about=about, level="error", message=message, remedy=remedy)
    if machine.free_bytes < LITTLE_SPACE:
        remedy = "Free some space, or name another folder with --data-dir or VERTEX_TRAINING_DATA_DIR."
        return Finding(about=about, level="warning", message=message, remedy=remedy)
    return Finding(about=about, level="ok", message=message)


def _emulator(machine: Machine) -> Finding:
    about = "Emulator"
    if machine.emulator_problem:
        remedy = "Run `vertex-training emulator stop`, then `vertex-training emulator start`."
        return Finding(about=about, level="error", message=machine.emulator_problem, remedy=remedy)
    if machine.address_given and machine.address_given != machine.emulator:
        found = f"the emulator runs at {machine.emulator}" if machine.emulator else "no emulator is running"
        message = f"this shell points to {machine.address_given}, but {found} for this data folder"
        remedy = (
            "In this shell, run `vertex-training emulator start`, then "
            '`eval "$(vertex-training emulator env)"`.'
        )
        return Finding(about=about, level="warning", message=message, remedy=remedy)
    message = f"running at {machine.emulator}" if machine.emulator else "not running; a deployment starts it"
    return Finding(about=about, level="ok", message=message)


def _interpreter(machine: Machine) -> Iterator[Finding]:
    if machine.interpreter_problem:
        remedy = f"Set {interpreter.VARIABLE} to a Python that has this package, or unset it."
        message = machine.interpreter_problem
        yield Finding(about="Python of the emulator", level="error", message=message, remedy=remedy)


def _replicas(machine: Machine) -> Iterator[Finding]:
    about = "Replicas"
    if machine.interpreter_problem:
        return
    if machine.sandbox_reason is None:
        message = "run in their own namespaces, with the buckets at /gcs"
        yield Finding(about=about, level="ok", message=message)
        return
    message = f"run as plain processes without /gcs: {machine.sandbox_reason}"
    remedy = (
        "On Linux, allow unprivileged user namespaces (Ubuntu: `sudo sysctl "
        "kernel.apparmor_restrict_unprivileged_userns=0`). Elsewhere, let programs open gs:// "
        "addresses."
    )
    yield Finding(about=about, level="warning", message=message, remedy=remedy)


def _packages(machine: Machine) -> Iterator[Finding]:
    yield _installer(machine)
    if "pulumi" in machine.missing_packages:
        yield Finding(
            about="Package pulumi",
            level="error",
            message=f"not installed for {machine.executable}",
            remedy="Install pulumi-vertex-training into the environment that Pulumi uses.",
        )
    if "cloudml-hypertune" in machine.missing_packages:
        yield Finding(
            about="Package cloudml-hypertune",
            level="note",
            message="not installed; trials of tuning jobs report their metrics with it",
            remedy="For tuning jobs on the emulator, run "
            f"`{shlex.quote(machine.executable)} -m pip install cloudml-hypertune`.",
        )


def _installer(machine: Machine) -> Finding:
    """Check what installs a job's Python packages on the emulator: pip, or ensurepip, which brings it."""
    about = "Packages of jobs"
    if machine.installer:
        message = f"{machine.installer} installs them on the emulator"
        if machine.installed_packages:
            message += f"; they take {machine.installed_packages}"
        return Finding(about=about, level="ok", message=message)
    return Finding(
        about=about,
        level="error",
        message=f"{machine.executable} has neither pip nor ensurepip, so the emulator cannot install them",
        remedy="Install pip into this environment: on Debian and Ubuntu `apt install python3-venv`, with uv "
        "`uv pip install pip`.",
    )


def _extras(machine: Machine) -> Iterator[Finding]:
    for extra in machine.missing_extras:
        yield Finding(
            about=f"Extra {extra.name}",
            level="note",
            message=f"not installed. {extra.purpose} needs it",
            remedy=f"Run `{extras.command(extra)}`.",
        )


def _container_tools(machine: Machine) -> Finding:
    about = "Container tools"
    if machine.container_tools:
        return Finding(about=about, level="ok", message=", ".join(machine.container_tools))
    message = "docker, podman and buildah were not found; only a Dockerfile with RUN needs one of them"
    remedy = "For such a Dockerfile, install one of them, or build with Cloud Build (build_bucket=)."
    return Finding(about=about, level="note", message=message, remedy=remedy)


def _google(machine: Machine) -> Finding:
    about = "Google credentials"
    remedy = "For Google Cloud, run `gcloud auth application-default login`."
    if machine.credentials_problem:
        return Finding(about=about, level="warning", message=machine.credentials_problem, remedy=remedy)
    if machine.credentials is None:
        return Finding(
            about=about, level="note", message="not found; the emulator does not need them", remedy=remedy
        )
    return Finding(about=about, level="ok", message=machine.credentials)


def _timeout_scale(machine: Machine) -> Iterator[Finding]:
    if machine.timeout_problem:
        message, _, remedy = machine.timeout_problem.partition(". ")
        yield Finding(about="Timeouts", level="error", message=message, remedy=remedy)
    elif machine.timeout_scale != 1:
        message = (
            f"{machine.timeout_scale:g} times the usual ones, as {VARIABLE} or the running emulator says"
        )
        yield Finding(about="Timeouts", level="note", message=message)


def _variables(machine: Machine) -> Iterator[Finding]:
    for name in machine.unknown_variables:
        meant = variables.similar(name)
        yield Finding(
            about="Environment",
            level="warning",
            message=f"{name} has no effect",
            remedy=f"{f'Did you mean {meant}? ' if meant else ''}Correct the name, or unset it.",
        )


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


@dataclass(frozen=True, kw_only=True)
class Diagnosis(Answer):
    """The findings about a machine; `repaired` are the repaired files, None without --repair."""

    findings: tuple[Finding, ...]
    repaired: tuple[str, ...] | None = None

    @property
    def exit_code(self) -> int:
        return FAILED if any(finding.level == "error" for finding in self.findings) else 0

    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json_of(self, "findings" if self.repaired is None else "findings repaired")
        return found

    def show(self, output: Output) -> None:
        for each in self.repaired or ():
            output.line(f"Repaired: {each}.")
        output.results([(one.level, f"{one.about}: {one.message}.", one.remedy) for one in self.findings])


def doctor(options: argparse.Namespace, _: Output) -> Answer:
    """Run the command `doctor`. Starts nothing, and changes nothing without --repair."""
    repaired = tuple(state_check.repair()) if options.repair else None
    return Diagnosis(findings=tuple(findings(inspect_machine(options.data_dir))), repaired=repaired)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """State of this machine.

    `pulumi` is the path of the CLI, `pulumi_version` is None if it does not print one. `missing_plugins` are
    its programs for Python that are not on PATH. `damages` are files of Pulumi's file backend that a kill
    left unusable; `interrupted` are stacks there with their number of interrupted operations.
    `missing_packages` are not installed for this Python; `missing_extras` are not, or not completely.
    `installer` is what installs the packages of jobs on the emulator, None if there is nothing.
    `data_dir_problem` says why the data folder is not writable; `disk` is its disk, `unpacked_images` and
    `installed_packages` the space that these take, in words.
    `sandbox_reason` says why replicas have no namespaces, None if they have; `interpreter_problem` why their
    Python cannot be run. `emulator` is the address of the
    running emulator, `address_given` the one in the shell's environment. `credentials` is the file of
    Application Default Credentials. `timeout_scale` is the factor of the timeouts, `timeout_problem` says
    what is wrong with the one that is set. `unknown_variables` have the prefix of ours, and mean nothing.
    """

    python: tuple[int, ...]
    executable: str
    pulumi: str | None
    pulumi_version: tuple[int, ...] | None
    missing_plugins: tuple[str, ...]
    damages: tuple[backend_files.Damage, ...]
    interrupted: tuple[tuple[str, int], ...]
    missing_packages: tuple[str, ...]
    installer: str | None
    missing_extras: tuple[extras.Extra, ...]
    data_dir: Path
    data_dir_problem: str | None
    free_bytes: int
    disk: str
    sandbox_reason: str | None
    emulator: str | None
    emulator_problem: str | None
    address_given: str | None
    container_tools: tuple[str, ...]
    credentials: str | None
    credentials_problem: str | None
    timeout_scale: float = 1.0
    timeout_problem: str = ""
    unpacked_images: str = ""
    installed_packages: str = ""
    interpreter_problem: str = ""
    unknown_variables: tuple[str, ...] = ()


def _unpacked_images(data_dir: Path) -> str:
    """Return the space that unpacked images take, or "" for nothing."""
    try:
        found = disk_use.unpacked_images(data_dir)
    except OSError:
        return ""
    return str(found) if found.folders else ""


def _installed_packages(data_dir: Path) -> str:
    """Return the space that installed packages of jobs take, or "" for nothing."""
    try:
        found = disk_use.installed_packages(data_dir)
    except OSError:
        return ""
    return str(found) if found.size else ""


def inspect_machine(data_dir: Path | None = None, environment: Mapping[str, str] = os.environ) -> Machine:
    """Read the state of this machine, in about a second. `data_dir` defaults to the user's data folder."""
    folder = data_dir or data_folder.default_data_dir()
    existing = next((path for path in (folder, *folder.parents) if path.exists()), Path("/"))
    usable = existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)
    timeouts, scale_problem = _timeouts(folder, environment)
    emulator, emulator_problem = _running_emulator(folder, timeouts)
    credentials, credentials_problem = _credentials(environment)
    pulumi = shutil.which("pulumi")
    sandbox_reason, interpreter_problem = _sandbox(timeouts)
    space = disk_space.disk_space(existing)
    root = state_check.file_backend_of(environment)
    return Machine(
        python=sys.version_info[:3],
        executable=sys.executable,
        pulumi=pulumi,
        pulumi_version=_pulumi_version(pulumi, timeouts) if pulumi else None,
        damages=tuple(state_check.damages(root)),
        interrupted=tuple(state_check.interrupted(root)),
        missing_plugins=tuple(name for name in _PLUGINS if shutil.which(name) is None),
        missing_packages=tuple(name for name, module in _MODULES.items() if find_spec(module) is None),
        installer=next((name for name in ("pip", "ensurepip") if PathFinder.find_spec(name)), None),
        missing_extras=tuple(extra for extra in extras.ALL if extras.missing(extra)),
        data_dir=folder,
        data_dir_problem=None if usable else f"{existing} is not a writable folder",
        free_bytes=space.free,
        disk=str(space),
        sandbox_reason=sandbox_reason,
        interpreter_problem=interpreter_problem,
        unknown_variables=tuple(variables.unknown(environment)),
        emulator=emulator,
        emulator_problem=emulator_problem,
        address_given=environment.get("VERTEX_EMULATOR_HOST") or None,
        container_tools=tuple(tool for tool in container_tools.TOOLS if container_tools.find_tool([tool])),
        credentials=credentials,
        credentials_problem=credentials_problem,
        timeout_scale=timeouts.scale,
        timeout_problem=scale_problem,
        unpacked_images=_unpacked_images(folder),
        installed_packages=_installed_packages(folder),
    )


def _sandbox(timeouts: Timeouts) -> tuple[str | None, str]:
    """Return why replicas have no namespaces, and why the emulator's Python cannot be run."""
    try:
        sandbox = probe.probe(timeouts=timeouts)
    except OSError as error:
        return None, f"{interpreter.interpreter()} cannot be run: {error.strerror}"
    return (sandbox.reason if sandbox.kind == "process" else None), ""


def _pulumi_version(pulumi: str, timeouts: Timeouts) -> tuple[int, ...] | None:
    try:
        done = subprocess.run(  # noqa: S603 - the program that PATH names
            [pulumi, "version"], capture_output=True, text=True, timeout=timeouts.pulumi_version, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.match(r"v?(\d+)\.(\d+)\.(\d+)", done.stdout.strip())
    return tuple(map(int, found.groups())) if found else None


def _timeouts(folder: Path, environment: Mapping[str, str]) -> tuple[Timeouts, str]:
    """Return the timeouts of this process, and a problem with the scale that is set."""
    try:
        own, problem = timeouts_of(environment), ""
    except ValueError as error:
        own, problem = ORDINARY, str(error)
    return own.for_emulator(folder), problem


def _running_emulator(folder: Path, timeouts: Timeouts) -> tuple[str | None, str | None]:
    try:
        running = launcher.find(folder, timeouts=timeouts)
    except launcher.LauncherError as error:
        return None, str(error)
    return (running.url if running else None), None


def _credentials(environment: Mapping[str, str]) -> tuple[str | None, str | None]:
    """Return the credentials file that Google's libraries would use, or None, and a problem with it."""
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
