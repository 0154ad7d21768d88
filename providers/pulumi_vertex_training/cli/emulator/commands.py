"""`emulator start`, `stop`, `status`, `env`, `reset`, `export` and `import`."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pulumi_vertex_training.cli import target
from pulumi_vertex_training.cli.emulator.permissions import denial_text, service_text
from pulumi_vertex_training.cli.emulator.settings import control_of, quota_text
from pulumi_vertex_training.cloud.endpoint import EMULATOR_PROJECT
from pulumi_vertex_training.views.failure import CommandError, InputError
from pulumi_vertex_training.views.output import Output
from vertex_emulator import addresses
from vertex_emulator.kernel import disk_space

if TYPE_CHECKING:
    from pulumi_vertex_training.cloud.emulator_api import EmulatorState
    from pulumi_vertex_training.cloud.endpoint import Endpoint
    from vertex_emulator.control import Control
    from vertex_emulator.launcher import Emulator, EmulatorBusyError

_NOUNS = {
    "hyperparameterTuningJobs": "tuning jobs",
    "trainingPipelines": "pipelines",
    "models": "models",
    "datasets": "datasets",
    "persistentResources": "persistent resources",
    "logEntries": "log entries",
}


def start(options: argparse.Namespace, output: Output) -> None:
    """Start the emulator and return when it is ready. A running one is kept."""
    from vertex_emulator import launcher

    try:
        before = _pid(options)
        emulator = launcher.ensure(options.data_dir, port=options.port, timeouts=options.timeouts)
    except launcher.LauncherError as error:
        raise CommandError(str(error)) from error
    started = before != emulator.pid
    if output.as_json:
        output.document({**_facts(emulator), "started": started})
    else:
        output.line(f"The emulator is {'running' if started else 'already running'} at {_where(emulator)}.")
    if note := _little_space(emulator):
        output.note(note)
    if started and (note := _lost(emulator, options)):
        output.note(note)


_LITTLE_SPACE = 64 << 20
"""Free bytes below which `start` warns: the next upload or job may fail."""


def _little_space(emulator: Emulator) -> str:
    try:
        space = disk_space.disk_space(emulator.data_dir)
    except OSError:
        return ""
    if space.free >= _LITTLE_SPACE:
        return ""
    return (
        f"warning: the disk of {emulator.data_dir} is almost full: {space}. Objects and jobs can be read and "
        "deleted. Free some space before you create others."
    )


def _lost(emulator: Emulator, options: argparse.Namespace) -> str:
    """Return the warning of an emulator whose database was new while there were files, or ""."""
    from vertex_emulator import lookup

    seconds = options.timeouts.at_least(emulator.timeout_scale).probe
    _, info = lookup.call(emulator.url, "GET", "/_local/info", timeout=seconds, token=emulator.token)
    return str(info.get("lost", ""))


def _pid(options: argparse.Namespace) -> int | None:
    """Return the process of the running emulator, also of a busy one, or None. Raises `LauncherError`."""
    from vertex_emulator import launcher

    try:
        running = launcher.find(options.data_dir, timeouts=options.timeouts)
    except launcher.EmulatorBusyError as busy:
        return busy.pid
    return None if running is None else running.pid


def stop(options: argparse.Namespace, output: Output) -> None:
    """Stop the emulator. Its jobs keep running."""
    from vertex_emulator import launcher

    try:
        stopped = launcher.stop(options.data_dir, timeouts=options.timeouts)
    except launcher.LauncherError as error:
        raise CommandError(str(error)) from error
    if output.as_json:
        output.document({"stopped": stopped})
    else:
        output.line("The emulator is stopped." if stopped else "The emulator was not running.")


def status(options: argparse.Namespace, output: Output) -> int:
    """Print whether the emulator is running. Return 1 if it is not, or is busy, for scripts."""
    from pulumi_vertex_training.cloud import emulator_api
    from pulumi_vertex_training.cloud.errors import Unavailable
    from vertex_emulator import disk_use, launcher
    from vertex_emulator.kernel.data_folder import DataFolder

    try:
        emulator = launcher.find(options.data_dir, timeouts=options.timeouts)
    except launcher.EmulatorBusyError as busy:
        return _busy(busy, output)
    except launcher.LauncherError as error:
        raise CommandError(str(error), path="--data-dir") from error
    if emulator is None:
        if output.as_json:
            output.document({"running": False, "dataDir": str(target.folder(options.data_dir))})
        else:
            output.line(str(target.not_running(options.data_dir)))
        return 1
    try:
        state = emulator_api.state(_endpoint(emulator, options))
    except Unavailable:
        why = f"it did not answer at {emulator.url}"
        folder = DataFolder(root=emulator.data_dir)
        return _busy(launcher.EmulatorBusyError(folder, pid=emulator.pid, why=why), output)
    images = disk_use.unpacked_images(emulator.data_dir)
    packages = disk_use.installed_packages(emulator.data_dir)
    if output.as_json:
        document = {
            "running": True,
            "busy": False,
            **_facts(emulator),
            "outdated": emulator.is_outdated,
            "liveJobs": state.live_jobs,
            "network": state.network,
            "replicaAddresses": state.replica_addresses,
            "quotas": state.quotas,
            "denials": state.denials,
            "serviceStates": state.service_states,
            "unpackedImages": {
                "size": images.size,
                "limit": images.limit,
                "folders": images.folders,
                "inUse": images.used,
            },
            "installedPackages": asdict(packages),
        }
        output.document(document)
    else:
        live = state.live_jobs
        jobs = "no live job" if live == 0 else "1 live job" if live == 1 else f"{live} live jobs"
        output.line(f"The emulator is running at {_where(emulator)}: {jobs}.")
        if emulator.grpc and emulator.proxy:
            output.line(f"gRPC: {emulator.grpc}. Proxy for Google's hosts: {emulator.proxy}.")
        if state.network:
            output.line(f"Network of new jobs: {_network(state)}.")
        for line in _limits(state):
            output.line(line)
        if images.folders:
            output.line(f"Unpacked layers of images: {images}.")
        if packages.size:
            output.line(f"Installed packages of jobs: {packages}.")
        if emulator.is_outdated:
            output.line(
                "It runs older code than the installed version. To replace it, run `vertex-training emulator "
                "start`; its jobs keep running."
            )
    return 0


def _limits(state: EmulatorState) -> Iterator[str]:
    """Yield a line for each kind of limit that a user has set."""
    if state.quotas:
        yield f"Quotas: {', '.join(map(quota_text, state.quotas))}."
    if state.denials:
        yield f"Denied permissions: {', '.join(map(denial_text, state.denials))}."
    for each in state.service_states:
        yield f"{service_text(each)}."


def _network(state: EmulatorState) -> str:
    if state.network == "namespace":
        return f"namespace, with an address of its own in {state.replica_addresses} for each replica"
    if state.replica_addresses.endswith("/32"):
        return f"host, with the address {state.replica_addresses.removesuffix('/32')} for each replica"
    return f"host, with a loopback address in {state.replica_addresses} for each replica"


def _busy(busy: EmulatorBusyError, output: Output) -> int:
    """Print that the emulator is running but does not answer. Return 1."""
    if output.as_json:
        output.document(
            {
                "running": True,
                "busy": True,
                "dataDir": str(busy.folder.root),
                "pid": busy.pid,
                "reason": busy.why,
            }
        )
    else:
        output.line(str(busy))
    return 1


def env(options: argparse.Namespace, output: Output) -> None:
    """Print shell lines that set the environment, for `eval`."""
    from pulumi_vertex_training.cloud import emulator_api

    emulator = target.find_emulator(options.data_dir, options.timeouts)
    if emulator is None:
        raise target.not_running(options.data_dir)
    values = addresses.variables(
        emulator, project=options.project, location=options.location, environment=os.environ
    )
    values["VERTEX_EMULATOR_SIGNING_KEY"] = emulator_api.signing_key(_endpoint(emulator, options))
    unset: list[str] = []
    with_proxy = options.proxy or options.java
    if with_proxy:
        proxy = emulator_api.proxy(_endpoint(emulator, options))
        if proxy is None:
            raise CommandError(
                f"The emulator's proxy could not be started. See {emulator.data_dir / 'emulator.log'}."
            )
        values = addresses.with_proxy(
            values, emulator, proxy=proxy, environment=os.environ, java=options.java
        )
        unset = [name for name in addresses.WITHOUT_PROXY if name in os.environ and name not in values]
    if output.as_json:
        output.document({"environment": values, **({"unset": unset} if with_proxy else {})})
        return
    for line in (*addresses.exports(values), *(f"unset {name}" for name in unset)):
        output.line(line)


def reset(options: argparse.Namespace, output: Output) -> None:
    """Delete all data of the emulator. Without --yes, ask on a terminal."""
    from vertex_emulator import reset as emulator_reset

    data_dir = target.folder(options.data_dir)
    if sys.stdin.isatty() and output.terminal and not options.yes:
        answer = input(f"Delete all jobs, logs, buckets and images of the emulator in {data_dir}? [y/N] ")
        if answer.strip().lower() not in ("y", "yes"):
            raise CommandError("Nothing was deleted.")
    try:
        was = emulator_reset.reset(data_dir, timeouts=options.timeouts)
    except emulator_reset.ResetError as error:
        raise CommandError(str(error)) from error
    if output.as_json:
        output.document(
            {
                "dataDir": str(data_dir),
                "stopped": was.stopped,
                "endedJobs": was.ended_jobs,
                "deleted": was.deleted,
                "kept": list(map(str, was.kept)),
            }
        )
        return
    if not was.deleted:
        output.line(f"There is nothing to delete in {data_dir}.")
    else:
        if was.ended_jobs:
            output.line(f"Ended live jobs: {was.ended_jobs}.")
        output.line(f"Deleted all jobs, logs, buckets and images in {data_dir}.")
    for path in was.kept:
        remove = f"rm -r {shlex.quote(str(path))}"
        output.note(f"{path} was kept: the emulator did not make it. To delete it, run: {remove}")


def _facts(emulator: Emulator) -> dict[str, Any]:
    return {
        "url": emulator.url,
        "pid": emulator.pid,
        "dataDir": str(emulator.data_dir),
        "version": emulator.version,
        "grpc": emulator.grpc,
        "proxy": emulator.proxy,
        "timeoutScale": emulator.timeout_scale,
    }


def _where(emulator: Emulator) -> str:
    return f"{emulator.url} (process {emulator.pid}, data in {emulator.data_dir})"


def _endpoint(emulator: Emulator, options: argparse.Namespace) -> Endpoint:
    from pulumi_vertex_training.cloud.endpoint import Endpoint

    return Endpoint(
        kind="emulator",
        project=EMULATOR_PROJECT,
        location=target.DEFAULT_LOCATION,
        url=emulator.url,
        token=emulator.token,
        timeouts=options.timeouts.at_least(emulator.timeout_scale),
    )


def export(options: argparse.Namespace, output: Output) -> None:
    """Write all data of the emulator to an archive that only its owner can read."""
    with _started(options) as control:
        try:
            size = control.export_state(options.file)
        except FileExistsError:
            raise InputError(f"{options.file} already exists. Name a new file.", path="FILE") from None
        except OSError as error:
            raise _unusable(options, error) from error
    if output.as_json:
        output.document({"file": str(options.file), "bytes": size})
    else:
        output.line(f"Exported all data to {options.file} ({size} bytes).")


def import_state(options: argparse.Namespace, output: Output) -> None:
    """Add the contents of an archive to the emulator."""
    if not options.file.is_file():
        raise InputError(
            f"{options.file} does not exist. Name a file that `emulator export` wrote.", path="FILE"
        )
    with _started(options) as control:
        try:
            added = control.import_state(options.file)
        except OSError as error:
            raise _unusable(options, error) from error
    if output.as_json:
        output.document(added)
        return
    counts = ", ".join(
        [
            *(f"{added[kind]} {kind}" for kind in ("jobs", "buckets", "objects", "images", "repositories")),
            *(f"{count} {_NOUNS[kind]}" for kind, count in added["resources"].items()),
        ]
    )
    output.line(f"Imported: {counts}.")
    if added["endedJobs"]:
        output.line(f"Ended jobs and pipelines (live when exported): {added['endedJobs']}.")


@contextmanager
def _started(options: argparse.Namespace) -> Iterator[Control]:
    """Yield the controls of the emulator. If it is not running, run it meanwhile."""
    from vertex_emulator import launcher

    started = target.find_emulator(options.data_dir, options.timeouts) is None
    try:
        if started:
            launcher.ensure(options.data_dir, timeouts=options.timeouts)
        try:
            with control_of(options, bad_input=(400, 404, 409)) as control:
                yield control
        finally:
            if started:
                launcher.stop(options.data_dir, timeouts=options.timeouts)
    except launcher.LauncherError as error:
        raise CommandError(str(error)) from error


def _unusable(options: argparse.Namespace, error: OSError) -> CommandError:
    return CommandError(f"{options.file} cannot be used: {error.strerror or error}.", path="FILE")
