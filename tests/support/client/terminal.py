"""The Pulumi CLI on a terminal: what its display has drawn."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
from dataclasses import dataclass, field

from support.client.engine import Engine

_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]")
_NEXT_FRAME = re.compile(r"\x1b\[\d+A")
_TIME = re.compile(r"\(\d+(?:\.\d+)?s\)\.*")


@dataclass
class Terminal:
    """A command on a terminal, and all that it has drawn."""

    process: subprocess.Popen[bytes]
    leader: int
    drawn: bytearray = field(default_factory=bytearray)

    def resize(self, columns: int) -> None:
        fcntl.ioctl(self.leader, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))

    def frames(self) -> list[list[str]]:
        """Return the lines of each table that was drawn."""
        return [
            [line.rstrip() for line in re.split(r"[\r\n]+", _CODES.sub("", frame))]
            for frame in _NEXT_FRAME.split(self.drawn.decode(errors="replace"))
        ]

    def infos(self, name: str) -> list[str]:
        """Return what the Info column had in the row of a job, each text once."""
        row = re.compile(rf"CustomJob +{name} +(?:creating|created)(?: replacement)? \([0-9.]+s\)\.* +(.*)")
        lines = (line for frame in self.frames() for line in frame)
        return list(dict.fromkeys(found[1] for line in lines if (found := row.search(line))))


def start(engine: Engine, *arguments: str, columns: int) -> Terminal:
    """Start a command of the Pulumi CLI on a terminal."""
    leader, follower = pty.openpty()
    variables = {name: value for name, value in engine.environment.items() if name != "CI"}
    process = subprocess.Popen(
        ["pulumi", *arguments],
        cwd=engine.folder,
        env={**variables, "TERM": "xterm-256color"},
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
