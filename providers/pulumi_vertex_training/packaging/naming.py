"""Names of distributions, versions, modules and requirements, as pip and Python want them."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Sequence

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from vertex_training.findings.problems import Problem

_DISTRIBUTION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


def distribution_problems(name: str, *, path: str = "name") -> list[Problem]:
    """What is wrong with the name of a distribution (PyPA specification "Names and normalization")."""
    if _DISTRIBUTION.fullmatch(name):
        return []
    message = (
        f"{name!r} cannot name a package: letters, digits, '.', '_' and '-' are allowed, and a letter or "
        "digit stands at both ends."
    )
    return [Problem(path=path, message=message)]


def version_problems(version: str, *, path: str = "version") -> list[Problem]:
    """What is wrong with a version (PyPA specification "Version specifiers")."""
    try:
        Version(version)
    except InvalidVersion:
        message = f"{version!r} is not a version that pip understands. Write one like '0.1.0' or '1.2.0rc1'."
        return [Problem(path=path, message=message)]
    return []


def archive_stem(name: str, version: str) -> str:
    """`<name>-<version>` as it stands in the file name of a source distribution and as its top folder."""
    return f"{canonicalize_name(name).replace('-', '_')}-{Version(version)}"


def same_name(one: str, other: str) -> bool:
    """Whether pip takes both for the same distribution."""
    return canonicalize_name(one) == canonicalize_name(other)


def module_name(text: str) -> str:
    """The text as a name to import: dashes, dots and spaces become underscores."""
    return re.sub(r"[-. ]+", "_", text)


def module_problems(name: str, *, path: str, remedy: str, top_level: bool) -> list[Problem]:
    """Why Python could not import a module of this name, or would import another."""
    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name):
        message = f"the module would be called {name!r}, which Python cannot import. {remedy}"
        return [Problem(path=path, message=message)]
    if top_level and name in sys.stdlib_module_names:
        message = f"the module would be called {name!r}, like one of Python's standard library. {remedy}"
        return [Problem(path=path, message=message)]
    return []


def clean_requirements(requirements: Sequence[str]) -> tuple[tuple[str, ...], list[Problem]]:
    """Requirements without surrounding space, sorted and each once, and what is wrong with them.

    Their text stays the user's: another release of a parser must not change an archive's bytes.
    """
    problems: list[Problem] = []
    for index, text in enumerate(requirements):
        problems += requirement_problems(text, path=f"requirements[{index}]")
    return tuple(sorted({" ".join(text.split()) for text in requirements})), problems


def requirement_problems(text: str, *, path: str) -> list[Problem]:
    """What is wrong with a requirement (PyPA specification "Dependency specifiers")."""
    try:
        Requirement(text)
    except InvalidRequirement as error:
        return [Problem(path=path, message=f"{text!r} is not a requirement: {_reason(text, error)}")]
    return []


def _reason(text: str, error: InvalidRequirement) -> str:
    if text.lstrip().startswith("-"):
        return "options of pip cannot be part of a package. List the packages themselves, as in 'numpy>=2'."
    if re.search(r"(^\.{0,2}/|\.(whl|gz|zip)$)", text) and "@" not in text:
        return "a path means nothing on a replica. Stage that package too and name both in package_uris."
    reason = str(error).partition("\n")[0].rstrip(".")
    return f"{reason[:1].lower()}{reason[1:]}. Write it as in 'numpy>=2'."
