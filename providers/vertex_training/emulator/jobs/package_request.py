"""What a supervisor asks of `python_packages`, and what comes of it: two files in the job's folder."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vertex_training.emulator.jobs import folder
from vertex_training.emulator.jobs.plan import Plan
from vertex_training.specs import uris


@dataclass(frozen=True, kw_only=True)
class Environment:
    """What came of an installation: the folder of a virtual environment, or a problem in words."""

    path: Path | None = None
    problem: str = ""


def write(request_file: Path, plan: Plan, packages: Sequence[str]) -> tuple[str, ...]:
    """Write the request; gives the command that carries it out. Raises `OSError`."""
    archives = [{"uri": uri, "path": _object_path(plan.buckets_dir, uri)} for uri in packages]
    folder.write_json(request_file, {"archives": archives, "venvs_dir": str(plan.venvs_dir)})
    return (sys.executable, "-m", "vertex_training.emulator.jobs.python_packages", str(request_file))


def result_file(request_file: Path) -> Path:
    """Where the answer to a request is."""
    return request_file.with_suffix(".result.json")


def result(request_file: Path) -> Environment | None:
    """What came of the request, None when the process ended without a word."""
    answer = folder.read_json(result_file(request_file))
    if answer is None:
        return None
    return Environment(path=Path(answer["path"]) if answer["path"] else None, problem=answer["problem"])


def _object_path(buckets: Path, uri: str) -> str:
    """Where the object's file is; "" for a name that no file below the buckets can have."""
    address = uris.parse(uri)
    parts = (address.bucket, *address.name.split("/"))
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        return ""
    return str(buckets.resolve().joinpath(*parts))
