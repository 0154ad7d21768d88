"""The requirements of a job's packages, and whether packages of the emulator's Python meet them."""

from __future__ import annotations

import email.parser
import json
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from vertex_emulator.replicas.preparation.interpreters import Interpreter
from vertex_emulator.replicas.preparation.packages.pip import InstallError


@dataclass(frozen=True, kw_only=True)
class WheelMetadata:
    """The name, version and requirements of a wheel. `requires_python` is "" if it does not say."""

    name: str
    version: str
    requires: tuple[str, ...]
    requires_python: str = ""


def read_wheel(path: Path) -> WheelMetadata:
    """Read the metadata of a wheel. Raises `ValueError` if it has none."""
    with zipfile.ZipFile(path) as wheel:
        names = [name for name in wheel.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)]
        if len(names) != 1:
            raise ValueError("it has no METADATA")
        message = email.parser.Parser().parsestr(wheel.read(names[0]).decode("utf-8", "replace"))
    return WheelMetadata(
        name=canonicalize_name(message.get("Name", "")),
        version=message.get("Version", ""),
        requires=tuple(message.get_all("Requires-Dist", [])),
        requires_python=message.get("Requires-Python", ""),
    )


def requirements_of(wheels: Sequence[WheelMetadata], interpreter: Interpreter) -> list[str]:
    """Return what the packages of a job require besides each other, on an interpreter, without markers.

    Raises InstallError if one of the packages does not meet the requirement of another.
    """
    ours = {wheel.name: wheel for wheel in wheels}
    requirements: dict[str, None] = {}
    pending = [(wheel, "") for wheel in wheels]
    done: set[tuple[str, str]] = set()
    while pending:
        wheel, extra = pending.pop()
        if (wheel.name, extra) in done:
            continue
        done.add((wheel.name, extra))
        for requirement in _applying(wheel.requires, extra, _markers(interpreter)):
            present = ours.get(canonicalize_name(requirement.name))
            if present is None:
                requirements[str(requirement)] = None
                continue
            if not requirement.specifier.contains(present.version, prereleases=True):
                raise InstallError(
                    f"The package {wheel.name} requires {requirement}, but package_uris has {present.name} "
                    f"{present.version}. Stage a version that meets the requirement."
                )
            pending += [(present, each) for each in requirement.extras]
    return sorted(requirements)


def missing(site: Path, requirements: Iterable[str]) -> list[str]:
    """Return the requirements that a folder of packages does not meet. Their own are not checked."""
    unmet = []
    for text in requirements:
        requirement = Requirement(text)
        present = _present(requirement, [site])
        if present is None:
            unmet.append(text)
    return unmet


def met_by(requirements: Iterable[str], packages: Sequence[Path]) -> list[Distribution] | None:
    """Return the distributions that meet requirements and, in turn, their own; None unless all are there.

    Distributions whose files are elsewhere, such as editable ones, do not count.
    """
    by_name: dict[str, Distribution] = {}
    pending = [Requirement(text) for text in requirements]
    done: set[str] = set()
    while pending:
        requirement = pending.pop()
        if str(requirement) in done:
            continue
        done.add(str(requirement))
        name = canonicalize_name(requirement.name)
        present = by_name.get(name) or _present(requirement, packages)
        if present is None or not _is_complete(present) or requirement.url:
            return None
        if not requirement.specifier.contains(present.version, prereleases=True):
            return None
        by_name[name] = present
        for extra in ("", *requirement.extras):
            pending += _applying(present.requires or (), extra, {})
    return [by_name[name] for name in sorted(by_name)]


def _present(requirement: Requirement, packages: Sequence[Path]) -> Distribution | None:
    """Return the first distribution with the name and a fitting version, or None."""
    for present in distributions(name=requirement.name, path=[str(each) for each in packages]):
        if requirement.url or requirement.specifier.contains(present.version, prereleases=True):
            return present
    return None


def _is_complete(distribution: Distribution) -> bool:
    """Return whether the files of a distribution are known and in its own folder of packages."""
    source = json.loads(distribution.read_text("direct_url.json") or "{}")
    return not source.get("dir_info", {}).get("editable") and bool(distribution.files)


def _applying(requires: Iterable[str], extra: str, markers: Mapping[str, str]) -> list[Requirement]:
    """Return the requirements whose markers hold for an extra, without their markers."""
    applying = []
    for text in requires:
        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            raise InstallError(f"A requirement of the packages cannot be read: {error}.") from None
        if requirement.marker is None:
            if extra:
                continue
        elif not requirement.marker.evaluate({**markers, "extra": extra}) or (
            extra and requirement.marker.evaluate({**markers, "extra": ""})
        ):
            continue
        requirement.marker = None
        applying.append(requirement)
    return applying


def _markers(interpreter: Interpreter) -> dict[str, str]:
    return {
        "python_version": interpreter.minor,
        "python_full_version": interpreter.version,
        "implementation_version": interpreter.version,
    }
