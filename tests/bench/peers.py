"""The same large object with a public emulator of Cloud Storage, gcp-storage-emulator from PyPI."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path

from bench_emulator import MEGABYTES, large_object_seconds, large_objects
from figure import Figure

PEER = "gcp-storage-emulator==2026.7.19"
BUDGET = 1.25


def figures() -> Iterator[Figure]:
    ours_up, ours_down = large_objects()
    with tempfile.TemporaryDirectory() as folder:
        up, down = _peer(Path(folder))
    for name, ours, peer in (("up", ours_up, up), ("down", ours_down, down)):
        yield Figure(
            name=f"emulator: {MEGABYTES} MB object {name}, against {PEER}",
            value=ours / peer,
            unit="x",
            budget=BUDGET,
            note=f"{ours:.2f} s against {peer:.2f} s",
        )


def _peer(folder: Path) -> tuple[float, float]:
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", PEER], check=True, stdout=sys.stderr)
    port = 9123
    server = subprocess.Popen(
        [folder / "venv" / "bin" / "gcp-storage-emulator", "start", f"--port={port}", "--host=127.0.0.1"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(100):
            try:
                urllib.request.urlopen(url, timeout=1)
                break
            except OSError:
                time.sleep(0.1)
        return large_object_seconds(url)
    finally:
        server.terminate()
        server.wait()
