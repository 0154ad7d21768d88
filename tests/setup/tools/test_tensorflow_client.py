"""TensorFlow for tests: installed once from its lock file, and reported if it cannot be."""

from __future__ import annotations

import dataclasses
import io
import re
import shutil
from pathlib import Path

import pytest

from scripts.layout import Layout, layout
from scripts.report import Report
from scripts.setup import lock_files
from scripts.tools import tensorflow_client

_PIP = """#!/bin/sh
echo "$@" >> "{log}"
while [ "$1" != --target ]; do shift; done
mkdir -p "$2"
"""
_BROKEN = "#!/bin/sh\necho no network; exit 1\n"


@pytest.fixture
def here(tmp_path: Path) -> Layout:
    found = layout(local=tmp_path / "local", environ={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    shutil.copytree(found.tools / "tensorflow", tmp_path / "tools" / "tensorflow")
    return dataclasses.replace(found, root=tmp_path)


def ensure(here: Layout, report: Report, script: str) -> list[str]:
    """Run the chore with a script in place of Python. Return the lines that it wrote."""
    log = here.local / "log"
    log.parent.mkdir(exist_ok=True)
    here.python.parent.mkdir(parents=True, exist_ok=True)
    here.python.write_text(script.format(log=log))
    here.python.chmod(0o755)
    tensorflow_client.ensure(here, report, environ={"PATH": "/bin"})
    return log.read_text().splitlines() if log.exists() else []


def test_it_is_installed_once(here: Layout, report: Report) -> None:
    (line,) = ensure(here, report, _PIP)
    assert line.startswith("-I -m pip install ")
    assert tensorflow_client.is_installed(here)
    assert ensure(here, report, _PIP) == [line]
    assert {"--require-hashes", "--no-deps", "--target"} <= set(line.split())


def test_a_failure_is_reported(here: Layout, report: Report, printed: io.StringIO) -> None:
    ensure(here, report, _BROKEN)
    assert not tensorflow_client.is_installed(here)
    assert "no network" in printed.getvalue()
    assert "without TensorFlow" in printed.getvalue()


def test_the_lock_file_has_hashes_and_no_address(here: Layout) -> None:
    text = tensorflow_client.lock(here).read_text()
    assert "://" not in text
    assert not re.search(r"^\s*(-i|-f|--(index|extra-index|find|trusted)\S*)\b", text, re.MULTILINE)
    pins = lock_files.pins(text)
    assert {pin.partition("==")[0] for pin in pins} >= {"tensorflow-cpu", "tensorboard", "keras"}
    for pin, hashes in pins.items():
        assert re.fullmatch(r"(--hash=sha256:[0-9a-f]{64} )+", hashes), pin
