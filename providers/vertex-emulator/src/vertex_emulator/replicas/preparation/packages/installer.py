"""Install the Python packages of a job, so that an edit of their code installs no requirement again.

    python -m vertex_emulator.replicas.preparation.packages.installer REQUEST

The supervisor runs this as a process of its own, which can be killed at any moment: an entry of the cache
(`cache`) is filled under a lock, and valid only with its marker. The requirements go into a virtual
environment that sees no packages of the emulator, named after the requirements. If the packages of the
emulator's Python meet all of them, and their own requirements in turn, these packages are copied; otherwise
pip installs all of them from the package index. The packages go into a folder beside it, named after their
content.

This process trusts no package: it reads none of their files. Code of packages, and pip, run in a sandbox
(`builder`, `build_sandbox`), once for the packages and once for their requirements, which jobs share.
"""

from __future__ import annotations

import hashlib
import json
import os
import selectors
import shutil
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from vertex_emulator.job_folder import folder
from vertex_emulator.job_folder.folder import JobFolder
from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.timeouts import SUPERVISOR, SupervisorTimeouts
from vertex_emulator.replicas.plan import Plan
from vertex_emulator.replicas.preparation import interpreters
from vertex_emulator.replicas.preparation.interpreters import Interpreter
from vertex_emulator.replicas.preparation.packages import cache
from vertex_emulator.replicas.preparation.packages.build_sandbox import build_command, network_of_build
from vertex_emulator.replicas.preparation.packages.builder import BUILT, RESULT
from vertex_emulator.replicas.preparation.packages.limits import folder_watch
from vertex_emulator.replicas.preparation.packages.pip import InstallError, print_line
from vertex_emulator.replicas.preparation.packages.requirements import met_by
from vertex_emulator.replicas.sandbox.children import Child, spawn
from vertex_emulator.replicas.sandbox.program import Command

_LAYOUT = 4
_CHUNK = 1 << 20
_BUILDER = "vertex_emulator.replicas.preparation.packages.builder"
_MOST_ANSWERED = 1 << 20
_WATCH_SECONDS = 1.0
_WATCH_SHARE = 10
"""The folder of a build is measured no longer than one part in so many of the time."""

Build = Callable[[Path, Mapping[str, Any], str], dict[str, Any]]
"""Carries out a request in a sandbox with a folder. Returns the answer. Gets the packages' names for
messages. Raises `InstallError`, `OSError`."""


def install(
    archives: Sequence[Mapping[str, str]], venvs: Path, interpreter: Interpreter, *, build: Build
) -> tuple[Path, Path | None]:
    """Return the entry of the archives' code, and one of their requirements if they have any.

    Raises `InstallError`, `OSError`.
    """
    for archive in archives:
        path = Path(archive["path"])
        if not archive["path"] or not path.is_file() or path.resolve() != path:  # a link is not an object
            raise InstallError(
                f"The package {archive['uri']} does not exist in the emulator. Upload it first, then create "
                "the job again."
            )
    (venvs / cache.CODE).mkdir(mode=0o700, parents=True, exist_ok=True)
    key = code_key([Path(archive["path"]) for archive in archives], interpreter)
    code = venvs / cache.CODE / key
    with cache.locked(code):
        marker = cache.marker_of(code)
        if marker is None:
            requirements = install_code(code, venvs, archives, interpreter, build=build)
        else:
            print_line(f"The packages are already installed in {code}.")
            requirements = list(marker["requirements"])
    if not requirements:
        return code, None
    names = ", ".join(archive["uri"] for archive in archives)
    return code, _environment(venvs, requirements, interpreter, names, build=build)


def install_code(
    code: Path,
    venvs: Path,
    archives: Sequence[Mapping[str, str]],
    interpreter: Interpreter,
    *,
    build: Build,
) -> list[str]:
    """Install archives without their requirements into an entry. Return the requirements."""
    names = ", ".join(archive["uri"] for archive in archives)
    print_line(f"Installing {names} in {code}.")
    with cache.building(venvs) as place:
        files = _copies(place / "archives", archives)
        if code_key(files, interpreter) != code.name:
            raise InstallError(
                f"The packages {names} were replaced while they were being installed. Create the job again."
            )
        copies = [
            {"uri": archive["uri"], "path": str(file)} for archive, file in zip(archives, files, strict=True)
        ]
        answer = build(place, {"archives": copies}, names)
        requirements = _requirements(answer.get("requirements"), names)
        cache.move_in(place / BUILT, code, {"requirements": requirements})
    return requirements


def _requirements(found: Any, names: str) -> list[str]:
    """Return requirements that code of a package may have written. Raises `InstallError`."""
    try:
        return [str(Requirement(each)) for each in found]
    except (InvalidRequirement, TypeError):
        raise InstallError(
            f"The packages {names} could not be installed: their build gave {found!r:.200} for their "
            "requirements. Correct the project, or stage a wheel, which needs no build."
        ) from None


