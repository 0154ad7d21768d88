"""Find, by trying, the sandbox in which replicas can be started on this machine.

Run `python -m vertex_emulator.custom_jobs.sandbox.probe` to print it as JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from vertex_emulator.custom_jobs.sandbox import idmaps
from vertex_emulator.custom_jobs.sandbox.children import run
from vertex_emulator.custom_jobs.sandbox.program import Command
from vertex_emulator.custom_jobs.sandbox.sandbox import Sandbox, View, interpreter_paths, make_folders
from vertex_emulator.interpreter import interpreter

_PROBE_SECONDS = 20.0


def candidates() -> Iterator[Sandbox]:
    """Yield the sandboxes to try on this system, best first."""
    if sys.platform == "linux":
        host_id = idmaps.unused_id() if os.geteuid() == 0 else None
        if host_id is not None:
            for user in (False, True):
                for pids in (True, False):
                    yield Sandbox(kind="namespaces", user=user, pids=pids, host_id=host_id)
        for pids in (True, False):
            yield Sandbox(kind="namespaces", user=True, pids=pids, as_root=os.geteuid() == 0)


def probe() -> Sandbox:
    """Return the best sandbox that can start this Python. Takes about 0.1 s.

    Runs in a process of its own: it forks, which a process with threads must not.
    """
    result = subprocess.run(  # noqa: S603
        [interpreter(), "-m", "vertex_emulator.custom_jobs.sandbox.probe"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_PROBE_SECONDS,
        check=False,
    )
    try:
        return Sandbox(**json.loads(result.stdout))
    except (ValueError, TypeError):
        last = (result.stderr.strip().splitlines() or ["no output"])[-1]
        return _process(f"the probe of namespaces failed: {last}")


def probe_here() -> Sandbox:
    """Try the sandboxes in this process, which must have only one thread."""
    if sys.platform != "linux":
        return _process(f"{sys.platform} has no mount namespaces")
    reason = ""
    for sandbox in candidates():
        folder = Path(tempfile.mkdtemp(prefix="vertex-training-probe-"))
        try:
            problem = _try(sandbox, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if problem is None:
            return sandbox
        reason = problem
    return _process(f"this machine does not allow namespaces: {reason}")


def _process(reason: str) -> Sandbox:
    return Sandbox(kind="process", reason=reason, as_root=os.geteuid() == 0)


def _try(sandbox: Sandbox, folder: Path) -> str | None:
    (folder / "buckets" / "found").mkdir(parents=True)
    view = View(
        folder=folder / "replica",
        buckets=folder / "buckets",
        hidden=folder,
        visible=interpreter_paths(),
        hostname="probe",
        hosts="127.0.0.1 localhost\n",
    )
    make_folders(view)
    command = Command(
        argv=(sys.executable, "-c", "import os; os.stat('/gcs/found')"),
        environment={},
        cwd=view.folder / "work",
        sandbox=sandbox,
        view=view,
    )
    code, output = run(command)
    if code == 0:
        return None
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"exit code {code}"


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(probe_here())))
