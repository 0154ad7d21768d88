"""Prepare a job's replicas through helper processes: unpack images, install packages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from vertex_emulator.custom_jobs.plan import Plan
from vertex_emulator.custom_jobs.replica import unpacked_image
from vertex_emulator.job_folder import folder, outcome
from vertex_emulator.job_folder.outcome import Outcome
from vertex_emulator.replica_images.image import hold, key_of
from vertex_training.fields import uris

_UNPACKER = "vertex_emulator.replica_images.unpacking"

Run = Callable[[str, tuple[str, ...]], bool]
"""Runs a program under a name. Returns whether it ended before the job was decided otherwise."""


def unpack_images(
    plan: Plan, job_folder: folder.JobFolder, *, run: Run
) -> tuple[tuple[int, ...], Outcome | None]:
    """Unpack the images of a job. Return descriptors that hold them, and the job's end if it failed.

    Raises `OSError`.
    """
    held: list[int] = []
    done: set[str] = set()
    for replica in plan.replicas:
        image = replica.image
        if image is None or not unpacked_image.needs_unpacking(image):
            continue
        key = key_of(image.layers)
        if key not in done:
            done.add(key)
            held.append(hold(plan.images_dir, key))
            request = job_folder.path / f"image-{len(held)}.json"
            folder.write_json(
                request,
                {
                    "name": image.name,
                    "images_dir": str(plan.images_dir),
                    "layers": [asdict(each) for each in image.layers],
                },
            )
            if not run(request.stem, (sys.executable, "-m", _UNPACKER, str(request))):
                return tuple(held), None
            answer = folder.read_json(request.with_suffix(".result.json"))
            if answer is None:
                return tuple(held), _failed(
                    f"The image {image.name} could not be unpacked: the helper ended without a result. The "
                    f"service's log has its messages: vertex-training logs {plan.job}"
                )
            if answer["problem"]:
                return tuple(held), _failed(answer["problem"])
        if found := unpacked_image.start_problem(plan, replica):
            return tuple(held), _failed(found)
    return tuple(held), None


def _failed(problem: str) -> Outcome:
    return outcome.broken(problem, code=outcome.FAILED_PRECONDITION)


_INSTALLER = "vertex_emulator.custom_jobs.replica.python_packages"


def install_packages(
    plan: Plan, job_folder: folder.JobFolder, *, run: Run
) -> tuple[Mapping[tuple[str, ...], Path], Outcome | None]:
    """Create a virtual environment for each set of packages of a pool.

    Return the environments, and the job's end if the installation failed. Raises `OSError`.
    """
    found: dict[tuple[str, ...], Path] = {}
    for packages in dict.fromkeys(each.package_uris for each in plan.replicas if each.package_uris):
        request = job_folder.path / f"packages-{len(found)}.json"
        _write(request, plan, packages)
        if not run(request.stem, (sys.executable, "-m", _INSTALLER, str(request))):
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
    """Return the path of the answer to a request."""
    return request_file.with_suffix(".result.json")


def _write(request: Path, plan: Plan, packages: Sequence[str]) -> None:
    archives = [{"uri": uri, "path": _object_path(plan.buckets_dir, uri)} for uri in packages]
    folder.write_json(request, {"archives": archives, "venvs_dir": str(plan.venvs_dir)})


def _object_path(buckets: Path, uri: str) -> str:
    """Return the file of an object; "" for a name that cannot be a file below the buckets."""
    address = uris.parse(uri)
    parts = (address.bucket, *address.name.split("/"))
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        return ""
    return str(buckets.resolve().joinpath(*parts))
