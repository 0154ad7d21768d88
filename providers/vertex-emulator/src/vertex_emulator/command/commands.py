"""`start`, `stop`, `status`, `env`, `reset`, `prune`, `export` and `import`."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from vertex_emulator.client import addresses, launcher, lookup
from vertex_emulator.client.control import Control, ControlError
from vertex_emulator.client.lookup import Emulator, EmulatorBusyError, LauncherError
from vertex_emulator.command import target
from vertex_emulator.command.permissions import denial_text, service_text
from vertex_emulator.command.settings import capacity_text, quota_text
from vertex_emulator.kernel.disk import disk_space
from vertex_emulator.kernel.disk.data_folder import DataFolder, DataFolderError, chosen_data_dir
from vertex_training.command_line.answer import Answer, Sentences
from vertex_training.command_line.errors import CommandError, InputError
from vertex_training.command_line.output import Output
from vertex_training.fields.document import json_of
from vertex_training.findings.words import counted

_NOUNS = {
    "hyperparameterTuningJobs": "tuning jobs",
    "trainingPipelines": "pipelines",
    "models": "models",
    "datasets": "datasets",
    "persistentResources": "persistent resources",
    "logEntries": "log entries",
    "secrets": "secrets without their values",
}


def start(options: argparse.Namespace, _: Output) -> Answer:
    """Start the emulator and return when it is ready. A running one is kept."""
    try:
        before = _pid(options)
        emulator = launcher.ensure(options.data_dir, port=options.port, timeouts=options.timeouts)
    except LauncherError as error:
        raise CommandError(str(error)) from error
    started = before != emulator.pid
    notes = (_little_space(emulator), _lost(emulator, options) if started else "")
    return Sentences(
        {**_facts(emulator), "started": started},
        [f"The emulator is {'running' if started else 'already running'} at {_where(emulator)}."],
        list(filter(None, notes)),
    )


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
    seconds = options.timeouts.at_least(emulator.timeout_scale).probe
    _, info = lookup.call(emulator.url, "GET", "/_local/info", timeout=seconds, token=emulator.token)
    return str(info.get("lost", ""))


def _pid(options: argparse.Namespace) -> int | None:
    """Return the process of the running emulator, also of a busy one, or None. Raises `LauncherError`."""
    try:
        running = lookup.find(options.data_dir, timeouts=options.timeouts)
    except EmulatorBusyError as busy:
        return busy.pid
    return None if running is None else running.pid


def stop(options: argparse.Namespace, _: Output) -> Answer:
    """Stop the emulator. Its jobs keep running."""
    live = _live_jobs(options)
    try:
        stopped = launcher.stop(options.data_dir, timeouts=options.timeouts)
    except LauncherError as error:
        raise CommandError(str(error)) from error
    said = ["The emulator is stopped." if stopped else "The emulator was not running."]
    if stopped and live:
        jobs, them = ("1 job is", "it") if live == 1 else (f"{live} jobs are", "them")
        said.append(
            f"{jobs} still running. To see or cancel {them}, start the emulator again: run "
            "`vertex-emulator start`."
        )
    return Sentences({"stopped": stopped, "liveJobs": live if stopped else 0}, said)


def _live_jobs(options: argparse.Namespace) -> int:
    """Return the number of jobs that have not ended; 0 if no emulator says so."""
    try:
        running = lookup.find(options.data_dir, timeouts=options.timeouts)
        return 0 if running is None else int(_info(target.control_at(running, options)).get("liveJobs", 0))
    except (LauncherError, ControlError):
        return 0


def status(options: argparse.Namespace, _: Output) -> Answer:
    """Return whether the emulator is running. The exit code is 1 if it is not, or is busy, for scripts."""
    from vertex_emulator.daemon import disk_use

    try:
        emulator = lookup.find(options.data_dir, timeouts=options.timeouts)
    except EmulatorBusyError as busy:
        return _busy(busy)
    except LauncherError as error:
        raise CommandError(str(error), path="--data-dir") from error
    if emulator is None:
        keys = {"running": False, "dataDir": str(chosen_data_dir(options.data_dir))}
        return Sentences(keys, [str(target.not_running(options.data_dir))], code=1)
    try:
        info = _info(target.control_at(emulator, options))
    except ControlError as error:
        if error.status not in _NO_ANSWER:
            raise CommandError(str(error)) from error
        why = f"it did not answer at {emulator.url}"
        folder = DataFolder(root=emulator.data_dir)
        return _busy(EmulatorBusyError(folder, pid=emulator.pid, why=why))
    state = {key: info.get(key, default) for key, default in _STATE.items()}
    images = disk_use.unpacked_images(emulator.data_dir)
    packages = disk_use.installed_packages(emulator.data_dir)
    keys = {
        "running": True,
        "busy": False,
        **_facts(emulator),
        "outdated": emulator.is_outdated,
        **state,
        "unpackedImages": {**json_of(images, "size limit folders"), "inUse": images.used},
        "installedPackages": json_of(packages),
    }
    caches = [f"Unpacked layers of images: {images}."] if images.folders else []
    caches += [f"Installed packages of jobs: {packages}."] if packages.size else []
    return Sentences(keys, [*_state_in_words(emulator, state), *caches, *_OUTDATED[: emulator.is_outdated]])


_NO_ANSWER = (0, 503)
_OUTDATED = (
    "It runs older code than the installed version. To replace it, run `vertex-emulator start`; its jobs "
    "keep running.",
)
_STATE: Mapping[str, Any] = {
    "liveJobs": 0,
    "network": "",
    "replicaAddresses": "",
    "quotas": (),
    "capacities": (),
    "denials": (),
    "serviceStates": (),
}
"""The keys of the emulator's info that `status` shows, and their values where an older emulator has none."""


