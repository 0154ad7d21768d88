"""The rows of a deployment on a terminal of 80 columns: state and counts come first."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
from dataclasses import dataclass, field
from typing import Any

from support.client.engine import Engine
from support.client.package_plugin import with_plugin
from support.waiting import eventually

_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]")


@dataclass
class Terminal:
    """A command on a terminal, and all that it has drawn."""

    process: subprocess.Popen[bytes]
    leader: int
    drawn: bytearray = field(default_factory=bytearray)

    def resize(self, columns: int) -> None:
        fcntl.ioctl(self.leader, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))

    def infos(self, name: str) -> list[str]:
        """Return what the Info column had in the row of a job, each text once."""
        lines = re.split(r"[\r\n]+", _CODES.sub("", self.drawn.decode(errors="replace")))
        row = re.compile(rf"CustomJob +{name} +(?:creating|created) \([0-9.]+s\)\.* +(.*)")
        return list(dict.fromkeys(found[1].rstrip() for line in lines if (found := row.search(line))))


def start(engine: Engine, *arguments: str, columns: int) -> Terminal:
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        ["pulumi", *arguments],
        cwd=engine.folder,
        env={**engine.environment, "TERM": "xterm-256color"},
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
    )
    made = Terminal(process, leader)
    made.resize(columns)
    os.close(follower)

    def read() -> None:
        try:
            while piece := os.read(leader, 65536):
                made.drawn.extend(piece)
        except OSError:  # the terminal is closed
            os.close(leader)

    threading.Thread(target=read, daemon=True).start()
    return made


def job(script: str, wait: str) -> dict[str, Any]:
    pool = {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": 1,
        "containerSpec": {
            "imageUri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
            "command": ["sh", "-c", script],
        },
    }
    properties = {"workerPoolSpecs": [pool, pool], "wait": wait}
    return {"type": "vertex-training:CustomJob", "properties": properties}


def has_shown(terminal: Terminal, name: str, text: str) -> bool:
    """Return whether a row has shown the text, or all but its end: after ten seconds the status is longer."""
    shown = terminal.infos(name)
    return any(info == text or (text.startswith(info) and len(info) >= len(text) - 2) for info in shown)


def test_the_row_of_a_job_begins_with_its_state_and_counts(engine: Engine) -> None:
    """Deploy the stack digits-dev: its name and the types leave the Info column seven characters."""
    engine = with_plugin(engine)
    resources = {"train": job("sleep 600", "done"), "live": job("sleep 600", "running")}
    document = {
        "name": "digits",
        "runtime": "yaml",
        "config": {"vertex-training:endpoint": "emulator", "vertex-training:dataDir": str(engine.data_dir)},
        "resources": resources,
    }
    (engine.folder / "Pulumi.yaml").write_text(json.dumps(document))
    engine.environment["PULUMI_STACK"] = "dev"
    engine.run("stack", "init", "dev", "--non-interactive").ok()
    terminal = start(engine, "up", "--yes", "--skip-preview", columns=80)
    try:
        eventually(lambda: has_shown(terminal, "train", "running"), what=lambda: terminal.infos("train"))
        eventually(lambda: has_shown(terminal, "live", "running"), what=lambda: terminal.infos("live"))
        terminal.resize(84)
        eventually(lambda: has_shown(terminal, "train", "running 2/2"), what=lambda: terminal.infos("train"))
    finally:
        os.killpg(terminal.process.pid, signal.SIGINT)
        terminal.process.wait(timeout=120)
    eventually(
        lambda: [info for info in terminal.infos("train") if info.startswith("keeps run")],
        what=lambda: terminal.infos("train"),
    )
