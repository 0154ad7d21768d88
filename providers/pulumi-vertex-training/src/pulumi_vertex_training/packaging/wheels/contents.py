"""Determine the files of a project that its build backend would install, without running it.

The rules of setuptools are from its documentation, "Package Discovery" and "Data Files Support"; of
hatchling, "Wheel builder", default file selection; of flit_core, "The pyproject.toml config file"; of uv,
"The uv build backend"; of poetry-core, "The pyproject.toml file". Anything that these leave to a build is
rejected.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from pulumi_vertex_training.packaging import naming
from pulumi_vertex_training.packaging.archive import Entry
from pulumi_vertex_training.packaging.layout import Layout, includes, setuptools_table
from pulumi_vertex_training.packaging.project import Project
from pulumi_vertex_training.packaging.project_files import texts
from vertex_training.fields.document import nested

_SETUP_PY = frozenset(
    {
        "author",
        "author_email",
        "classifiers",
        "description",
        "download_url",
        "entry_points",
        "exclude_package_data",
        "extras_require",
        "include_package_data",
        "install_requires",
        "keywords",
        "license",
        "license_files",
        "long_description",
        "long_description_content_type",
        "maintainer",
        "maintainer_email",
        "name",
        "package_data",
        "package_dir",
        "packages",
        "platforms",
        "project_urls",
        "py_modules",
        "python_requires",
        "setup_requires",
        "test_suite",
        "tests_require",
        "url",
        "version",
        "zip_safe",
    }
)
_WORDS_ONLY = frozenset(
    {"author", "author_email", "classifiers", "description", "license", "long_description", "name", "version"}
)
_COMPILED = (".so", ".pyd", ".pyx", ".dylib", ".dll")
_ALWAYS = ("py.typed", "*.pyi")


def installed_files(project: Project, layout: Layout) -> dict[str, Entry]:
    """Return the installed files by their installed paths. Raises ValueError with what is unknown."""
    backend = project.backend.partition(":")[0]
    if project.uses_setuptools:
        entries = _of_setuptools(project, layout)
    elif backend == "flit_core.buildapi":
        entries = _of_flit(project)
    elif backend == "hatchling.build":
        entries = _of_hatchling(project)
    elif backend in ("uv_build", "uv_backend"):
        entries = _of_uv(project)
    elif backend == "poetry.core.masonry.api":
        entries = _of_poetry(project)
    else:
        raise ValueError(f"the build backend {backend} is not supported")
    compiled = sorted(path for path in entries if path.endswith(_COMPILED))
    if compiled:
        raise ValueError(f"{compiled[0]} is not pure Python")
    return entries


def _of_setuptools(project: Project, layout: Layout) -> dict[str, Entry]:
    _require_plain(project)
    prefix = f"{layout.root}/" if layout.root else ""
    below = {path[len(prefix) :]: one for path, one in project.files.items() if path.startswith(prefix)}
    folders = _packages(project, layout, below)
    wanted = _package_data(project)
    modules = {f"{name}.py" for name in layout.top_level if f"{name}.py" in below}

    def is_installed(path: str) -> bool:
        folder, _, file = path.rpartition("/")
        if path in modules or (folder in folders and file.endswith(".py")):
            return True
        return any(wanted(package, path[len(package) + 1 :]) for package in _owners(folder, folders))

    installed = {path: entry for path, entry in below.items() if is_installed(path)}
    manifest = project.files.get("MANIFEST.in")
    rest = sorted(p for p in below if p not in installed and any(_owners(p.rpartition("/")[0], folders)))
    if manifest and rest:
        raise ValueError(f"MANIFEST.in may add {rest[0]}, which only its build determines")
    for path in rest:
        if path.endswith(_COMPILED):
            raise ValueError(f"{path} is not pure Python")
    return installed


def _require_plain(project: Project) -> None:
    """Raise ValueError for settings that make a build do more than copy files."""
    for name in ("ext-modules", "cmdclass", "data-files", "script-files"):
        if name in setuptools_table(project):
            raise ValueError(f"[tool.setuptools] {name} needs a build")
    options = project.setup_cfg.get("options", {})
    sections = ("options.data_files",)
    stated = [*(name for name in ("cmdclass", "scripts", "ext_modules") if name in options)]
    stated += [section for section in sections if section in project.setup_cfg]
    if stated:
        raise ValueError(f"{stated[0]} in setup.cfg needs a build")
    if not project.has_setup_py:
        return
    if project.setup_py is None:
        raise ValueError("its setup.py cannot be read without running it")
    unknown = sorted({*project.setup_py.values, *project.setup_py.unread} - _SETUP_PY)
    if unknown:
        raise ValueError(f"{unknown[0]} in setup.py needs a build")
    unread = sorted(project.setup_py.unread - _WORDS_ONLY)
    if unread and not project.metadata:
        raise ValueError(f"{unread[0]} in setup.py cannot be read without running it")


def _packages(project: Project, layout: Layout, below: Mapping[str, Entry]) -> set[str]:
    """Return the folders that are packages."""
    folders = {
        "/".join(path.split("/")[:depth])
        for path in below
        for depth in range(1, path.count("/") + 1)
        if all(part.isidentifier() for part in path.split("/")[:depth])
    }
    if layout.discovery == "all":
        return folders
    if layout.discovery == "single":
        return {folder for folder in folders if folder.partition("/")[0] in layout.top_level}
    if layout.discovery == "find" and layout.find is not None:
        find = layout.find
        kept = {folder for folder in folders if includes(find, folder.replace("/", "."))}
        return kept if find.namespaces else {one for one in kept if _is_regular(one, below)}
    if layout.discovery == "listed":
        return {name.replace(".", "/") for name in _listed(project)}
    raise ValueError("it declares its packages in a way that is not supported")


def _is_regular(folder: str, below: Mapping[str, Entry]) -> bool:
    parts = folder.split("/")
    return all(f"{'/'.join(parts[:depth])}/__init__.py" in below for depth in range(1, len(parts) + 1))


def _listed(project: Project) -> Iterator[str]:
    stated = setuptools_table(project).get("packages")
    if stated is None and "py-modules" not in setuptools_table(project):
        words = project.setup_cfg.get("options", {}).get("packages", "").replace(",", " ").split()
        stated = words or (project.setup_py.values.get("packages") if project.setup_py else None)
    yield from texts(stated or [])


def _owners(folder: str, folders: Iterable[str]) -> list[str]:
    """Return the packages that a folder is, or is inside."""
    known, parts = set(folders), folder.split("/")
    above = ("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
    return [package for package in above if package in known]


def _package_data(project: Project) -> Callable[[str, str], bool]:
    """Return a predicate of a package's folder and a path in it: whether that is installed as data."""
    kept, dropped = _patterns(project, "package-data"), _patterns(project, "exclude-package-data")

    def wanted(folder: str, path: str) -> bool:
        package = folder.replace("/", ".")
        own = [*kept.get(package, ()), *kept.get("", ()), *kept.get("*", ())]
        if "/" not in path:
            own += _ALWAYS
        without = [*dropped.get(package, ()), *dropped.get("", ()), *dropped.get("*", ())]
        return _fits(path, own) and not _fits(path, without)

    return wanted


