"""The git commit of a folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from pulumi_vertex_training.runs.lineage.lineage import Commit

_OF_A_HOOK = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"})
"""Variables that git sets for a hook: they may name another repository than the folder's."""


def commit_of(folder: Path, *, timeout: float) -> Commit | None:
    """Return the commit that is checked out in a folder.

    None without git, without a commit, outside of a repository, and if git does not answer in time.
    """
    git = shutil.which("git")
    if git is None:
        return None
    kept = {name: value for name, value in os.environ.items() if name not in _OF_A_HOOK}
    try:
        done = subprocess.run(  # noqa: S603  no shell, and the tool's own path
            [git, "status", "--porcelain=v2", "--branch", "--untracked-files=normal"],
            cwd=folder,
            env={**kept, "GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    lines = done.stdout.decode(errors="replace").splitlines()
    ids = [line.removeprefix("# branch.oid ") for line in lines if line.startswith("# branch.oid ")]
    if not ids or not ids[0].isalnum():  # "(initial)" before the first commit
        return None
    return Commit(id=ids[0], is_dirty=any(not line.startswith("# ") for line in lines))
