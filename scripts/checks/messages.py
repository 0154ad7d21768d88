"""List the messages of the packages: every text of three words or more that is no docstring.

`python -m scripts.checks.messages [FOLDER...]` prints them, one a line, with their place. A value
that is filled in is shown as its expression in braces. The list holds all that users, logs and API answers
can show.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_WORDS = 3


@dataclass(frozen=True)
class Message:
    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def messages_of(path: Path, source: str) -> Iterator[Message]:
    """Yield the messages of a module, in order, each once."""
    found, parts = [], set()
    for node in ast.walk(ast.parse(source)):  # a node comes after the one that it is part of
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            parts.add(id(node.value))  # a docstring
        elif isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in parts:
            parts.update(map(id, ast.walk(node)))
            text = _text(node)
            if text is not None and len(text.split()) >= _WORDS:
                found.append(Message(path, node.lineno, text))
    yield from sorted(found, key=lambda each: each.line)


def _text(node: ast.Constant | ast.JoinedStr) -> str | None:
    if isinstance(node, ast.Constant):
        return " ".join(node.value.split()) if isinstance(node.value, str) else None
    parts = [
        str(each.value) if isinstance(each, ast.Constant) else f"{{{ast.unparse(each.value)}}}"
        for each in node.values
        if isinstance(each, ast.Constant | ast.FormattedValue)
    ]
    return " ".join("".join(parts).split())


def messages(folders: list[Path]) -> Iterator[Message]:
    """Yield the messages of all modules in the folders, but not of packages that are installed in one."""
    for folder in folders:
        own = (each for each in folder.rglob("*.py") if "site-packages" not in each.parts)
        for file in sorted(own):
            yield from messages_of(file, file.read_text())


if __name__ == "__main__":
    for each in messages([Path(each) for each in sys.argv[1:]] or [Path("providers")]):
        sys.stdout.write(f"{each}\n")
