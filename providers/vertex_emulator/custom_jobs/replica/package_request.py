"""What a supervisor asks of `python_packages`, and what comes of it: two files in the job's folder."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from vertex_emulator.custom_jobs.plan import Plan
from vertex_emulator.custom_jobs.replica.image_request import Run
from vertex_emulator.job_folder import folder, outcome
from vertex_emulator.job_folder.outcome import Outcome
from vertex_training.fields import uris

_PROGRAM = "vertex_emulator.custom_jobs.replica.python_packages"


def fulfil(
    plan: Plan, job_folder: folder.JobFolder, *, run: Run
) -> tuple[Mapping[tuple[str, ...], Path], Outcome | None]:
    """Have a virtual environment made for each set of packages that a pool asks for; the job's end where that
    fails. Raises `OSError`."""
    found: dict[tuple[str, ...], Path] = {}
    for packages in dict.fromkeys(each.package_uris for each in plan.replicas if each.package_uris):
        request = job_folder.path / f"packages-{len(found)}.json"
        _write(request, plan, packages)
        if not run(request.stem, (sys.executable, "-m", _PROGRAM, str(request))):
            return found, None
        answer = folder.read_json(result_file(request))
        if answer is None:
            return found, outcome.broken(
                f"The packages {', '.join(packages)} could not be installed: the installer ended without a "
                f"result. The service's log has its messages: vertex-training logs {plan.job}"
            )
        if not answer["path"]:
            return found, outcome.broken(answer["problem"], code=outcome.FAILED_PRECONDITION)
        found[packages] = Path(answer["path"])
    return found, None


def result_file(request_file: Path) -> Path:
    """Where the answer to a request is."""
    return request_file.with_suffix(".result.json")


def _write(request: Path, plan: Plan, packages: Sequence[str]) -> None:
    archives = [{"uri": uri, "path": _object_path(plan.buckets_dir, uri)} for uri in packages]
    folder.write_json(request, {"archives": archives, "venvs_dir": str(plan.venvs_dir)})


def _object_path(buckets: Path, uri: str) -> str:
    """Where the object's file is; "" for a name that no file below the buckets can have."""
    address = uris.parse(uri)
    parts = (address.bucket, *address.name.split("/"))
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        return ""
    return str(buckets.resolve().joinpath(*parts))
