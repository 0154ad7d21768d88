"""Another user, whom root's privileges do not help: folders that he can reach, and tests that he runs.

The clone, its Python and the folder of temporary files may lie below folders that are closed to him, as
everything below /root is.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from vertex_emulator.kernel.disk.trees import remove_tree
from vertex_emulator.replicas.sandbox.linux import namespaces as ns
from vertex_emulator.replicas.sandbox.sandbox import interpreter_paths

NOBODY = 65534
ROOT = Path(__file__).resolve().parents[3]
OPEN_TO_ALL = Path("/var/tmp")


@contextlib.contextmanager
def reachable_folder() -> Iterator[Path]:
    """Yield a new folder that everybody can enter. It belongs to the other user if root runs the tests."""
    folder = Path(tempfile.mkdtemp(prefix="vertex-training-", dir=OPEN_TO_ALL))
    try:
        folder.chmod(0o755)
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        yield folder
    finally:
        remove_tree(folder)


@contextlib.contextmanager
def without_privileges() -> Iterator[None]:
    """Let this process be the other user for a moment, if it is root's."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def command(*words: str | Path) -> list[str]:
    """Return a command that runs a program as the other user, or as the own one if that is not root."""
    become = [sys.executable, "-I", __file__] if os.geteuid() == 0 else []
    return [*become, *map(str, words)]


def run(*words: str | Path, home: Path) -> subprocess.CompletedProcess[str]:
    """Run this Python as the other user, with a folder of his."""
    return subprocess.run(
        command(sys.executable, *words),
        cwd=ROOT,
        env={
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(home),
            "TMPDIR": str(home),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def run_tests(*tests: str) -> None:
    """Run tests of this clone as the other user. Fail unless all of them pass."""
    with reachable_folder() as folder:
        options = ["-q", "-p", "no:cacheprovider", "--basetemp", str(folder / "tests")]
        done = run("-m", "pytest", *options, *tests, home=folder)
    assert done.returncode == 0 and "skipped" not in done.stdout, done.stdout


def _become(command: list[str]) -> None:
    """Run a command instead of this process, which is root's, as the other user."""
    _open_to_all({ROOT, *interpreter_paths()})
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    ns.die_with_parent()
    os.execvp(command[0], command)


def _open_to_all(paths: Iterable[Path]) -> None:
    """Replace closed folders on the way to `paths` by open ones, in a mount namespace of this process alone.

    An open one shows nothing but what leads to the paths. No file is changed.
    """
    entries = sorted(entry for path in paths for entry in (path.iterdir() if _is_closed(path) else [path]))
    below = {entry: next(filter(_is_closed, reversed(entry.parents)), None) for entry in entries}
    if not any(below.values()):
        return
    ns.unshare(ns.CLONE_NEWNS)
    ns.mount("none", "/", flags=ns.MS_REC | ns.MS_PRIVATE)
    descriptors = {entry: os.open(entry, os.O_PATH) for entry, folder in below.items() if folder}
    for folder in set(filter(None, below.values())):
        ns.mount("tmpfs", folder, "tmpfs", options="mode=755")
    for entry, descriptor in descriptors.items():
        source = Path(f"/proc/self/fd/{descriptor}")
        if source.is_dir():
            entry.mkdir(parents=True, exist_ok=True)
        else:
            entry.parent.mkdir(parents=True, exist_ok=True)
            entry.touch()
        ns.bind(source, entry)
        os.close(descriptor)


def _is_closed(path: Path) -> bool:
    """Return whether only its owner may enter a folder."""
    return path.is_dir() and not path.stat().st_mode & 0o001


if __name__ == "__main__":
    _become(sys.argv[1:])
