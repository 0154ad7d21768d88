"""One command of Pulumi with a disturbance: run, disturb, clean up."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from soak.disturbance import Fault, Kill
from support.client.engine import Engine
from support.emulated.emulator import is_alive
from support.waiting import eventually
from vertex_emulator import launcher
from vertex_emulator.control import Control, ControlError

_LIMIT_SECONDS = 120.0
_LEAVE_SECONDS = 20.0


@dataclass(frozen=True, kw_only=True)
class Ran:
    """The results of a command.

    `disturbed`: whether the disturbance took effect. `hung`: it did not end in time. `stayed`: provider
    processes that outlived a killed `pulumi` for too long.
    """

    code: int
    output: str
    disturbed: bool
    hung: bool = False
    stayed: tuple[int, ...] = ()


def run(
    engine: Engine, arguments: list[str], disturbance: Kill | Fault | None, *, emulator: launcher.Emulator
) -> Ran:
    """Run the command to its end; afterwards none of its processes runs, and the stack is not locked."""
    control = Control(url=emulator.url, token=emulator.token)
    if isinstance(disturbance, Fault):
        control.add_fault(disturbance.body)
    process = engine.start(*arguments)
    lines: list[str] = []
    reader = threading.Thread(target=_read, args=(process, lines), daemon=True)
    reader.start()
    family: list[psutil.Process] = []
    struck = False
    if isinstance(disturbance, Kill):
        struck, family = _strike(process, disturbance, lines, emulator)
    hung = False
    try:
        process.wait(_LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        hung = True
        family += psutil.Process(process.pid).children(recursive=True)
        process.kill()
        process.wait()
    stayed = _leave(family) if struck or hung else ()
    reader.join(10)
    if process.returncode < 0 or hung:
        _delete_empty_attributes(engine)
        engine.run("cancel", "--yes")
    if isinstance(disturbance, Fault):
        with contextlib.suppress(ControlError):
            struck = any(each["fired"] for each in control.faults())
            control.clear_faults()
    return Ran(
        code=process.returncode, output="".join(lines), disturbed=struck or hung, hung=hung, stayed=stayed
    )


def _read(process: subprocess.Popen[str], lines: list[str]) -> None:
    assert process.stdout is not None
    with process.stdout:
        lines.extend(iter(process.stdout.readline, ""))


def _strike(
    process: subprocess.Popen[str], kill: Kill, lines: list[str], emulator: launcher.Emulator
) -> tuple[bool, list[psutil.Process]]:
    """Return whether the victim was killed, and the processes that `pulumi` had started by then."""
    if not _until(lambda: len(lines) >= kill.after_lines, process):
        return False, []
    time.sleep(kill.delay)
    if process.poll() is not None:
        return False, []
    family = psutil.Process(process.pid).children(recursive=True)
    match kill.victim:
        case "pulumi":
            process.kill()
        case "interrupt":
            process.send_signal(signal.SIGINT)
        case "everything":
            os.killpg(process.pid, signal.SIGKILL)
        case "provider":
            plugins = [one for one in family if _is_plugin(one)]
            for plugin in plugins:
                _kill(plugin)
            return bool(plugins), []
        case "emulator":
            with contextlib.suppress(ProcessLookupError):
                os.kill(emulator.pid, signal.SIGKILL)
            return True, []
    return True, family


def _leave(family: list[psutil.Process]) -> tuple[int, ...]:
    """Wait until the plugin ends by itself, then kill all. Return the plugins that were still running."""
    plugins = [one for one in family if _is_plugin(one)]
    with contextlib.suppress(AssertionError):
        eventually(lambda: not any(is_alive(one) for one in plugins), seconds=_LEAVE_SECONDS)
    stayed = tuple(one.pid for one in plugins if is_alive(one))
    for one in family:
        _kill(one)
    return stayed


def _delete_empty_attributes(engine: Engine) -> None:
    """Delete empty files of attributes, with which all commands fail ("failed to load checkpoint: EOF").

    Pulumi's file backend replaces a state at once, but writes the attributes next to it in place. A kill at
    that moment leaves them empty.
    """
    for attributes in engine.folder.glob("state/.pulumi/**/*.attrs"):
        if not attributes.stat().st_size:
            attributes.unlink()


def _is_plugin(process: psutil.Process) -> bool:
    try:
        return "pulumi.dynamic" in " ".join(process.cmdline())
    except psutil.Error:
        return False


def _kill(process: psutil.Process) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        process.kill()


def _until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> bool:
    """Return whether the condition became true while the process was running."""
    while not condition():
        if process.poll() is not None:
            return False
        time.sleep(0.01)
    return True
