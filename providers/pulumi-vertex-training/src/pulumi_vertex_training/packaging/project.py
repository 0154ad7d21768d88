"""Read the metadata of a Python project from pyproject.toml, setup.cfg and setup.py, without running it."""

from __future__ import annotations

import configparser
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.packaging import naming
from pulumi_vertex_training.packaging.archive import Entry, read
from pulumi_vertex_training.packaging.project_files import (
    SetupCall,
    assigned_text,
    read_toml,
    setup_call,
    texts,
)
from vertex_training.fields.document import nested
from vertex_training.findings.problems import Problem

MARKERS = ("pyproject.toml", "setup.py", "setup.cfg")
"""Any of these files makes a folder a project."""


@dataclass(frozen=True, kw_only=True)
class Project:
    """The declarations of a project that packing needs; `files` is by path.

    `name` and `version` are None if not declared. `requirements` are the run-time dependencies, or None if
    only a build determines them. If `has_setup_py` is set without `setup_py`, its setup() call cannot be
    read.
    """

    files: Mapping[str, Entry]
    pyproject: Mapping[str, Any]
    setup_cfg: Mapping[str, Mapping[str, str]]
    setup_py: SetupCall | None
    has_setup_py: bool

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The [project] table."""
        return nested(self.pyproject, "project")

    @property
    def backend(self) -> str:
        """The build backend's import path; setuptools by default, as PEP 517 has it."""
        named = nested(self.pyproject, "build-system").get("build-backend")
        return named if isinstance(named, str) else "setuptools.build_meta:__legacy__"

    @property
    def build_requires(self) -> tuple[str, ...]:
        """The declared requirements of the build; setuptools by default, as PEP 518 has it."""
        try:
            return texts(nested(self.pyproject, "build-system")["requires"])
        except (KeyError, ValueError):
            return ("setuptools>=40.8.0",)

    @property
    def uses_setuptools(self) -> bool:
        """True if setuptools builds the project."""
        return self.backend.partition(":")[0] == "setuptools.build_meta"

    @property
    def name(self) -> str | None:
        """The declared name of the distribution."""
        return _text(
            self.metadata.get("name"),
            nested(self.pyproject, "tool", "poetry").get("name"),
            self.setup_cfg.get("metadata", {}).get("name"),
            self.setup_py.values.get("name") if self.setup_py else None,
        )

    @property
    def version(self) -> str | None:
        """The declared version, or the one in a file that the backend would read."""
        stated = _text(
            self.metadata.get("version"),
            nested(self.pyproject, "tool", "poetry").get("version"),
            self._from_setuptools(nested(self.pyproject, "tool", "setuptools", "dynamic").get("version")),
            self._from_hatch(nested(self.pyproject, "tool", "hatch", "version")),
            self._from_flit() if self.backend.startswith("flit_core") else None,
        )
        if stated is not None:
            return stated
        in_cfg = self.setup_cfg.get("metadata", {}).get("version", "")
        kind, colon, value = in_cfg.partition(":")
        if colon:
            in_cfg = self._from_setuptools({kind.strip(): value.strip()}) or ""
        in_script = self.setup_py.values.get("version") if self.setup_py else None
        return _text(in_cfg or None, in_script, self._from_pkg_info())

    @property
    def requirements(self) -> tuple[str, ...] | None:
        """The run-time dependencies without extras; None if only a build determines them."""
        try:
            if self.metadata:
                if "dependencies" in self.metadata.get("dynamic", ()):
                    return self._listed_in_files()
                return texts(self.metadata.get("dependencies", []))
            if self.setup_py and "install_requires" in self.setup_py.values:
                return texts(self.setup_py.values["install_requires"])
        except ValueError:
            return None
        return None

    def _listed_in_files(self) -> tuple[str, ...] | None:
        """Return the dependencies of `{file = ["requirements.txt"]}`, or None if there is another source."""
        if not self.uses_setuptools:
            return None
        value = nested(self.pyproject, "tool", "setuptools", "dynamic").get("dependencies")
        named = value.get("file") if isinstance(value, Mapping) else None
        names = [named] if isinstance(named, str) else named
        if not isinstance(names, list) or not all(name in self.files for name in names):
            return None
        lines = [
            line.strip()
            for name in names
            for line in read(self.files[name]).decode("utf-8", "replace").splitlines()
        ]
        requirements = tuple(line for line in lines if line and not line.startswith("#"))
        # Anything else, such as an option or a comment behind a requirement, is left to the build.
        return (
            requirements
            if not any(naming.requirement_problems(line, path="") for line in requirements)
            else None
        )

    def _from_setuptools(self, value: object) -> str | None:
        """Return the version of `{attr = "package.__version__"}` or `{file = "VERSION"}`."""
        if not isinstance(value, Mapping):
            return None
        if isinstance(attribute := value.get("attr"), str):
            module, _, name = attribute.rpartition(".")
            path = module.replace(".", "/")
            return self._assigned((f"{path}.py", f"{path}/__init__.py"), (name,))
        file = value.get("file")
        file = file[0] if isinstance(file, list) and len(file) == 1 else file
        if isinstance(file, str) and file in self.files:
            return read(self.files[file]).decode("utf-8", "replace").strip()
        return None

    def _from_hatch(self, value: Mapping[str, Any]) -> str | None:
        if value.get("source", "regex") != "regex" or "pattern" in value:
            return None
        path = value.get("path")
        names = ("__version__", "VERSION")
        return self._assigned((path,), names, roots=("",)) if isinstance(path, str) else None

    def _from_flit(self) -> str | None:
        module = nested(self.pyproject, "tool", "flit", "module").get("name") or self.metadata.get("name")
        if not isinstance(module, str):
            return None
        path = module.replace("-", "_").replace(".", "/")
        return self._assigned((f"{path}/__init__.py", f"{path}.py"), ("__version__",))

    def _from_pkg_info(self) -> str | None:
        """Return the version in the metadata of an unpacked source distribution."""
        if "PKG-INFO" not in self.files:
            return None
        lines = read(self.files["PKG-INFO"]).decode("utf-8", "replace").partition("\n\n")[0].splitlines()
        return next((line[8:].strip() for line in lines if line.startswith("Version:")), None)

    def _assigned(
        self, paths: Sequence[str], names: Sequence[str], *, roots: Sequence[str] | None = None
    ) -> str | None:
        if roots is None:
            package_dir = nested(self.pyproject, "tool", "setuptools", "package-dir").get("", "")
            roots = [f"{package_dir}/" if package_dir else "", "src/", ""]
        for root in roots:
            for path in paths:
                if root + path in self.files:
                    return assigned_text(read(self.files[root + path]), names)
        return None


