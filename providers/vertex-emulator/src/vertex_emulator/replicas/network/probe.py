"""Find, by trying, whether replicas can have a network of their own on this machine.

Run `python -m vertex_emulator.replicas.network.probe` with the JSON of the sandbox on its standard input.
It prints why not, or nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from vertex_emulator.client.interpreter import interpreter
from vertex_emulator.kernel.timeouts import CLIENT, Timeouts
from vertex_emulator.replicas.network.job_network import JobNetwork, NetworkError
from vertex_emulator.replicas.sandbox.children import run
from vertex_emulator.replicas.sandbox.program import Command
from vertex_emulator.replicas.sandbox.sandbox import Sandbox


def problem_with(sandbox: Sandbox, *, timeouts: Timeouts = CLIENT) -> str | None:
    """Return why replicas in a sandbox cannot have a network of their own, or None. Takes about 0.2 s.

    Runs in a process of its own: it forks, which a process with threads must not.
    """
    if sandbox.kind != "namespaces":
        return sandbox.reason
    result = subprocess.run(  # noqa: S603
        [interpreter(), "-m", "vertex_emulator.replicas.network.probe"],
        input=json.dumps(asdict(sandbox)),
        capture_output=True,
        text=True,
        timeout=timeouts.sandbox,
        check=False,
    )
    if result.returncode:
        return (result.stderr.strip().splitlines() or ["the probe of networks failed"])[-1]
    return result.stdout or None


def problem_here(sandbox: Sandbox) -> str | None:
    """Try it in this process, which must have only one thread."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            network = JobNetwork(
                names=("probe",), hosts=("probe",), targets={}, sandbox=sandbox, path=Path(folder, "socket")
            )
        except NetworkError as error:
            return str(error)
        try:
            code, output = run(
                Command(
                    argv=("sh", "-c", ":"),
                    environment={"PATH": "/usr/bin:/bin"},
                    cwd=Path("/"),
                    sandbox=sandbox,
                    network=network.namespace(0),
                )
            )
        finally:
            network.close()
    return None if code == 0 else output.decode(errors="replace").strip() or f"exit code {code}"


if __name__ == "__main__":
    sys.stdout.write(problem_here(Sandbox(**json.load(sys.stdin))) or "")
