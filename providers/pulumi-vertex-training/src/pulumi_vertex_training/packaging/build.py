"""Build a package from a script, a folder or a project, or use an existing wheel or sdist."""

from __future__ import annotations

import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from email.parser import HeaderParser
from pathlib import Path
from types import MappingProxyType
from typing import IO, Final, Literal

from packaging.tags import Tag
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from pulumi_vertex_training.packaging import naming
from pulumi_vertex_training.packaging.archive import archive_size, unreadable
from pulumi_vertex_training.packaging.cluster_package import CLUSTER, cluster_files
from pulumi_vertex_training.packaging.errors import PackagingError
from pulumi_vertex_training.packaging.files import collisions
from pulumi_vertex_training.packaging.naming import entry_module, runnable, same_name
from pulumi_vertex_training.packaging.package import Package, measure
from pulumi_vertex_training.packaging.plans import (
    Plan,
    Request,
    plan_folder,
    plan_project,
    plan_script,
    too_large,
)
from pulumi_vertex_training.packaging.project import MARKERS
from pulumi_vertex_training.packaging.source_check import import_problems
from pulumi_vertex_training.packaging.wheels.plans import (
    NeedsBuildError,
    wheel_plan_folder,
    wheel_plan_project,
    wheel_plan_script,
)
from pulumi_vertex_training.packaging.wheels.writer import TAG
from vertex_training.findings.problems import Problem, errors, warnings

_SIGNATURES = {".whl": (b"PK\x03\x04", "a wheel"), ".tar.gz": (b"\x1f\x8b", "a gzip archive")}
_CLUSTER_FILE = re.compile(rf"extra_files: (.*/)?{CLUSTER}/")
_MOST_METADATA = 1 << 22
_REBUILD = "Build or download it again."


@dataclass(frozen=True, kw_only=True)
class BuiltPackage:
    """The metadata of a built package, as far as it could be read; only a wheel has `modules`."""

    name: str = ""
    version: str = ""
    requirements: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


def built_ending(path: Path) -> str | None:
    """Return the ending of a file that is a built package, or None for any other file."""
    return next((ending for ending in _SIGNATURES if path.name.endswith(ending)), None)


def inspect_built_package(path: Path, ending: str) -> tuple[BuiltPackage, list[Problem]]:
    """Return a file's metadata, and the reasons why pip would reject it or not install it on a replica.

    Sources: PyPA specifications of wheel and source distribution file names, and "Core metadata".
    """
    signature, what = _SIGNATURES[ending]
    try:
        with path.open("rb") as file:
            start = file.read(len(signature))
    except OSError as error:
        return BuiltPackage(), [*_named(path, ending)[1], unreadable("source", error)]
    (name, version), problems = _named(path, ending)
    if start != signature:
        message = f"{path.name} is not {what}: its first bytes differ. {_REBUILD}"
        return BuiltPackage(), [*problems, _about(message)]
    if problems and any(problem.level == "error" for problem in problems):
        return BuiltPackage(), problems
    try:
        metadata, modules = _of_wheel(path) if ending == ".whl" else (_of_sdist(path), ())
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, ValueError) as error:
        message = f"{path.name} cannot be read as {what}: {error}. {_REBUILD}"
        return BuiltPackage(), [*problems, _about(message)]
    fields = HeaderParser().parsestr(metadata)
    package = BuiltPackage(
        name=str(fields.get("Name", "")),
        version=str(fields.get("Version", "")),
        requirements=tuple(fields.get_all("Requires-Dist", [])),
        modules=modules,
    )
    if not same_name(package.name, name) or not _same_version(package.version, version):
        message = (
            f"{path.name} holds {package.name or 'no name'} {package.version or 'without a version'}, which "
            "differs from its file name; pip rejects that. Restore the name that its build gave the file."
        )
        problems.append(_about(message))
    return package, problems


def _named(path: Path, ending: str) -> tuple[tuple[str, str], list[Problem]]:
    """Return the name and version in the file's name, and its problems."""
    try:
        if ending == ".whl":
            name, version, _, tags = parse_wheel_filename(path.name)
            return (name, str(version)), list(_tag_problems(path, tags))
        name, version = parse_sdist_filename(path.name)
    except (InvalidWheelFilename, InvalidSdistFilename):
        form = "name-version-py3-none-any.whl" if ending == ".whl" else "name-version.tar.gz"
        message = f"{path.name!r} is not a file name that pip accepts. It has the form {form}."
        return ("", ""), [_about(message)]
    return (name, str(version)), []


def _tag_problems(path: Path, tags: frozenset[Tag]) -> Iterator[Problem]:
    platforms = sorted({tag.platform for tag in tags})
    if not any(name == "any" or "linux" in name for name in platforms):
        built_for = ", ".join(platforms)
        message = f"{path.name} is built for {built_for}; replicas run Linux. Build it for Linux."
        yield Problem(path="source", message=message, level="warning")
    interpreters = sorted({tag.interpreter for tag in tags})
    if not any(name.startswith(("py3", "cp3")) for name in interpreters):
        built_for = ", ".join(interpreters)
        message = f"{path.name} is built for {built_for}; replicas run CPython 3. Build it for CPython 3."
        yield Problem(path="source", message=message, level="warning")


