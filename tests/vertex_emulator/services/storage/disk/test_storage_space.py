"""A disk that is full. The kernel refuses for real: the daemon's files must not grow beyond a limit."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.api_core.exceptions import GoogleAPICallError

from support.emulated.emulator import ask, kill, storage_client
from vertex_emulator.client import launcher

LIMIT = 3_000_000

STARTER = """
import pathlib, resource, sys
from vertex_emulator import launcher
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
launcher.ensure(pathlib.Path(sys.argv[1]))
"""


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[launcher.Emulator]:
    """Start a daemon whose files cannot grow beyond `LIMIT`."""
    data_dir = tmp_path / "data"
    subprocess.run([sys.executable, "-c", STARTER, str(data_dir), str(LIMIT)], check=True, timeout=60)
    found = launcher.find(data_dir)
    assert found is not None
    yield found
    kill(found.pid)


def test_uploads_of_every_kind(emulator: launcher.Emulator) -> None:
    folder = emulator.data_dir
    with storage_client(emulator.storage_url) as client:
        bucket = client.create_bucket("full")
        bucket.blob("o").upload_from_string("small enough")
        for size, chunk in ((LIMIT + 1, None), (9_000_000, None), (9_000_000, 1024 * 1024)):
            with pytest.raises(GoogleAPICallError) as caught:
                # With the client's own retries: an answer that it repeated would take two minutes.
                bucket.blob("o", chunk_size=chunk).upload_from_string(b"x" * size)
            assert caught.value.code == 507
            assert f"data folder {folder} is full, so nothing was stored. Free some space" in str(
                caught.value
            )
        assert bucket.blob("o").download_as_bytes() == b"small enough"
        assert [blob.name for blob in bucket.list_blobs()] == ["o"]
        assert list((folder / "objects-incoming").iterdir()) == [], "nothing half-written is left"
        bucket.blob("p").upload_from_string("this fits")
    assert ask(emulator, "GET", "/_local/info").status == 200


def test_a_full_disk_at_the_start(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    done: Any = subprocess.run(
        [sys.executable, "-c", STARTER, str(data_dir), "10"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "LauncherError" in done.stderr
    assert str(data_dir) in done.stderr.splitlines()[-1]
    assert launcher.find(data_dir) is None
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 10, "the limit is the other process's"
    found = launcher.ensure(data_dir)
    kill(found.pid)
