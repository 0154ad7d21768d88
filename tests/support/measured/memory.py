"""Run a command and measure the most memory that it ever had.

A process starts with the record of the one that started it, and pytest is large: a small one stands between.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_BETWEEN = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
sys.stderr.write(f"\\n{code} {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss}")
"""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The exit code and output of a command, and its memory in MiB."""

    code: int
    out: str
    err: str
    mib: int


def run_measured(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, folder: Path | None = None
) -> Measured:
    """Run a command to its end."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", _BETWEEN, *command],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    err, _, last = done.stderr.rpartition("\n")
    code, most = last.split()
    return Measured(
        code=int(code), out=done.stdout, err=err, mib=int(most) >> (20 if sys.platform == "darwin" else 10)
    )
