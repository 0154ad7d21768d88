"""Prepare a job's replicas through helper processes: unpack images, install packages."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from vertex_emulator.job_folder import folder, outcome
from vertex_emulator.job_folder.outcome import Outcome
from vertex_emulator.replicas.images.folders import hold, touch
from vertex_emulator.replicas.images.image import ReplicaImage, key_of, keys_of
from vertex_emulator.replicas.plan import Plan
from vertex_emulator.replicas.preparation import unpacked_image
from vertex_emulator.replicas.preparation.interpreters import Interpreter
from vertex_emulator.replicas.preparation.packages import cache
from vertex_emulator.replicas.preparation.packages.private_python import SharedPackages
from vertex_emulator.replicas.sandbox.program import Command
from vertex_training.fields import uris

_UNPACKER = "vertex_emulator.replicas.images.unpacking"

Run = Callable[[str, Command], bool]
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
        separately = plan.sandbox.layers
        key = key_of(image.layers, separately=separately)
        if key not in done:
            done.add(key)
            held += [hold(plan.images_dir, each) for each in keys_of(image.layers, separately=separately)]
            if not touch(plan.images_dir, key):
                request = job_folder.path / f"image-{len(done)}.json"
                ended, problem = _unpack(plan, image, request, run=run)
                if not ended or problem is not None:
                    return tuple(held), problem
        if fault := unpacked_image.start_problem(plan, replica):
            return tuple(held), _failed(fault)
    return tuple(held), None


def _unpack(plan: Plan, image: ReplicaImage, request: Path, *, run: Run) -> tuple[bool, Outcome | None]:
    """Unpack one image. Return whether the helper ended, and the job's end if it failed. Raises `OSError`."""
    wanted = {
        "name": image.name,
        "images_dir": str(plan.images_dir),
        "separately": plan.sandbox.layers,
        "layers": [asdict(each) for each in image.layers],
    }
    folder.write_json(request, wanted)
    argv = (sys.executable, "-m", _UNPACKER, str(request))
    command = Command(argv=argv, environment=dict(os.environ), cwd=request.parent)
    if not run(request.stem, command):
        return False, None
    answer = folder.read_json(folder.result_file(request))
    if answer is None:
        return True, _failed(
            f"The image {image.name} could not be unpacked: the helper ended without a result. The service's "
            f"log has its messages: vertex-training logs {plan.job}"
        )
    return True, _failed(answer["problem"]) if answer["problem"] else None


def _failed(problem: str) -> Outcome:
    return outcome.broken(problem, code=outcome.FAILED_PRECONDITION)


_INSTALLER = "vertex_emulator.replicas.preparation.packages.installer"


def install_packages(
    plan: Plan, job_folder: folder.JobFolder, *, run: Run
) -> tuple[Mapping[str, SharedPackages], tuple[int, ...], Outcome | None]:
    """Install the packages of a job's replicas, once for equal replicas.

    Return the packages by the names of the replicas, descriptors that hold them in the cache, and the job's
    end if the installation failed. Raises `OSError`.
    """
    installed: dict[str, SharedPackages] = {}
    done: dict[tuple[object, ...], SharedPackages] = {}
    held: list[int] = []
    venvs = plan.venvs_dir.resolve()
    for replica in plan.replicas:
        if not replica.package_uris:
            continue
        interpreter = unpacked_image.interpreter_of(plan, replica.image)
        key = (replica.package_uris, interpreter)
        if key not in done:
            name = f"packages-{len(done)}"
            with cache.installing(venvs):
                command, request = _installer(plan, job_folder, replica.package_uris, interpreter, name)
                if not run(name, command):
                    return installed, tuple(held), None
                answer = folder.read_json(folder.result_file(request))
                if answer is None:
                    return (
                        installed,
                        tuple(held),
                        outcome.broken(
                            f"The packages {', '.join(replica.package_uris)} could not be installed: the "
                            "installer ended without a result. The service's log has its messages: "
                            f"vertex-training logs {plan.job}"
                        ),
                    )
                if answer["problem"]:
                    return installed, tuple(held), _failed(answer["problem"])
                entries = [Path(answer[each]) for each in ("code", "environment") if answer[each]]
                held += [cache.hold(entry) for entry in entries]
            done[key] = _shared(entries, interpreter)
            cache.clean(venvs)
        installed[replica.name] = done[key]
    return installed, tuple(held), None


def _shared(entries: Sequence[Path], interpreter: Interpreter) -> SharedPackages:
    """Return the packages of the cache's entries for a job: its code, and the requirements if it has any.

    Only a job without requirements sees the packages of its image.
    """
    code, *environments = (each / cache.PACKAGES for each in entries)
    site = Path("lib", f"python{interpreter.minor}", "site-packages")
    return SharedPackages(
        folders=tuple(entries),
        entries=(code, *(each / site for each in environments)),
        scripts=(code / "bin", *(each / "bin" for each in environments)),
        of_image=not environments,
    )


def _installer(
    plan: Plan, job_folder: folder.JobFolder, packages: Sequence[str], interpreter: Interpreter, name: str
) -> tuple[Command, Path]:
    """Return the command that installs packages, and its request file. Raises `OSError`.

    It runs no code of the packages, and starts the sandbox of that code itself.
    """
    request = job_folder.path / f"{name}.json"
    buckets = plan.buckets_dir.resolve()
    wanted = {
        "archives": [{"uri": uri, "path": _object_path(buckets, uri)} for uri in packages],
        "python": interpreter.minor,
        "job": str(job_folder.path),
    }
    folder.write_json(request, wanted)
    argv = (sys.executable, "-m", _INSTALLER, str(request))
    return Command(
        argv=argv, environment=dict(os.environ), cwd=job_folder.path, starts_sandboxes=True
    ), request


def _object_path(buckets: Path, uri: str) -> str:
    """Return the file of an object; "" for a name that cannot be a file below the buckets."""
    address = uris.parse(uri)
    parts = (address.bucket, *address.name.split("/"))
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        return ""
    return str(buckets.joinpath(*parts))