def _of_wheel(path: Path) -> tuple[str, tuple[str, ...]]:
    """Return METADATA and the modules that can be run. Raises ValueError, BadZipFile."""
    with zipfile.ZipFile(path) as file:
        names = file.namelist()
        folders = [name for name in names if name.count("/") == 1 and name.endswith(".dist-info/METADATA")]
        if len(folders) != 1:
            raise ValueError("it has no *.dist-info/METADATA")
        record = folders[0].replace("/METADATA", "/RECORD")
        if record not in names:
            raise ValueError(f"it has no {record}")
        with file.open(folders[0]) as stream:
            text = _text(stream)
    return text, runnable(name for name in names if ".dist-info/" not in name and ".data/" not in name)


def _of_sdist(path: Path) -> str:
    """Return PKG-INFO of the top folder. Raises ValueError, TarError."""
    with tarfile.open(path, "r|gz") as file:
        for member in file:
            parts = member.name.removeprefix("./").split("/")
            if len(parts) == 2 and parts[1] == "PKG-INFO" and member.isfile():
                stream = file.extractfile(member)
                if stream is not None:
                    return _text(stream)
    raise ValueError("it has no PKG-INFO")


def _text(stream: IO[bytes]) -> str:
    content = stream.read(_MOST_METADATA + 1)
    if len(content) > _MOST_METADATA:
        raise ValueError("its metadata is too large")
    return content.decode("utf-8", "replace")


def _same_version(one: str, other: str) -> bool:
    try:
        return Version(one) == Version(other)
    except InvalidVersion:
        return False


def _about(message: str) -> Problem:
    return Problem(path="source", message=message)


Format = Literal["sdist", "wheel"]

_PLANNERS = {
    "sdist": {"script": plan_script, "folder": plan_folder, "project": plan_project},
    "wheel": {"script": wheel_plan_script, "folder": wheel_plan_folder, "project": wheel_plan_project},
}

DEFAULT_LIMIT: Final = 512 * 2**20
"""The most bytes of a package, unless the caller sets another limit."""


def build_package(
    source: Path,
    *,
    name: str | None = None,
    version: str | None = None,
    requirements: Sequence[str] = (),
    extra_files: Mapping[str, Path] = MappingProxyType({}),
    exclude: Sequence[str] = (),
    limit: int = DEFAULT_LIMIT,
    check_sources: bool = True,
    format: Format | None = None,  # noqa: A002  the name that it has in a program
    vertex_cluster: bool = False,
) -> Package:
    """Pack a training program so that pip can install it, without running any of it.

    `source` is one of these: a script (`task.py` becomes the module `trainer.task`, or `<name>.task`); a
    folder of modules, which becomes the package of the same name; a project with a pyproject.toml or
    setup.py, which is packed unchanged, since its build backend runs on the replica; or a finished `.whl` or
    `.tar.gz`.

    `requirements` are for scripts and folders. `extra_files` maps paths, relative to the folder with the
    top-level packages, to files or folders that are installed as well. `vertex_cluster` adds that package as
    it is installed here. `format` "wheel" packs the files that would be installed, so that replicas build
    nothing. It rejects a project that is not pure Python, or whose build cannot be derived from its files.
    Without `format`, such a project becomes an sdist, with a warning, and everything else a wheel. A finished
    package must have the given name and version. `exclude` has further patterns (`fnmatch`) of files to leave
    out; `limit` is in bytes. `check_sources` looks for syntax errors and for imports that break once
    packaged; without it, only the hash is computed, which is faster.

    The same files and arguments give the same bytes everywhere. Raises PackagingError with all problems.
    """
    request = Request(
        source=source,
        name=name,
        version=version,
        requirements=requirements,
        extra_files=extra_files,
        exclude=exclude,
        limit=limit,
        check_sources=check_sources,
    )
    try:
        kind = _kind(source)
        if kind == "built":
            return _built(request, vertex_cluster=vertex_cluster)
        if vertex_cluster:
            request = _with_cluster(request)
        return _planned(kind, request, format)
    except OSError as error:
        raise PackagingError([unreadable(str(error.filename or "source"), error)]) from error


def _kind(source: Path) -> Literal["script", "folder", "project", "built"]:
    if source.is_dir():
        is_project = (source / "pyproject.toml").exists() or (
            not (source / "__init__.py").exists() and any((source / marker).exists() for marker in MARKERS)
        )
        return "project" if is_project else "folder"
    if not source.exists():
        base = "" if source.is_absolute() else f" in {Path.cwd()}"
        raise PackagingError([_about_source(f"{source} does not exist{base}. Correct the path.")])
    if built_ending(source):
        return "built"
    if source.suffix == ".py":
        return "script"
    message = f"{source} is not a Python script, a folder, a .whl or a .tar.gz. Name one of these."
    raise PackagingError([_about_source(message)])


