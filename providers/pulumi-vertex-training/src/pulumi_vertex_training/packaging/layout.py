"""Find out where a project keeps its packages, and how its build backend finds them.

The rules for setuptools are from its documentation, "Package Discovery and Namespace Packages".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

from pulumi_vertex_training.packaging.project import Project, strings
from pulumi_vertex_training.packaging.project_files import FindCall, texts
from vertex_training.fields.document import nested
from vertex_training.findings.problems import Problem

_PACKAGES_NOT_FOUND = re.compile(
    r"ci|bin|debian|doc|docs|documentation|manpages|news|newsfragments|changelog|test|tests|unit_test|"
    r"unit_tests|example|examples|scripts|tools|util|utils|python|build|dist|venv|env|requirements|"
    r"tasks|fabfile|site_scons|benchmark|benchmarks|exercise|exercises|htmlcov|_.*"
)
_MODULES_NOT_FOUND = re.compile(
    r"setup|conftest|test|tests|example|examples|build|toxfile|noxfile|pavement|dodo|tasks|fabfile|"
    r"[Ss][Cc]onstruct|conanfile|manage|benchmark|benchmarks|exercise|"
    r"exercises|_.*"
)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The layout of a project; `root` is the folder with the top-level packages, "" or with slashes ("src").

    `discovery` is how the backend finds them: everything in `root` ("all"); the one package or module of a
    flat layout ("single"); the packages that `find` matches ("find"); a list ("listed"); or "unknown".
    `stated_in` is the file that declares it. `top_level` are the names that are installed, or the likely ones
    if that is unknown.
    """

    root: str
    discovery: Literal["all", "single", "find", "listed", "unknown"]
    stated_in: str = ""
    find: FindCall | None = None
    top_level: frozenset[str] = frozenset()


def find_layout(project: Project) -> tuple[Layout, list[Problem]]:
    """Return the layout of a project, and problems that no build would accept."""
    if not project.uses_setuptools:
        root = "src" if _has_folder(project.files, "src") else ""
        return Layout(root=root, discovery="unknown", top_level=_likely(project.files, root)), []
    stated = _stated(project)
    if stated is not None:
        return stated, []
    explicit = _package_dir(project)
    if set(explicit) - {""}:
        root = _folder(explicit.get("", "."))
        return Layout(root=root, discovery="unknown", top_level=_likely(project.files, root)), []
    root = _folder(explicit.get("", "src"))
    if root and _has_folder(project.files, root):
        return Layout(root=root, discovery="all", top_level=_importable(project.files, root)), []
    return _flat(project)


def includes(find: FindCall, package: str) -> bool:
    """Return whether a `find` directive includes a package of this dotted name."""
    return any(fnmatchcase(package, pattern) for pattern in find.include) and not excludes(find, package)


def excludes(find: FindCall, package: str) -> bool:
    """Return whether a `find` directive excludes a package of this dotted name."""
    return any(fnmatchcase(package, pattern) for pattern in find.exclude)