def _patterns(project: Project, name: str) -> dict[str, tuple[str, ...]]:
    stated: object = setuptools_table(project).get(name)
    if stated is None:
        words = project.setup_cfg.get(f"options.{name.replace('-', '_')}", {})
        stated = {package: text.replace(",", " ").split() for package, text in words.items()}
    if not stated and project.setup_py:
        stated = project.setup_py.values.get(name.replace("-", "_"), {})
    if not isinstance(stated, Mapping):
        raise ValueError(f"its {name} cannot be read")
    return {str(package): texts(patterns) for package, patterns in stated.items()}


def _fits(path: str, patterns: Iterable[str]) -> bool:
    """Return whether a glob pattern matches; `*` stays in a folder, `**` matches any number of folders."""
    return any(_glob(path.split("/"), PurePosixPath(pattern).as_posix().split("/")) for pattern in patterns)


def _glob(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether the parts of a path match a pattern's, in time proportional to both."""
    places = _after_folders({0}, pattern)
    for part in parts:
        reached = {
            place if pattern[place] == "**" else place + 1
            for place in places
            if place < len(pattern) and (pattern[place] == "**" or fnmatchcase(part, pattern[place]))
        }
        places = _after_folders(reached, pattern)
    return len(pattern) in places


def _after_folders(places: set[int], pattern: Sequence[str]) -> set[int]:
    """Return the places in a pattern, and those after each `**`, which may match no folder."""
    for place in range(len(pattern)):
        if place in places and pattern[place] == "**":
            places.add(place + 1)
    return places


def _of_flit(project: Project) -> dict[str, Entry]:
    if "external-data" in nested(project.pyproject, "tool", "flit"):
        raise ValueError("[tool.flit.external-data] needs a build")
    name = nested(project.pyproject, "tool", "flit", "module").get("name") or project.name or ""
    path = str(name).replace("-", "_").replace(".", "/")
    for root in ("", "src/"):
        if entries := _below(project, f"{root}{path}", as_=path):
            return entries
    raise ValueError(f"the module {name!r}, which flit would install, does not exist")


def _of_hatchling(project: Project) -> dict[str, Entry]:
    build = nested(project.pyproject, "tool", "hatch", "build")
    target = nested(build, "targets", "wheel")
    others = sorted({*build} - {"targets"}) + sorted({*target} - {"packages"})
    if others:
        raise ValueError(f"{others[0]} in [tool.hatch.build] is not supported")
    if "packages" in target:
        entries: dict[str, Entry] = {}
        for folder in texts(target["packages"]):
            folder = folder.strip("/").removeprefix("./")
            entries |= _below(project, folder, as_=posixpath.basename(folder))
        return entries
    name = (project.name or "").replace("-", "_").replace(".", "_")
    for root in ("", "src/"):
        if f"{root}{name}/__init__.py" in project.files:
            return _below(project, root + name, as_=name)
    if f"{name}.py" in project.files:
        return _below(project, name, as_=name)
    raise ValueError(f"the package {name!r}, which hatchling would install, does not exist")


def _of_uv(project: Project) -> dict[str, Entry]:
    options = nested(project.pyproject, "tool", "uv", "build-backend")
    if others := sorted({*options} - {"module-name", "module-root"}):
        raise ValueError(f"{others[0]} in [tool.uv.build-backend] is not supported")
    name = options.get("module-name", naming.module_name((project.name or "").lower()))
    root = options.get("module-root", "src")
    if not isinstance(name, str) or not isinstance(root, str):
        raise ValueError("[tool.uv.build-backend] cannot be read")
    path = posixpath.normpath(posixpath.join(root, name.replace(".", "/")))
    if f"{path}/__init__.py" not in project.files:
        raise ValueError(f"the package {path!r}, which uv would install, does not exist")
    return _below(project, path, as_=name.replace(".", "/"))


def _of_poetry(project: Project) -> dict[str, Entry]:
    options = nested(project.pyproject, "tool", "poetry")
    if not project.metadata:
        raise ValueError("its metadata is in [tool.poetry] instead of [project]")
    if others := sorted({"packages", "include", "exclude", "build"}.intersection(options)):
        raise ValueError(f"{others[0]} in [tool.poetry] is not supported")
    name = naming.module_name(project.name or "")
    for root in ("", "src/"):
        if entries := _below(project, root + name, as_=name):
            return entries
    raise ValueError(f"the package {name!r}, which poetry would install, does not exist")


def _below(project: Project, path: str, *, as_: str) -> dict[str, Entry]:
    """Return the whole folder of a package, or a module."""
    if entry := project.files.get(f"{path}.py"):
        return {f"{as_}.py": entry}
    inside = (one for one in project.files.items() if one[0].startswith(f"{path}/"))
    return {as_ + name[len(path) :]: entry for name, entry in inside}