def _with_cluster(request: Request) -> Request:
    if any(path.partition("/")[0] == CLUSTER for path in request.extra_files):
        message = f"extra_files has {CLUSTER} already. Remove it there, or leave out this argument."
        raise PackagingError([Problem(path=CLUSTER, message=message)])
    return replace(request, extra_files={**request.extra_files, **cluster_files()})


def _missing_cluster(plan: Plan) -> list[Problem]:
    """Warn of imports of `vertex_cluster` in a package that lacks it: only the emulator would have it."""
    if any(CLUSTER in entry.path.split("/") for entry in plan.entries):
        return []
    if any(re.match(r"vertex[-_.]cluster\b", text.strip(), re.IGNORECASE) for text in plan.requirements):
        return []
    advice = "which is not in the package. Set vertex_cluster=True, unless another package of the job has it."
    return import_problems(plan.entries, siblings={CLUSTER}, advice=lambda _: advice)


def _without_repeats(problems: Sequence[Problem]) -> list[Problem]:
    """Return the problems with a single one for a source that has a `vertex_cluster` of its own."""
    repeated = [problem for problem in problems if _CLUSTER_FILE.match(problem.path)]
    if not repeated:
        return [*problems]
    message = "the source has a package of this name already. Remove it there, or leave out this argument."
    others = [problem for problem in problems if problem not in repeated]
    return [*others, Problem(path=CLUSTER, message=message)]


def _planned(kind: Literal["script", "folder", "project"], request: Request, form: Format | None) -> Package:
    if form == "sdist":
        return _pack(kind, _PLANNERS["sdist"][kind](request), request, "sdist")
    try:
        plan = _PLANNERS["wheel"][kind](request)
    except NeedsBuildError as error:
        if form == "wheel":
            raise PackagingError([*error.problems, error.refusal()]) from None
        plan = _PLANNERS["sdist"][kind](request)
        return _pack(kind, replace(plan, problems=(*plan.problems, error.notice())), request, "sdist")
    return _pack(kind, plan, request, "wheel")


def _pack(
    kind: Literal["script", "folder", "project"], plan: Plan, request: Request, form: Format
) -> Package:
    problems = list(plan.problems)
    problems += collisions(entry.path for entry in plan.entries)
    if archive_size(plan.entries) > request.limit:
        problems.append(too_large(plan.entries, request.limit))
    if errors(problems):
        raise PackagingError(_without_repeats(problems))
    if request.check_sources:
        problems += _missing_cluster(plan)
    ending = ".tar.gz" if form == "sdist" else f"-{TAG}.whl"
    file_name = f"{naming.archive_stem(plan.name, plan.version)}{ending}"
    sha256, size = measure(plan.entries, file_name)
    return Package(
        kind=kind,
        file_name=file_name,
        sha256=sha256,
        size=size,
        python_module=plan.python_module,
        python_modules=plan.python_modules,
        requirements=plan.requirements,
        left_out=plan.left_out,
        problems=warnings(problems),
        content=plan.entries,
    )


def _built(request: Request, *, vertex_cluster: bool) -> Package:
    source = request.source
    package, problems = inspect_built_package(source, built_ending(source) or "")
    if not errors(problems):
        problems += _mismatches(request, package)
    given = {
        "requirements": request.requirements,
        "extra_files": request.extra_files,
        CLUSTER: vertex_cluster,
    }
    for argument, value in given.items():
        if value:
            message = f"cannot be applied to {source.name}, which is used unchanged. Leave it out."
            problems.append(Problem(path=argument, message=message))
    size = source.stat().st_size
    if size > request.limit:
        message = f"{source.name} has {size} bytes, more than the limit of {request.limit}. Raise the limit."
        problems.append(_about_source(message))
    if errors(problems):
        raise PackagingError(problems)
    sha256, size = measure(source, source.name)
    return Package(
        kind="built",
        file_name=source.name,
        sha256=sha256,
        size=size,
        python_module=entry_module(package.modules),
        python_modules=package.modules,
        requirements=package.requirements,
        problems=warnings(problems),
        content=source,
    )


def _mismatches(request: Request, found: BuiltPackage) -> list[Problem]:
    """Report a finished package whose name or version differs from the given one."""
    problems = []
    if request.name and not naming.same_name(request.name, found.name):
        message = (
            f"{request.name!r} differs from the name in {request.source.name}, {found.name!r}. Leave it out."
        )
        problems.append(Problem(path="name", message=message))
    if request.version:
        bad = naming.version_problems(request.version)
        if not bad and naming.archive_stem("x", request.version) != naming.archive_stem("x", found.version):
            message = (
                f"{request.version!r} differs from the version in {request.source.name}, {found.version!r}. "
                "Leave it out."
            )
            bad = [Problem(path="version", message=message)]
        problems += bad
    return problems


def _about_source(message: str) -> Problem:
    return Problem(path="source", message=message)
