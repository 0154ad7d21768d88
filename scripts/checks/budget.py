"""Keep the project within a budget: lines, commands, services, minutes, weak words, long functions.

`tests/budget.json` has the figures. A commit that needs more raises one, with the reason in its message.
`make test` writes the minutes, and `make check` compares them if the whole suite has run in this clone.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from pulumi_vertex_training.cli import parser
from scripts.checks import wording
from scripts.layout import layout
from scripts.testing import minutes
from vertex_emulator.server.rpc import descriptors

FILE = "tests/budget.json"

_WORDS = "weak words"
_CODE = "code"
_REMEDIES = {_WORDS: "name the noun again", _CODE: "name the type, or split the function"}
_MOST_LINES = 40

Figures: TypeAlias = Mapping[str, Mapping[str, float]]


def problems(budget: Figures, measured: Figures) -> Iterator[str]:
    """Yield a sentence for each figure that exceeds its budget, or has none."""
    for part, figures in measured.items():
        for name, figure in figures.items():
            most = budget.get(part, {}).get(name)
            if most is None:
                yield f"{name} has no budget of {part}: add one to {FILE}"
            elif figure > most and part in _REMEDIES:
                yield (
                    f"{name}: {figure:,.10g} uses, {most:,.10g} before. The count may only fall: "
                    f"{_REMEDIES[part]}."
                )
            elif figure > most:
                yield (
                    f"{name}: {figure:,.10g} {part} exceed the budget of {most:,.10g}. Remove something, or "
                    f"raise the figure in {FILE} in the same commit, with the reason in its message."
                )


def measure(root: Path, local: Path) -> dict[str, dict[str, float]]:
    """Return today's figures. The minutes are left out if the whole suite has not run in this clone."""
    figures: dict[str, dict[str, float]] = {
        "lines": {folder: _lines(root / folder) for folder in _folders(root)},
        _WORDS: {**wording.habits([root / "providers", root / "docs"])},
        _CODE: {**shape(file.read_text() for file in (root / "providers").glob("*/src/**/*.py"))},
        "features": {"commands": _commands(parser.build()), "emulated services": _services()},
    }
    if (local / minutes.FILE).exists():
        figures["processor minutes"] = json.loads((local / minutes.FILE).read_text())
    return figures


def _folders(root: Path) -> list[str]:
    distributions = sorted(path.parent.name for path in (root / "providers").glob("*/pyproject.toml"))
    return [*(f"providers/{name}" for name in distributions), "tests", "scripts"]


def _lines(folder: Path) -> int:
    return sum(file.read_bytes().count(b"\n") for file in folder.rglob("*.py"))


def shape(modules: Iterable[str]) -> dict[str, int]:
    """Count the parameters of type `Any`, and the functions with more lines than most, in modules."""
    any_typed = long = 0
    for module in modules:
        for node in ast.walk(ast.parse(module)):
            if isinstance(node, ast.arg):
                any_typed += getattr(node.annotation, "id", "") == "Any"
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                long += (node.end_lineno or node.lineno) - node.lineno >= _MOST_LINES
    return {"parameters typed Any": any_typed, f"functions over {_MOST_LINES} lines": long}


def _commands(command: argparse.ArgumentParser) -> int:
    """Return the number of commands at or below a parser: those without subcommands count."""
    below = [each for each in command._actions if isinstance(each, argparse._SubParsersAction)]
    children = [child for each in below for child in set(each.choices.values())]
    return sum(map(_commands, children)) if children else 1


def _services() -> int:
    """Return the number of Google's services that the emulator has: the constants with a dotted name."""
    named = (value for name, value in vars(descriptors).items() if name.isupper() and isinstance(value, str))
    return sum(value.rpartition(".")[2][:1].isupper() for value in named)


def rounded_up(measured: Figures) -> dict[str, dict[str, float]]:
    """Return a budget for these figures: lines in hundreds, minutes in tenths with a tenth more for noise."""
    return {
        part: {name: _rounded_up(part, figure) for name, figure in figures.items()}
        for part, figures in measured.items()
    }


def _rounded_up(part: str, figure: float) -> float:
    if part == "lines":
        return math.ceil(figure / 100) * 100
    return math.ceil(figure * 11) / 10 if part == "processor minutes" else figure


def main(arguments: Sequence[str]) -> int:
    """Compare, and print the problems; or write the budget."""
    here = layout()
    budget = json.loads((here.root / FILE).read_text())
    if list(arguments) == ["--write"]:
        written = {**budget, **rounded_up(measure(here.root, here.local))}
        (here.root / FILE).write_text(json.dumps(written, indent=2) + "\n")
        return 0
    sentences = list(problems(budget, measure(here.root, here.local)))
    for line in sentences:
        sys.stdout.write(f"{line}\n")
    return int(bool(sentences))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
