"""Packages of Google's training images, taken from the Python that runs the emulator.

A stand-in has no packages of its own. Instead of a Google image's, its replicas see the distributions of
`packages_of_image`, with their requirements, as far as the emulator's Python has them. They see no other
package of that Python: a program that needs one would fail on Google Cloud.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from vertex_emulator.kernel.disk.trees import remove_tree
from vertex_emulator.replicas.preparation.packages import cache
from vertex_training.catalog.image_packages import packages_of_image

if TYPE_CHECKING:  # loaded where it is needed: every job starts a process that imports this module
    from packaging.requirements import Requirement

_FOLDER = ".packages"
PACKAGES, PROGRAMS = "packages", "bin"
"""Names of the folders of packages and programs in a folder of `shared_folder`."""


def shared_folder(stand_in: str, packages: Sequence[Path], images: Path) -> Path | None:
    """Return the folder in `images` with the distributions of an image, or None without any.

    `packages` are the folders that have them. All jobs share the folder, which takes some kilobytes. Raises
    `OSError`.
    """
    files = content(stand_in, packages)
    if not files.links:
        return None
    entry = images / _FOLDER / files.key
    if not (entry / cache.MARKER).is_file():
        entry.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with cache.locked(entry):
            if not (entry / cache.MARKER).is_file():
                _fill(entry, files)
    return entry


def _fill(entry: Path, found: Content) -> None:
    remove_tree(entry)
    site, programs = entry / PACKAGES, entry / PROGRAMS
    for folder in (entry, site, programs, *(site / each for each in found.folders)):
        folder.mkdir()
        folder.chmod(0o755)  # replicas may be another user
    for below, source in found.links:
        (site / below).symlink_to(source)
    for name, script in found.programs:
        (programs / name).write_bytes(script)
        (programs / name).chmod(0o755)
    cache.finish(entry, {})


@dataclass(frozen=True, kw_only=True)
class Content:
    """The content of an image's packages.

    `links` are paths below a folder of packages, and where they lead; `folders` are those that the links
    need, parents first. `programs` are scripts by their names.
    """

    folders: tuple[str, ...]
    links: tuple[tuple[str, Path], ...]
    programs: tuple[tuple[str, bytes], ...]

    @functools.cached_property
    def key(self) -> str:
        """A name for equal contents."""
        return hashlib.sha256(repr((self.folders, self.links, self.programs)).encode()).hexdigest()[:32]


def content(stand_in: str, packages: Sequence[Path]) -> Content:
    """Return the content of an image's packages, from a cache until an installation changes their folders.

    Raises `OSError`.
    """
    return _content(stand_in, *state_of(packages))


def state_of(packages: Sequence[Path]) -> tuple[tuple[Path, ...], tuple[int, ...]]:
    """Return the folders of packages that exist, and the times of their last changes."""
    present = tuple(each for each in packages if each.is_dir())
    return present, tuple(each.stat().st_mtime_ns for each in present)


@functools.lru_cache(maxsize=16)
def _content(stand_in: str, packages: tuple[Path, ...], _changed: tuple[int, ...]) -> Content:
    links: dict[str, Path] = {}
    programs: dict[str, bytes] = {}
    for one in installed(packages_of_image(stand_in), packages):
        site = Path(str(one.locate_file("")))
        for path in _own_paths(one, site):
            links.setdefault(path, site / path)
        for script in _scripts(one, site):
            programs[script.name] = with_python_of_path(script.read_bytes())
    merged = _merged(links)
    folders = {str(each) for path in merged for each in PurePosixPath(path).parents} - {"."}
    return Content(
        folders=tuple(sorted(folders)),
        links=tuple(sorted(merged.items())),
        programs=tuple(sorted(programs.items())),
    )


_SHEBANG = re.compile(
    rb"""#!.*/bin/python[0-9.]*\r?\n|#!/bin/sh\n'''exec' "?.*/bin/python[0-9.]*"? "\$0" "\$@"\n' '''\n"""
)
"""The first line of a program, or the lines that pip writes for a Python whose path is long or has spaces."""