def _environment(
    venvs: Path, requirements: Sequence[str], interpreter: Interpreter, names: str, *, build: Build
) -> Path:
    """Return the entry with the requirements installed. Raises `InstallError`, `OSError`."""
    present = met_by(requirements, interpreter.packages)
    versions = [f"{each.metadata['Name']}=={each.version}" for each in present or ()]
    path = venvs / _key(interpreter, [*requirements, "", *versions])
    with cache.locked(path):
        if cache.marker_of(path) is not None:
            print_line(f"The requirements are already installed in {path}.")
            return path
        if present is None:
            print_line(f"Installing their requirements in {path}: {', '.join(requirements)}.")
        else:
            print_line(f"Copying requirements from the emulator's Python: {', '.join(versions)}.")
        with cache.building(venvs) as place:
            wanted = {"requirements": list(requirements), "names": names, "present": present is not None}
            build(place, wanted, names)
            cache.move_in(place / BUILT, path, {"requirements": list(requirements)})
    return path


def _copies(target: Path, archives: Sequence[Mapping[str, str]]) -> list[Path]:
    """Copy the archives under their own file names, which pip reads, in one folder each: names may repeat."""
    copies = []
    for number, archive in enumerate(archives):
        copy = target / str(number) / Path(archive["path"]).name
        copy.parent.mkdir(parents=True)
        shutil.copyfile(archive["path"], copy)
        copies.append(copy)
    return copies


def code_key(archives: Sequence[Path], interpreter: Interpreter) -> str:
    """Return the key of archives with this content and these names, in this order."""
    lines = []
    for archive in archives:
        with archive.open("rb") as file:
            content = hashlib.sha256()
            while block := file.read(_CHUNK):
                content.update(block)
        lines.append(f"{archive.name} {content.hexdigest()}")
    return _key(interpreter, lines)


def _key(interpreter: Interpreter, lines: Sequence[str]) -> str:
    text = "\n".join([str(_LAYOUT), interpreter.version, str(interpreter.executable), *lines])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def sandboxed(plan: Plan, interpreter: Interpreter, *, socket: Path) -> Build:
    """Return a `Build` in the sandbox and network of a job; `socket` is the path of the network's socket."""

    def build(place: Path, wanted: Mapping[str, Any], names: str) -> dict[str, Any]:
        request = place / "request.json"
        folder.write_json(
            request, {**wanted, "python": interpreter.minor, "timeout_scale": plan.timeout_scale}
        )
        argv = (sys.executable, "-m", _BUILDER, str(request))
        with network_of_build(plan, socket) as network:
            command = build_command(plan, interpreter, place, argv, network)
            problem = run(command, folder_watch(place, names), timeouts=plan.timeouts)
        answer = {"problem": problem} if problem else answer_in(place / RESULT)
        if answer is None:
            raise InstallError(
                f"The packages {names} could not be installed: their installation ended without a result. "
                f"The service's log has its messages: vertex-training logs {plan.job}"
            )
        if answer.get("problem"):
            raise InstallError(str(answer["problem"]))
        return answer

    return build


def run(command: Command, watch: Callable[[], str | None], *, timeouts: SupervisorTimeouts) -> str | None:
    """Run a program to the end of all its processes, and print its output.

    Return the problem for which `watch` had it killed, or None.
    """
    child, problem = spawn(command, timeouts=timeouts), None
    due = machine_clock.monotonic() + _WATCH_SECONDS
    with selectors.DefaultSelector() as ends:
        for end in (child.status, child.stdout, child.stderr):
            ends.register(end, selectors.EVENT_READ)
        while ends.get_map():
            for ready, _ in ends.select(max(0.0, due - machine_clock.monotonic())):
                if not _pass_on(child, ready.fd):
                    ends.unregister(ready.fd)
            started = machine_clock.monotonic()
            if problem is None and started >= due:
                problem = watch()
                if problem is not None:
                    child.kill()
            if started >= due:
                took = machine_clock.monotonic() - started
                due = started + max(_WATCH_SECONDS, _WATCH_SHARE * took)
    child.finish()
    os.close(child.stdout)
    os.close(child.stderr)
    return problem


def _pass_on(child: Child, end: int) -> bool:
    """Handle what a pipe of a child delivers. Return False at its end."""
    data = os.read(end, _CHUNK)
    if end == child.status:
        child.feed(data)
        return bool(data)
    stream = sys.stdout.buffer if end == child.stdout else sys.stderr.buffer
    stream.write(data)
    stream.flush()
    return bool(data)


def answer_in(path: Path) -> dict[str, Any] | None:
    """Return the answer in a file that code of a package may have replaced, or None without one."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            document = json.loads(file.read(_MOST_ANSWERED))
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def main(request_file: Path) -> None:
    """Carry out the request and write the result next to it."""
    wanted = folder.read_json(request_file)
    job = JobFolder(Path(wanted["job"]))
    plan = Plan.from_json(folder.read_json(job.plan))
    answer = {"code": "", "environment": "", "problem": ""}
    interpreter = interpreters.find(wanted["python"], timeouts=SUPERVISOR.at_least(plan.timeout_scale))
    venvs = plan.venvs_dir.resolve()
    try:
        if interpreter is None:
            raise InstallError(f"This machine has no Python {wanted['python']}.")
        build = sandboxed(plan, interpreter, socket=job.network)
        code, environment = install(wanted["archives"], venvs, interpreter, build=build)
        answer.update(code=str(code), environment=str(environment or ""))
    except InstallError as error:
        answer["problem"] = str(error)
    except OSError as error:
        answer["problem"] = (
            f"The packages could not be installed: {error.strerror or error} ({error.filename or venvs}). "
            "Free space on that disk or make the folder writable, and create the job again."
        )
    folder.write_json(folder.result_file(request_file), answer)


if __name__ == "__main__":
    os.umask(0o077)
    main(Path(sys.argv[1]))
