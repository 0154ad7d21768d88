"""Builds a documentation site as `make docs` does, and serves it."""

from __future__ import annotations

import functools
import http.server
import importlib.util
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def build(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Build the docs of a folder as `make docs` does."""
    if importlib.util.find_spec("zensical") is None:
        message = "Zensical is not installed. It needs Python 3.11 or newer."
        has_to = os.environ.get("CI") and sys.version_info >= (3, 11)
        pytest.fail(message) if has_to else pytest.skip(message)
    return subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--clean", "--strict"],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
            "NO_COLOR": "1",
            **variables,
        },
        capture_output=True,
        text=True,
        check=False,
    )


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files and prints nothing."""

    def log_message(self, *arguments: object) -> None:
        pass


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a folder on this machine. Yield the address."""
    handler = functools.partial(QuietHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as found:
        thread = threading.Thread(target=found.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{found.server_port}"
        finally:
            found.shutdown()
            thread.join()
