"""Full disks: a small one that a test fills, and a substitute for one."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

_FILLER = "filler"
_IN_A_NAMESPACE = """
mount -t tmpfs -o "size=$1,mode=0777" tmpfs "$2" && echo mounted && exec cat
"""


@contextlib.contextmanager
def small_disk(at: Path, *, mebibytes: int) -> Iterator[Path]:
    """Yield the folder of a small disk, mounted at `at`, or in a mount namespace if that is not allowed."""
    at.mkdir()
    size = f"{mebibytes}m"
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0777", "tmpfs", str(at)]
    if os.geteuid() == 0 and subprocess.run(mount, check=False, capture_output=True).returncode == 0:
        try:
            yield at
        finally:
            subprocess.run(["umount", "--lazy", str(at)], check=True)
        return
    with _in_a_namespace(at, size) as seen:
        yield seen


@contextlib.contextmanager
def _in_a_namespace(at: Path, size: str) -> Iterator[Path]:
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", _IN_A_NAMESPACE, "sh"]
    if shutil.which("unshare") is None:
        pytest.skip("this machine has no unshare")
    with subprocess.Popen(
        [*command, size, str(at)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as holder:
        try:
            assert holder.stdout is not None
            if not holder.stdout.readline():
                pytest.skip("neither a mount nor a user namespace is allowed here")
            yield Path(f"/proc/{holder.pid}/root{at}")
        finally:
            holder.kill()


def fill(disk: Path) -> None:
    """Write a file until the disk is full."""
    with (disk / _FILLER).open("ab", buffering=0) as file:
        for size in (1 << 20, 4096):
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(size))
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)), (disk / "more").open("wb") as file:
        file.write(bytes(4096))
    (disk / "more").unlink()


def free(disk: Path) -> None:
    """Make room again."""
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
