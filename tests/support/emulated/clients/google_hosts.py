"""Unmodified programs that only know Google's hosts, and what they need for their tests."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from scripts.layout import layout
from scripts.tools import google_clients
from vertex_emulator.client import addresses
from vertex_emulator.client.control import Control
from vertex_emulator.client.launcher import find
from vertex_emulator.daemon.daemon import Daemon


def shell_of(daemon: Daemon, *, java: bool = False, **more: str) -> dict[str, str]:
    """Return the environment of a shell after `emulator env --proxy`, or `--java`."""
    emulator = find(daemon.folder.root)
    assert emulator is not None and emulator.proxy is not None and daemon.proxy_url
    mine = {"PATH": os.environ["PATH"], "HOME": str(daemon.folder.root), **more}
    values = addresses.variables(emulator, project="local", location="us-central1", environment=mine)
    values[addresses.SIGNING_KEY] = str(daemon.storage.key.file())
    proxied = addresses.with_proxy(values, emulator, proxy=emulator.proxy, environment=mine, java=java)
    return {**mine, **proxied}


def output(
    command: list[str | Path], shell: Mapping[str, str], *, fails: bool = False, **options: Any
) -> str:
    """Run a program. Return its output, or what it reports of its failure."""
    done = subprocess.run(command, env=shell, capture_output=True, text=True, timeout=300, **options)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stderr if fails else done.stdout


def client(name: str) -> Path:
    """Return a program of `make tools`. Without it the test is skipped, or fails if CI is set."""
    found = google_clients.program(layout(), name)
    if not found.exists():
        message = f"{name} is not installed. To run this test: make tools"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    return found


def times_refused(daemon: Daemon, bucket: str) -> int:
    """Return how often a program has tried to create a notification of a bucket, which is refused."""
    sent = Control(url=daemon.url, token=daemon.token).requests()["requests"]
    return len([each for each in sent if f"/b/{bucket}/notificationConfigs" in each["target"]])


def image_in(folder: Path) -> Path:
    """Write an image of one file in the OCI layout. Return its folder."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("empty"))
    blobs = folder / "image" / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def put(data: bytes, kind: str) -> dict[str, Any]:
        digest = hashlib.sha256(data).hexdigest()
        (blobs / digest).write_bytes(data)
        return {
            "mediaType": f"application/vnd.oci.image.{kind}",
            "digest": f"sha256:{digest}",
            "size": len(data),
        }

    content = put(layer.getvalue(), "layer.v1.tar")
    root = {"type": "layers", "diff_ids": [content["digest"]]}
    config = put(
        json.dumps({"architecture": "amd64", "os": "linux", "rootfs": root}).encode(), "config.v1+json"
    )
    manifest = {"schemaVersion": 2, "config": config, "layers": [content]}
    index = {"schemaVersion": 2, "manifests": [put(json.dumps(manifest).encode(), "manifest.v1+json")]}
    (folder / "image" / "index.json").write_text(json.dumps(index))
    (folder / "image" / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    return folder / "image"