def flat_names(paths: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the top-level packages and modules that setuptools finds automatically in a flat layout."""
    folders = {path.partition("/")[0] for path in paths if "/" in path}
    stems = {path.removesuffix(".py") for path in paths if "/" not in path and path.endswith(".py")}
    packages = [
        name for name in folders if name.isidentifier() and _PACKAGES_NOT_FOUND.fullmatch(name) is None
    ]
    modules = [name for name in stems if name.isidentifier() and _MODULES_NOT_FOUND.fullmatch(name) is None]
    return sorted(packages), sorted(modules)


def setuptools_table(project: Project) -> Mapping[str, Any]:
    """Return the [tool.setuptools] table."""
    return nested(project.pyproject, "tool", "setuptools")


def _stated(project: Project) -> Layout | None:
    """Return the layout if a file declares packages: pyproject.toml first, then setup.cfg, then setup.py."""
    from_toml = setuptools_table(project)
    if "packages" in from_toml or "py-modules" in from_toml:
        packages, modules = from_toml.get("packages"), _names(from_toml.get("py-modules"))
        if isinstance(packages, Mapping):
            options = nested(packages, "find")
            find = _find_from_toml(options)
            return _with_find(project, find, "pyproject.toml", modules)
        return _listed(project, "pyproject.toml", _names(packages), modules)
    options_cfg = project.setup_cfg.get("options", {})
    if stated := options_cfg.get("packages", "").strip():
        if stated in ("find:", "find_namespace:"):
            options = project.setup_cfg.get("options.packages.find", {})
            find = FindCall(
                where=options.get("where", "."),
                include=_words(options.get("include")) or ("*",),
                exclude=_words(options.get("exclude")),
                namespaces=stated == "find_namespace:",
            )
            return _with_find(project, find, "setup.cfg", frozenset())
        return _listed(project, "setup.cfg", frozenset(_words(stated)), frozenset())
    if project.has_setup_py:
        script = project.setup_py
        if script is None or script.unread & {"packages", "py_modules", "package_dir"}:
            root = "src" if _has_folder(project.files, "src") else ""
            top_level = _likely(project.files, root)
            return Layout(root=root, discovery="unknown", stated_in="setup.py", top_level=top_level)
        if "packages" in script.values or "py_modules" in script.values:
            stated_packages, modules = script.values.get("packages"), _names(script.values.get("py_modules"))
            if isinstance(stated_packages, FindCall):
                return _with_find(project, stated_packages, "setup.py", modules)
            return _listed(project, "setup.py", _names(stated_packages), modules)
    return None


def _find_from_toml(options: Mapping[str, Any]) -> FindCall:
    where = options.get("where", ["."])
    where = where[0] if isinstance(where, list) and where else where
    return FindCall(
        where=where if isinstance(where, str) else ".",
        include=tuple(strings(options.get("include"))) or ("*",),
        exclude=tuple(strings(options.get("exclude"))),
        namespaces=options.get("namespaces") is not False,
    )


def _with_find(project: Project, find: FindCall, stated_in: str, modules: frozenset[str]) -> Layout:
    root = _folder(find.where)
    packages = frozenset(
        name for name in _importable(project.files, root, modules=False) if includes(find, name)
    )
    return Layout(root=root, discovery="find", stated_in=stated_in, find=find, top_level=packages | modules)


def _listed(project: Project, stated_in: str, packages: frozenset[str], modules: frozenset[str]) -> Layout:
    top_level = frozenset(name.partition(".")[0] for name in packages) | modules
    root = _folder(_package_dir(project).get("", "."))
    return Layout(root=root, discovery="listed", stated_in=stated_in, top_level=top_level)


def _flat(project: Project) -> tuple[Layout, list[Problem]]:
    packages, modules = flat_names(project.files)
    names, option = (packages, "packages") if packages else (modules, "py-modules")
    layout = Layout(root="", discovery="single", top_level=frozenset(names))
    if len(names) == 1:
        return layout, []
    if not names:
        message = (
            "the project has no package that its build would find. Move the code to a folder with "
            "`__init__.py`, or to `src/`."
        )
        return layout, [Problem(path="source", message=message)]
    message = (
        f"the project has more than one top-level folder or module ({', '.join(names)}), and setuptools then "
        f"refuses to guess. List those to install in pyproject.toml ([tool.setuptools] {option} = [...]), "
        "move them into src/, or leave the others out with exclude."
    )
    return layout, [Problem(path="source", message=message)]


def _package_dir(project: Project) -> Mapping[str, str]:
    from_toml = setuptools_table(project).get("package-dir")
    if isinstance(from_toml, Mapping):
        return from_toml
    lines = project.setup_cfg.get("options", {}).get("package_dir", "").splitlines()
    from_cfg = {
        key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines) if value
    }
    if from_cfg:
        return from_cfg
    from_script = project.setup_py.values.get("package_dir") if project.setup_py else None
    return from_script if isinstance(from_script, Mapping) else {}


def _likely(paths: Collection[str], root: str) -> frozenset[str]:
    """Return the names that are probably installed, if no readable file declares them."""
    if root:
        return _importable(paths, root)
    packages, modules = flat_names(paths)
    return frozenset(packages) & _importable(paths, "") or frozenset(modules)


def _importable(paths: Collection[str], root: str, *, modules: bool = True) -> frozenset[str]:
    """Return the names below `root` that contain Python code."""
    prefix = f"{root}/" if root else ""
    below = [path[len(prefix) :] for path in paths if path.startswith(prefix) and path.endswith(".py")]
    names = {path.partition("/")[0] for path in below if "/" in path}
    if modules:
        names |= {path.removesuffix(".py") for path in below if "/" not in path}
    return frozenset(names)


def _has_folder(paths: Collection[str], folder: str) -> bool:
    return any(path.startswith(f"{folder}/") for path in paths)


def _folder(path: str) -> str:
    cleaned = path.strip().strip("/").removeprefix("./")
    return "" if cleaned == "." else cleaned


def _names(value: object) -> frozenset[str]:
    try:
        return frozenset(texts(value))
    except ValueError:
        return frozenset()


def _words(text: str | None) -> tuple[str, ...]:
    return tuple((text or "").replace(",", " ").split())