def _state_in_words(emulator: Emulator, state: Mapping[str, Any]) -> Iterator[str]:
    """Yield where the emulator is, its network, and each kind of limit that a user has set."""
    jobs = counted(state["liveJobs"], "live job") if state["liveJobs"] else "no live job"
    yield f"The emulator is running at {_where(emulator)}: {jobs}."
    if emulator.grpc and emulator.proxy:
        yield f"gRPC: {emulator.grpc}. Proxy for Google's hosts: {emulator.proxy}."
    if state["network"]:
        yield f"Network of new jobs: {_network(state)}."
    if state["quotas"]:
        yield f"Quotas: {', '.join(map(quota_text, state['quotas']))}."
    if state["capacities"]:
        yield f"Machines for jobs: {', '.join(map(capacity_text, state['capacities']))}."
    if state["denials"]:
        yield f"Denied permissions: {', '.join(map(denial_text, state['denials']))}."
    for each in state["serviceStates"]:
        yield f"{service_text(each)}."


def _network(state: Mapping[str, Any]) -> str:
    if state["network"] == "namespace":
        return f"namespace, with an address of its own in {state['replicaAddresses']} for each replica"
    if state["replicaAddresses"].endswith("/32"):
        return f"host, with the address {state['replicaAddresses'].removesuffix('/32')} for each replica"
    return f"host, with a loopback address in {state['replicaAddresses']} for each replica"


def _busy(busy: EmulatorBusyError) -> Answer:
    """Return the answer for an emulator that is running but does not answer."""
    keys = {"dataDir": str(busy.folder.root), "pid": busy.pid, "reason": busy.why}
    return Sentences({"running": True, "busy": True, **keys}, [str(busy)], code=1)


def env(options: argparse.Namespace, _: Output) -> Answer:
    """Return shell lines that set the environment, for `eval`."""
    emulator = target.running(options)
    values = addresses.variables(
        emulator, project=options.project, location=options.location, environment=os.environ
    )
    unset: list[str] = []
    with_proxy = options.proxy or options.java
    with target.control_of(options, emulator) as control:
        values[addresses.SIGNING_KEY] = control.call("GET", "/_local/service-account")["path"]
        proxy = _info(control).get("proxy") if with_proxy else None
    if with_proxy:
        if proxy is None:
            raise CommandError(
                f"The emulator's proxy could not be started. See {emulator.data_dir / 'emulator.log'}."
            )
        values = addresses.with_proxy(
            values, emulator, proxy=proxy, environment=os.environ, java=options.java
        )
        unset = [name for name in addresses.WITHOUT_PROXY if name in os.environ and name not in values]
    keys = {"environment": values, **({"unset": unset} if with_proxy else {})}
    return Sentences(keys, [*addresses.exports(values), *(f"unset {name}" for name in unset)])


