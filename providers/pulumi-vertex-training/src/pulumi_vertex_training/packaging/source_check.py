"""Check Python files without running them: syntax errors, and imports that fail once packaged."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator

from pulumi_vertex_training.packaging.archive import Entry, read
from vertex_training.findings.problems import Problem

_LARGEST = 1 << 20
_SHOWN = 20
_IMPORT = re.compile(rb"^[ \t]*(?:import|from)[ \t](.*)", re.MULTILINE)
_WORD = re.compile(rb"\w+")


def syntax_problems(entries: Iterable[Entry]) -> list[Problem]:
    """Return a warning for each Python file that this Python cannot compile; at most 20, sorted by name.

    They are warnings, because the replicas' Python may be another version. Files over 1 MiB are skipped.
    """
    problems = []
    for entry in _python_files(entries):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                compile(read(entry), entry.path, "exec", dont_inherit=True)
            except SyntaxError as error:
                place = f"{entry.path}:{error.lineno}" if error.lineno else entry.path
                problems.append(_warning(place, _unusable(error.msg)))
            except (ValueError, RecursionError, MemoryError) as error:
                problems.append(_warning(entry.path, _unusable(str(error) or type(error).__name__)))
            except OSError:
                continue  # reading it for the archive reports the error
    return _shortened(problems, "more files have syntax errors.")


def import_problems(
    entries: Iterable[Entry], *, siblings: Collection[str], advice: Callable[[str], str]
) -> list[Problem]:
    """Return a warning for each file that imports one of `siblings` as if it were a top-level module.

    Such an import works for a script in its folder, but not for a module inside a package. Names of the
    standard library and imports inside `try` are ignored. `advice` returns the remedy for a name.
    """
    names = frozenset(siblings) - sys.stdlib_module_names
    problems = []
    for entry in _python_files(entries) if names else ():
        try:
            content = read(entry)
        except OSError:
            continue
        words = {word.decode() for line in _IMPORT.findall(content) for word in _WORD.findall(line)}
        if names.isdisjoint(words):
            continue  # skips the slower parsing
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(content)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        seen: set[str] = set()
        for line, name in _absolute_imports(tree):
            if name in names and name not in seen:
                seen.add(name)
                problems.append(_warning(f"{entry.path}:{line}", f"imports {name!r}, {advice(name)}"))
    return _shortened(problems, "more imports of this kind.")


def _absolute_imports(node: ast.AST) -> Iterator[tuple[int, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from ((child.lineno, alias.name.partition(".")[0]) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            if not child.level and child.module:
                yield child.lineno, child.module.partition(".")[0]
        elif isinstance(child, ast.stmt | ast.ExceptHandler) and not isinstance(child, ast.Try):
            yield from _absolute_imports(child)


def _python_files(entries: Iterable[Entry]) -> Iterator[Entry]:
    return (entry for entry in entries if entry.path.endswith(".py") and entry.size <= _LARGEST)


def _warning(path: str, message: str) -> Problem:
    return Problem(path=path, message=message, level="warning")


def _unusable(reason: str) -> str:
    version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    return (
        f"{version} cannot compile it: {reason.rstrip('.')}. Correct it unless the replicas' Python is newer."
    )


def _shortened(found: list[Problem], rest: str) -> list[Problem]:
    if len(found) <= _SHOWN:
        return found
    return [*found[:_SHOWN], _warning("", f"{len(found) - _SHOWN} {rest}")]
