"""Our reading of setuptools' rules against setuptools itself."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from setuptools import Distribution
from setuptools.discovery import (
    ConfigDiscovery,
    FlatLayoutModuleFinder,
    FlatLayoutPackageFinder,
    PEP420PackageFinder,
    remove_nested_packages,
    remove_stubs,
)
from setuptools.errors import BaseError

from pulumi_vertex_training.packaging.archive import Entry
from pulumi_vertex_training.packaging.layout import find_layout, flat_names, includes
from pulumi_vertex_training.packaging.project import read_project
from pulumi_vertex_training.packaging.project_files import FindCall
from support.properties import examples

NAMES = st.sampled_from(
    [
        *FlatLayoutPackageFinder._EXCLUDE,
        *FlatLayoutModuleFinder.DEFAULT_EXCLUDE,
        *("SConstruct", "sconstruct", "net", "netz", "a-b", "_x", "data", "task", "src", "net-stubs"),
        "__init__",
    ]
).filter(lambda name: not set(name) & set(".*[]"))
PATHS = st.sets(
    st.one_of(
        st.tuples(NAMES, st.sampled_from([".py", ".txt"])).map("".join),
        st.tuples(NAMES, st.sampled_from(["/__init__.py", "/x.py", "/x.csv", "/net/y.py"])).map("".join),
    ),
    min_size=1,
    max_size=5,
)
PATTERNS = st.lists(st.sampled_from(["*", "net", "net*", "net.*", "a", "a.[bc]", "?", "x*"]), max_size=3)


def write(root: Path, paths: set[str]) -> None:
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


@settings(deadline=None, max_examples=examples(40))
@given(paths=PATHS)
def test_flat_layouts_are_seen_as_setuptools_sees_them(paths: set[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), paths)
        packages = remove_nested_packages(remove_stubs(FlatLayoutPackageFinder.find(folder)))
        modules = FlatLayoutModuleFinder.find(folder)
    assert flat_names(paths) == (sorted(packages), sorted(modules))


@settings(deadline=None, max_examples=examples(40))
@given(paths=PATHS.filter(lambda paths: not any(path.startswith("net-stubs/") for path in paths)))
def test_a_layout_is_refused_exactly_when_setuptools_refuses_or_finds_nothing(paths: set[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), paths)
        distribution = Distribution({"name": "net", "src_root": folder})
        try:
            ConfigDiscovery(distribution)()
        except BaseError:
            found = False
        else:
            found = bool(distribution.packages or distribution.py_modules)
    settings_file = Entry(path="pyproject.toml", content=b'[project]\nname = "net"\n', size=0)
    files = {path: Entry(path=path, content=b"", size=0) for path in paths - {"setup.py"}}
    project, problems = read_project({**files, "pyproject.toml": settings_file})
    assert problems == []
    layout, refused = find_layout(project)
    if layout.discovery == "single":
        assert (refused == []) is found
    else:
        assert layout.root == "src"
        assert refused == []


@settings(deadline=None, max_examples=examples(20))
@given(include=PATTERNS, exclude=PATTERNS)
def test_find_patterns_keep_what_setuptools_keeps(include: list[str], exclude: list[str]) -> None:
    names = ["net", "net.a", "netz", "a", "a.b", "a.c", "a.c.d", "x1"]
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), {f"{name.replace('.', os.sep)}/__init__.py" for name in names})
        kept = PEP420PackageFinder.find(folder, exclude=exclude, include=include or ["*"])
    find = FindCall(include=tuple(include) or ("*",), exclude=tuple(exclude))
    ours = {name for name in names if includes(find, name)}
    # setuptools does not look below a package whose every child is excluded; that prunes nothing we keep
    assert set(kept) == ours
