"""The local emulator: Vertex AI, Cloud Storage, Artifact Registry and Cloud Logging on one port.

Other distributions import the names of this module alone. Each is loaded when it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vertex_emulator.client import addresses as addresses
    from vertex_emulator.client import extras as extras
    from vertex_emulator.client import interpreter as interpreter
    from vertex_emulator.client import launcher as launcher
    from vertex_emulator.client.control import Control as Control
    from vertex_emulator.client.control import ControlError as ControlError
    from vertex_emulator.client.launcher import Emulator as Emulator
    from vertex_emulator.client.launcher import LauncherError as LauncherError
    from vertex_emulator.command.jobs import unknown_job as unknown_job
    from vertex_emulator.command.options import data_dir_options as data_dir_options
    from vertex_emulator.command.options import emulator_options as emulator_options
    from vertex_emulator.command.target import find_emulator as find_emulator
    from vertex_emulator.command.target import not_running as not_running
    from vertex_emulator.command.target import of_data_dir as of_data_dir
    from vertex_emulator.daemon import disk_use as disk_use
    from vertex_emulator.jobs.notifications import subscriptions as subscriptions
    from vertex_emulator.jobs.notifications.subscriptions import Subscription as Subscription
    from vertex_emulator.kernel import machine_clock as machine_clock
    from vertex_emulator.kernel.disk import data_folder as data_folder
    from vertex_emulator.kernel.disk import disk_space as disk_space
    from vertex_emulator.kernel.disk import ownership as ownership
    from vertex_emulator.kernel.disk.data_folder import DataFolder as DataFolder
    from vertex_emulator.kernel.disk.data_folder import chosen_data_dir as chosen_data_dir
    from vertex_emulator.kernel.disk.data_folder import default_data_dir as default_data_dir
    from vertex_emulator.kernel.disk.ownership import DataFolderError as DataFolderError
    from vertex_emulator.kernel.file_limit import connections_for as connections_for
    from vertex_emulator.kernel.timeouts import ClientTimeouts as ClientTimeouts
    from vertex_emulator.replicas.sandbox import entering as entering
    from vertex_emulator.replicas.sandbox import probe as probe
    from vertex_emulator.replicas.sandbox import relay as relay
    from vertex_emulator.testing.emulator import VertexEmulator as VertexEmulator

_PUBLIC = {
    "addresses": "client.addresses",
    "chosen_data_dir": "kernel.disk.data_folder:chosen_data_dir",
    "ClientTimeouts": "kernel.timeouts:ClientTimeouts",
    "connections_for": "kernel.file_limit:connections_for",
    "Control": "client.control:Control",
    "ControlError": "client.control:ControlError",
    "data_dir_options": "command.options:data_dir_options",
    "data_folder": "kernel.disk.data_folder",
    "DataFolder": "kernel.disk.data_folder:DataFolder",
    "DataFolderError": "kernel.disk.ownership:DataFolderError",
    "default_data_dir": "kernel.disk.data_folder:default_data_dir",
    "disk_space": "kernel.disk.disk_space",
    "disk_use": "daemon.disk_use",
    "Emulator": "client.launcher:Emulator",
    "emulator_options": "command.options:emulator_options",
    "entering": "replicas.sandbox.entering",
    "extras": "client.extras",
    "find_emulator": "command.target:find_emulator",
    "interpreter": "client.interpreter",
    "launcher": "client.launcher",
    "LauncherError": "client.launcher:LauncherError",
    "machine_clock": "kernel.machine_clock",
    "not_running": "command.target:not_running",
    "of_data_dir": "command.target:of_data_dir",
    "ownership": "kernel.disk.ownership",
    "probe": "replicas.sandbox.probe",
    "relay": "replicas.sandbox.relay",
    "Subscription": "jobs.notifications.subscriptions:Subscription",
    "subscriptions": "jobs.notifications.subscriptions",
    "unknown_job": "command.jobs:unknown_job",
    "VertexEmulator": "testing.emulator:VertexEmulator",
}
"""The public names: a module, or `module:name`."""


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _PUBLIC[name].partition(":")
    loaded = import_module(f"{__name__}.{module}")
    globals()[name] = value = getattr(loaded, attribute) if attribute else loaded
    return value


def __dir__() -> list[str]:
    return sorted(_PUBLIC)
