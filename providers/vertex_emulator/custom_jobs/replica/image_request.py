"""What a supervisor asks of `images.roots`: the images of its job, unpacked and held."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict

from vertex_emulator.custom_jobs.plan import Plan
from vertex_emulator.custom_jobs.replica import image as replica_image
from vertex_emulator.job_folder import folder, outcome
from vertex_emulator.job_folder.outcome import Outcome
from vertex_emulator.replica_images import places

_PROGRAM = "vertex_emulator.replica_images.roots"

Run = Callable[[str, tuple[str, ...]], bool]
"""Runs a program under a name; whether it ended before the job was decided otherwise."""


def fulfil(plan: Plan, job_folder: folder.JobFolder, *, run: Run) -> tuple[tuple[int, ...], Outcome | None]:
    """Have the images unpacked; the descriptors that hold them, and the job's end where that fails.

    Raises `OSError`.
    """
    held: list[int] = []
    done: set[str] = set()
    for replica in plan.replicas:
        image = replica.image
        if image is None or not replica_image.has_root(image):
            continue
        key = places.key_of(image.layers)
        if key not in done:
            done.add(key)
            held.append(places.hold(plan.images_dir, key))
            request = job_folder.path / f"image-{len(held)}.json"
            folder.write_json(
                request,
                {
                    "name": image.name,
                    "images_dir": str(plan.images_dir),
                    "layers": [asdict(each) for each in image.layers],
                },
            )
            if not run(request.stem, (sys.executable, "-m", _PROGRAM, str(request))):
                return tuple(held), None
            answer = folder.read_json(request.with_suffix(".result.json"))
            if answer is None:
                return tuple(held), _failed(
                    f"The image {image.name} could not be unpacked: that ended without a result. The "
                    f"service's log has its messages: vertex-training logs {plan.job}"
                )
            if answer["problem"]:
                return tuple(held), _failed(answer["problem"])
        if found := replica_image.problem(plan, replica):
            return tuple(held), _failed(found)
    return tuple(held), None


def _failed(problem: str) -> Outcome:
    return outcome.broken(problem, code=outcome.FAILED_PRECONDITION)
