"""Delete all that the chores install or write, in the clone and in the user's cache folder.

Nothing else is touched: no other file of the clone, no package of the system, no cache of pip. A clone whose
state still has resources is refused, because only the state knows them.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from pathlib import Path

from scripts.layout import Layout
from scripts.processes import run_quietly
from scripts.report import ChoreError, Report
from scripts.setup import python_packages
from scripts.stack import project_name

_OF_CHECKS = (".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".import_linter_cache")
_MOUNTS = Path("/proc/self/mounts")


def clean(layout: Layout, report: Report) -> int:
    """Delete the environments, caches, state and emulator's data. Raises ChoreError if anything is in use."""
    for check in (_refuse_resources, _refuse_running_setups, _refuse_mounts):
        check(layout)
    _end_emulator(layout, report)
    freed = 0
    for path in targets(layout):
        size = size_of(path)
        if path == layout.venv:
            python_packages.remove(path)
        elif path.is_symlink():
            path.unlink()
        else:
            shutil.rmtree(path)
        freed += size
        report.line(f"{size / 1e6:8,.0f} MB  {path}")
    if not freed:
        report.line("There is nothing to delete.")
        return 0
    report.line(f"{freed / 1e6:8,.0f} MB  deleted. The next command installs again what it needs.")
    return 0


def targets(layout: Layout) -> list[Path]:
    """Return what exists of the folders that chores make."""
    named = (
        layout.venv,
        layout.root / "policies" / "venv",
        *(layout.root / name for name in _OF_CHECKS),
        *sorted(path for folder in layout.distributions for path in folder.glob("src/*.egg-info")),
        layout.local,
        layout.cache,
    )
    return [path for path in named if path.is_symlink() or path.is_dir()]


def size_of(path: Path) -> int:
    """Return the bytes that deleting a folder frees: a file of the cache has another name in each .venv."""
    freed = 0
    for folder, _, names in os.walk(path):
        for name in names:
            status = os.lstat(os.path.join(folder, name))  # noqa: PTH118 (many files)
            freed += status.st_blocks * 512 if status.st_nlink == 1 else 0
    return freed


def _refuse_resources(layout: Layout) -> None:
    """Raise ChoreError if a stack in the clone's own state has resources, or if its state cannot be read."""
    for file in sorted((layout.state / ".pulumi" / "stacks").glob("**/*.json")):
        try:
            deployment = json.loads(file.read_text())["checkpoint"]["latest"] or {}
            left = [*(deployment.get("resources") or ()), *(deployment.get("pending_operations") or ())]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise ChoreError(
                f"{file} cannot be read, so nothing was deleted: its stack may have resources. Move the file "
                "away, then run `make clean` again."
            ) from None
        if left:
            project = file.parent.name
            raise ChoreError(
                f"Stack {file.stem} of project {project} has {len(left)} resources, so nothing was deleted. "
                f"Remove them first: {_removal(layout, project, file.stem)}."
            )


def _removal(layout: Layout, project: str, stack: str) -> str:
    """Return how to delete the resources of a stack, which may be of a program outside of the clone."""
    for folder in ("", "environment"):
        file = layout.root / folder / "Pulumi.yaml"
        if file.is_file() and project_name(file.parent) == project:
            return f"`make down STACK={stack}{f' FOLDER={folder}' if folder else ''}`"
    return f"in the folder of the program {project}, `source CLONE/activate` and `pulumi destroy -s {stack}`"


def _refuse_running_setups(layout: Layout) -> None:
    """Raise ChoreError while another process installs into the cache folder or the clone."""
    for file in (*layout.cache.glob("lock"), *layout.cache.glob("*.lock"), *layout.local.glob("*.lock")):
        if _is_held(file):
            raise ChoreError(f"Another command is using {file.parent}. Run `make clean` when it has ended.")


def _refuse_mounts(layout: Layout) -> None:
    """Raise ChoreError if a file system is mounted in a folder that is to be deleted."""
    try:
        places = [Path(line.split()[1].replace("\\040", " ")) for line in _MOUNTS.read_text().splitlines()]
    except OSError:  # not on Linux
        return
    for path in targets(layout):
        for place in places:
            if path.resolve() in (place, *place.parents):
                raise ChoreError(
                    f"A file system is mounted at {place}, so nothing was deleted. Unmount it first."
                )


def _end_emulator(layout: Layout, report: Report) -> None:
    """End the emulator of the clone and its jobs, whose data will be deleted."""
    if not (layout.emulator / "data-folder.json").exists():
        return
    command = layout.venv / "bin" / "vertex-training"
    if not command.exists():
        if _is_held(layout.emulator / "emulator.lock"):
            raise ChoreError(
                f"The emulator of {layout.emulator} is running. Run `make setup`, then `make clean` again."
            )
        return
    with report.step("Emulator") as step:
        step.progress("ending it and its jobs")
        run_quietly(
            [command, "emulator", "reset", "--yes", "--data-dir", layout.emulator],
            cwd=layout.root,
            env=os.environ,
            failure="The emulator cannot be reset, so nothing else was deleted",
        )
        step.done("ended")


def _is_held(file: Path) -> bool:
    """Return whether a process holds the lock of a file."""
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
