"""Full disks: a small one that a test fills, and a substitute for one."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_FILLER = "filler"
_IN_A_NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount", "--")


@contextlib.contextmanager
def small_disk(at: Path, *, mebibytes: int) -> Iterator[Path]:
    """Mount a small disk at `at`. Skip the test where that is not allowed: see `run_with_mounts`."""
    at.mkdir()
    if not mounts_are_allowed():
        pytest.skip("no mount is allowed here; the file's last test runs this one in a user namespace")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=0777", "tmpfs", str(at)]
    subprocess.run(mount, check=True, capture_output=True)
    try:
        yield at
    finally:
        subprocess.run(["umount", "--lazy", str(at)], check=True)


@functools.cache
def mounts_are_allowed() -> bool:
    """Return whether this process may mount a file system, as root usually may."""
    return _succeeds("unshare", "--mount", "true")


def run_with_mounts(file: str) -> None:
    """Run the tests of a file where mounts are allowed: in a user namespace. Skip without one."""
    if mounts_are_allowed():
        pytest.skip("the tests of this file have run: mounts are allowed here")
    if not _succeeds(*_IN_A_NAMESPACE, "true"):
        pytest.skip("neither a mount nor a user namespace is allowed here")
    this = os.environ["PYTEST_CURRENT_TEST"].partition(" ")[0]
    options = ["-q", "-p", "no:cacheprovider", "--deselect", this]
    done = subprocess.run(
        [*_IN_A_NAMESPACE, sys.executable, "-m", "pytest", *options, file],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "skipped" not in done.stdout, done.stdout


def _succeeds(*command: str) -> bool:
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


_MOST_DELETIONS = 100


def fill(disk: Path) -> None:
    """Write a file until the disk is full, also if others delete files meanwhile."""
    for _ in range(_MOST_DELETIONS):
        with (disk / _FILLER).open("ab", buffering=0) as file:
            for size in (1 << 20, 4096):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(bytes(size))
        try:
            with (disk / "more").open("wb") as file:
                file.write(bytes(4096))
        except OSError as error:
            assert error.errno == errno.ENOSPC, error
            break
        finally:
            (disk / "more").unlink(missing_ok=True)
    else:
        raise AssertionError(f"{disk} is never full")


@contextlib.contextmanager
def deleted_files_kept(disk: Path) -> Iterator[None]:
    """Keep the disk's files open: what is deleted frees no space before the end."""
    with contextlib.ExitStack() as stack:
        for path in disk.rglob("*"):
            with contextlib.suppress(OSError):
                if path.is_file() and not path.is_symlink():
                    stack.enter_context(path.open("rb"))
        yield


def free(disk: Path) -> None:
    """Make space again."""
    (disk / _FILLER).unlink()


@contextlib.contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Limit the size of files that this process writes: a write beyond `size` bytes fails with `EFBIG`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
