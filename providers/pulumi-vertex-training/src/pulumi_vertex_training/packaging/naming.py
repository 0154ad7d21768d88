"""Check names of distributions, versions, modules and requirements, by the rules of pip and Python."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Collection, Iterable, Sequence

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from vertex_training.findings.problems import Problem

_DISTRIBUTION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


def distribution_problems(name: str) -> list[Problem]:
    """Return the problems of a distribution's name (PyPA specification "Names and normalization")."""
    if _DISTRIBUTION.fullmatch(name):
        return []
    message = (
        f"{name!r} is not a package name: letters, digits, '.', '_' and '-' are allowed, and it begins and "
        "ends with a letter or digit."
    )
    return [Problem(path="name", message=message)]


def version_problems(version: str) -> list[Problem]:
    """Return the problems of a version (PyPA specification "Version specifiers")."""
    try:
        Version(version)
    except InvalidVersion:
        message = f"{version!r} is not a version that pip understands. Write one like '0.1.0' or '1.2.0rc1'."
        return [Problem(path="version", message=message)]
    return []


def archive_stem(name: str, version: str) -> str:
    """Return `<name>-<version>` as in the file name and the top folder of a source distribution."""
    return f"{canonicalize_name(name).replace('-', '_')}-{Version(version)}"


def same_name(one: str, other: str) -> bool:
    """Return whether pip considers both names the same distribution."""
    return canonicalize_name(one) == canonicalize_name(other)


def module_name(text: str) -> str:
    """Return the text as an importable name: dashes, dots and spaces become underscores."""
    return re.sub(r"[-. ]+", "_", text)


def module_problems(name: str, *, path: str, remedy: str, top_level: bool) -> list[Problem]:
    """Return the reasons why Python could not import a module of this name, or would import another."""
    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name):
        message = f"the module would be called {name!r}, which Python cannot import. {remedy}"
        return [Problem(path=path, message=message)]
    if top_level and name in sys.stdlib_module_names:
        message = f"the module would be called {name!r}, like one of Python's standard library. {remedy}"
        return [Problem(path=path, message=message)]
    return []


def clean_requirements(requirements: Sequence[str]) -> tuple[tuple[str, ...], list[Problem]]:
    """Return requirements without surrounding spaces, sorted and unique, and their problems.

    Their text is kept: another release of a parser must not change an archive's bytes.
    """
    problems: list[Problem] = []
    for index, text in enumerate(requirements):
        problems += requirement_problems(text, path=f"requirements[{index}]")
    return tuple(sorted({" ".join(text.split()) for text in requirements})), problems


def requirement_problems(text: str, *, path: str) -> list[Problem]:
    """Return the problems of a requirement (PyPA specification "Dependency specifiers")."""
    try:
        Requirement(text)
    except InvalidRequirement as error:
        return [Problem(path=path, message=f"{text!r} is not a requirement: {_reason(text, error)}")]
    return []


def _reason(text: str, error: InvalidRequirement) -> str:
    if text.lstrip().startswith("-"):
        return "a package cannot have options of pip. List the packages themselves, such as 'numpy>=2'."
    if re.search(r"(^\.{0,2}/|\.(whl|gz|zip)$)", text) and "@" not in text:
        return "a path does not exist on a replica. Stage that package too and name both in package_uris."
    reason = str(error).partition("\n")[0].rstrip(".")
    return f"{reason[:1].lower()}{reason[1:]}. Write it like 'numpy>=2'."


def runnable(paths: Iterable[str], *, top_level: Collection[str] | None = None) -> tuple[str, ...]:
    """Return the modules that `python -m` can run, sorted.

    `paths` are relative to the folder with the top-level packages. With `top_level`, only modules in packages
    of these names, and modules of these names, count. A package counts if it has `__main__.py`.
    """
    modules = set()
    for path in paths:
        if not path.endswith(".py"):
            continue
        parts = path.removesuffix(".py").split("/")
        if parts[-1] == "__main__":
            parts.pop()
        if not parts or parts[-1] == "__init__" or not all(part.isidentifier() for part in parts):
            continue
        if top_level is None or parts[0] in top_level:
            modules.add(".".join(parts))
    return tuple(sorted(modules))


def entry_module(modules: Collection[str]) -> str | None:
    """Return the module that a training job most likely runs: `<package>.task`, else a runnable package.

    "task" is the name in the Vertex AI documentation, "Create a Python training application". None if no
    module qualifies, or more than one.
    """
    tasks = [name for name in modules if name == "task" or name.endswith(".task")]
    for candidates in ([name for name in tasks if name.count(".") <= 1], tasks):
        if len(candidates) == 1:
            return candidates[0]
    if tasks:
        return None
    packages = [name for name in modules if "." not in name]
    if len(packages) == 1 and not packages[0].startswith("_"):
        return packages[0]
    return next(iter(modules)) if len(modules) == 1 else None