def reset(options: argparse.Namespace, output: Output) -> Answer:
    """Delete all data of the emulator. Without --yes, ask on a terminal."""
    from vertex_emulator.daemon import reset as emulator_reset

    data_dir = chosen_data_dir(options.data_dir)
    if sys.stdin.isatty() and output.terminal and not options.yes:
        answer = input(f"Delete all jobs, logs, buckets and images of the emulator in {data_dir}? [y/N] ")
        if answer.strip().lower() not in ("y", "yes"):
            raise CommandError("Nothing was deleted.")
    try:
        was = emulator_reset.reset(data_dir, timeouts=options.timeouts)
    except emulator_reset.ResetError as error:
        raise CommandError(str(error)) from error
    ended = [f"Ended live jobs: {was.ended_jobs}."] if was.ended_jobs else []
    deleted = [*ended, f"Deleted all jobs, logs, buckets and images in {data_dir}."]
    return Sentences(
        {"dataDir": str(data_dir), **json_of(was, "stopped ended_jobs deleted kept")},
        deleted if was.deleted else [f"There is nothing to delete in {data_dir}."],
        [
            f"{path} was kept: the emulator did not make it. To delete it, run: "
            f"rm -r {shlex.quote(str(path))}"
            for path in was.kept
        ],
    )


def prune(options: argparse.Namespace, _: Output) -> Answer:
    """Delete the caches of the emulator: what no live job uses."""
    from vertex_emulator.daemon import prune as emulator_prune

    data_dir = chosen_data_dir(options.data_dir)
    try:
        was = emulator_prune.prune(data_dir)
    except DataFolderError as error:
        raise CommandError(str(error), path="--data-dir") from error
    said = f"There is nothing to delete in {data_dir}."
    if was.freed:
        size = disk_space.size_text
        said = (
            f"Freed {size(was.freed)} in {data_dir}: unpacked images {size(was.unpacked_images)}, installed "
            f"packages {size(was.installed_packages)}."
        )
    in_use = [f"Live jobs use {disk_space.size_text(was.kept)}, which stay."] if was.kept else []
    keys = json_of(was, "unpacked_images installed_packages kept")
    return Sentences({"dataDir": str(data_dir), "freed": was.freed, **keys}, [said, *in_use])


def _info(control: Control) -> Mapping[str, Any]:
    """Return addresses, live jobs and settings. Its `proxy` is None if it could not be started."""
    return control.call("GET", "/_local/info")


def _facts(emulator: Emulator) -> dict[str, Any]:
    found: dict[str, Any] = json_of(emulator, "url pid data_dir version grpc proxy timeout_scale")
    return found


def _where(emulator: Emulator) -> str:
    return f"{emulator.url} (process {emulator.pid}, data in {emulator.data_dir})"


def export(options: argparse.Namespace, _: Output) -> Answer:
    """Write a snapshot of the emulator to a file that only its owner can read."""
    with _started(options) as control:
        try:
            size = control.export_state(options.file)
        except FileExistsError:
            raise InputError(f"{options.file} already exists. Name a new file.", path="FILE") from None
        except OSError as error:
            raise _unusable(options, error) from error
    said = f"Exported the data to {options.file} ({size} bytes), without values of secrets."
    return Sentences({"file": str(options.file), "bytes": size}, [said])


def import_state(options: argparse.Namespace, _: Output) -> Answer:
    """Fill the emulator, which must be empty, with a snapshot."""
    if not options.file.is_file():
        raise InputError(f"{options.file} does not exist. Name a file that `export` wrote.", path="FILE")
    with _started(options) as control:
        try:
            added = control.import_state(options.file)
        except OSError as error:
            raise _unusable(options, error) from error
    counts = ", ".join(
        [
            *(f"{added[kind]} {kind}" for kind in ("jobs", "buckets", "objects", "images", "repositories")),
            *(f"{count} {_NOUNS[kind]}" for kind, count in added["resources"].items()),
        ]
    )
    ended = f"Ended jobs and pipelines (live when exported): {added['endedJobs']}."
    return Sentences(added, [f"Imported: {counts}.", *([ended] if added["endedJobs"] else [])])


@contextmanager
def _started(options: argparse.Namespace) -> Iterator[Control]:
    """Yield the controls of the emulator. If it is not running, run it meanwhile."""
    started = target.find_emulator(options.data_dir, options.timeouts) is None
    try:
        if started:
            launcher.ensure(options.data_dir, timeouts=options.timeouts)
        try:
            with target.control_of(options, bad_input=(400, 404, 409)) as control:
                yield control
        finally:
            if started:
                launcher.stop(options.data_dir, timeouts=options.timeouts)
    except LauncherError as error:
        raise CommandError(str(error)) from error


def _unusable(options: argparse.Namespace, error: OSError) -> CommandError:
    return CommandError(f"{options.file} cannot be used: {error.strerror or error}.", path="FILE")