def read_project(files: Mapping[str, Entry]) -> tuple[Project, list[Problem]]:
    """Return the project with these files, and the files that cannot be read."""
    problems: list[Problem] = []
    pyproject: Mapping[str, Any] = {}
    setup_cfg: dict[str, dict[str, str]] = {}
    if entry := files.get("pyproject.toml"):
        try:
            pyproject = read_toml(read(entry).decode())
        except ValueError as error:
            message = f"is not valid TOML: {error}. Correct it."
            problems.append(Problem(path="pyproject.toml", message=message))
    if entry := files.get("setup.cfg"):
        parser = configparser.RawConfigParser()
        try:
            parser.read_string(read(entry).decode())
        except (configparser.Error, ValueError) as error:
            reason = str(error).partition("\n")[0]
            problems.append(Problem(path="setup.cfg", message=f"cannot be read: {reason}. Correct it."))
        else:
            setup_cfg = {section: dict(parser[section]) for section in parser.sections()}
    script = files.get("setup.py")
    project = Project(
        files=files,
        pyproject=pyproject,
        setup_cfg=setup_cfg,
        setup_py=setup_call(read(script)) if script else None,
        has_setup_py=script is not None,
    )
    return project, problems


def statement_problems(project: Project) -> list[Problem]:
    """Report declarations that fail every build, or that change their meaning once packed."""
    problems: list[Problem] = []
    for index, text in enumerate(strings(project.metadata.get("dependencies"))):
        path = f"pyproject.toml: project.dependencies[{index}]"
        problems += naming.requirement_problems(text, path=path)
    readme = project.metadata.get("readme")
    named = readme.get("file") if isinstance(readme, Mapping) else readme
    if isinstance(named, str) and named not in project.files:
        message = f"names the file {named!r}, which is not in the package. Add it, or remove the line."
        problems.append(Problem(path="pyproject.toml: project.readme", message=message))
    requires = strings(nested(project.pyproject, "build-system").get("requires"))
    if any(re.match(r"setuptools[-_.](scm|git)", text, re.IGNORECASE) for text in requires):
        message = (
            "setuptools finds the project's data files by version control, which an archive does not have. "
            "List the required ones in [tool.setuptools.package-data] or MANIFEST.in."
        )
        problems.append(
            Problem(path="pyproject.toml: build-system.requires", message=message, level="warning")
        )
    return problems


def identity(project: Project, *, name: str | None, version: str | None) -> tuple[str, str, list[Problem]]:
    """Return the name and version to pack under, from the project and the caller, and their problems.

    The two must agree, or the archive's file name and metadata would contradict the installed package.
    """
    problems: list[Problem] = []
    stated_name, stated_version = project.name, project.version
    if stated_name is None and name is None:
        problems.append(Problem(path="name", message=_no_name(project)))
    elif stated_name and name and not naming.same_name(stated_name, name):
        message = f"{name!r} differs from the project's name, {stated_name!r}. Leave it out."
        problems.append(Problem(path="name", message=message))
    else:
        problems += naming.distribution_problems(stated_name or name or "")
    if stated_version is None and version is None:
        problems.append(Problem(path="version", message=_no_version(project)))
    elif bad := naming.version_problems(stated_version or version or ""):
        problems += bad
    elif stated_version and version and not naming.version_problems(version):
        if naming.archive_stem("x", version) != naming.archive_stem("x", stated_version):
            message = f"{version!r} differs from the project's version, {stated_version!r}. Leave it out."
            problems.append(Problem(path="version", message=message))
    elif version:
        problems += naming.version_problems(version)
    return stated_name or name or "", stated_version or version or "", problems


def _no_name(project: Project) -> str:
    if "pyproject.toml" in project.files:
        return "pyproject.toml has no project name. Add `name` to its [project] table, or set name."
    return "the project's name cannot be read without running its setup.py. Set name."


def _no_version(project: Project) -> str:
    if "version" in project.metadata.get("dynamic", ()):
        return (
            f"the project gets its version from its build backend ({project.backend.partition(':')[0]}), "
            "but packing does not run a build. Set version, here or in pyproject.toml."
        )
    if project.metadata or not project.has_setup_py:
        return "the project has no version. Add `version` to the [project] table of pyproject.toml."
    return "the project's version cannot be read without running its setup.py. Set version."


def strings(value: object) -> list[str]:
    """Return the texts of a list, or nothing if the value is no list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _text(*values: object) -> str | None:
    return next((value for value in values if isinstance(value, str)), None)