def with_python_of_path(script: bytes) -> bytes:
    """Let a script run with the Python in PATH: the replica's also sees the job's own packages."""
    match = _SHEBANG.match(script)
    return script if match is None else b"#!/usr/bin/env python3\n" + script[match.end() :]


def installed(names: Iterable[str], packages: Sequence[Path]) -> list[Distribution]:
    """Return the distributions with these names and, in turn, those that they require, as far as present.

    Distributions whose files are elsewhere, such as editable ones, do not count.
    """
    present: dict[str, Distribution] = {}
    for one in distributions(path=[str(each) for each in packages]):
        present.setdefault(_name(one), one)
    by_name: dict[str, Distribution] = {}
    pending = [(_canonical(name), "") for name in names]
    done: set[tuple[str, str]] = set()
    while pending:
        name, extra = pending.pop()
        distribution = present.get(name)
        if distribution is None or (name, extra) in done:
            continue
        done.add((name, extra))
        if name not in by_name and not _record(distribution):
            continue
        by_name[name] = distribution
        for requirement in _requirements(distribution, extra):
            pending += [(_canonical(requirement.name), each) for each in ("", *requirement.extras)]
    return [by_name[name] for name in sorted(by_name)]


def _name(distribution: Distribution) -> str:
    """Return the canonical name of a distribution by its folder, if it has one.

    That is much quicker than to read the metadata of all distributions.
    """
    folder = getattr(distribution, "_path", None)
    stem = folder.name.partition("-")[0] if isinstance(folder, Path) else ""
    return _canonical(stem or str(distribution.metadata["Name"]))


def _canonical(name: str) -> str:
    """Return the normal form of a distribution's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _requirements(distribution: Distribution, extra: str) -> Iterator[Requirement]:
    """Yield the requirements whose markers hold for an extra."""
    from packaging.requirements import InvalidRequirement, Requirement

    headers, _, _ = (distribution.read_text("METADATA") or "").partition("\n\n")
    for line in headers.splitlines():
        name, _, text = line.partition(":")
        if name != "Requires-Dist":
            continue
        try:
            requirement = Requirement(text.strip())
        except InvalidRequirement:
            continue
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            yield requirement


def _record(distribution: Distribution) -> list[str]:
    """Return the paths of a distribution's files from its folder of packages; none of an editable one."""
    lines = (distribution.read_text("RECORD") or "").splitlines()
    paths = [line.rsplit(",", 2)[0].strip('"') for line in lines]
    return [] if any(path.startswith("__editable__") for path in paths) else paths


def _scripts(distribution: Distribution, site: Path) -> Iterator[Path]:
    for path in _record(distribution):
        if path.startswith("../") and path.split("/")[-2] == "bin" and (site / path).is_file():
            yield site / path


def _own_paths(distribution: Distribution, site: Path) -> Iterator[str]:
    """Yield files and whole packages of a distribution, but no folder that others may share."""
    whole: dict[str, bool] = {}
    given: set[str] = set()
    for path in _record(distribution):
        if not path or path.startswith(("..", "/")):
            continue
        parts = path.split("/")
        for count in range(1, len(parts)):
            folder = "/".join(parts[:count])
            if folder not in whole:
                whole[folder] = folder.endswith(".dist-info") or (site / folder / "__init__.py").is_file()
            if whole[folder]:
                path = folder
                break
        if path not in given and not path.endswith(".pth") and (site / path).exists():
            given.add(path)
            yield path


def _merged(links: dict[str, Path]) -> dict[str, Path]:
    """Replace the links of a folder by one if they show all that the folder has."""
    merged = dict(links)
    folders = {path.rpartition("/")[0] for path in links} - {""}
    for folder in sorted(folders, key=lambda each: -each.count("/")):
        below = {path: to for path, to in merged.items() if path.rpartition("/")[0] == folder}
        sources = {to.parent for to in below.values()}
        if len(sources) != 1:
            continue
        (source,) = sources
        present = {each.name for each in source.iterdir()} - {"__pycache__"}
        if present <= {to.name for to in below.values()}:
            merged = {path: to for path, to in merged.items() if path not in below} | {folder: source}
    return merged
