"""A stand-in for the `python3` that Pulumi starts, which saves each program and provider its imports.

Pulumi starts Python three times for a command: for the list of packages, the program, and the provider.
Most of the processor time of `pulumi up` goes into their imports. Pulumi takes its interpreter from
PULUMI_PYTHON_CMD; with the command of `running` there, each of the three is a fork of a process that has
done the imports. Command, language host, program, provider and the protocols between them stay real;
`tests/engine/test_warm_python.py` compares.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.waiting import eventually

_FOLDER = Path(__file__).parent / "warm"
_MODULES = (
    "pulumi.dynamic",
    "dill",
    "grpc",
    "pip._internal.commands.list",
    "google.auth.transport.requests",
    "google.cloud.aiplatform_v1",
    "google.cloud.artifactregistry_v1",
    "google.cloud.storage",
    "pulumi_vertex_training.kinds.custom_job.provider",
)
"""What programs and providers import; the third-party part of it is kept."""


@contextmanager
def running() -> Iterator[Path]:
    """The command that stands in for `python3`, for as long as the warm interpreter runs."""
    with tempfile.TemporaryDirectory(prefix="warm-python-") as name:
        folder = Path(name)
        address, command = folder / "socket", folder / "python3"
        path = os.environ.get("PYTHONPATH", "")
        words = [sys.executable, "-IS", str(_FOLDER / "client.py"), str(address), sys.executable, path]
        command.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        command.chmod(0o700)
        server = subprocess.Popen(
            [sys.executable, str(_FOLDER / "server.py"), str(address), *_MODULES],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            eventually(lambda: address.exists() or server.poll() is not None)
            assert server.poll() is None, "the warm interpreter ended"
            yield command
        finally:
            assert server.stdin is not None
            server.stdin.close()
            server.wait()
