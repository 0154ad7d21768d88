"""Lay out Python and docstrings as the formatter does."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

_WIDTH = 110


def formatted(path: Path, source: str) -> str:
    """Return a module with sorted imports, in the format of `make format`."""
    for command in (["check", "--fix", "--quiet", "--select", "I"], ["format", "--quiet"]):
        source = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", path, "-"],
            input=source,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    return source


def python_docstring(text: str, *, indent: int) -> str:
    """Return a text as a docstring, indented, in lines of the usual width."""
    text, space = text.replace("\\", "\\\\"), " " * indent
    if indent + len(text) + 6 <= _WIDTH and not text.endswith('"'):
        return f'{space}"""{text}"""'
    return f'{_wrapped(chr(34) * 3 + text, space, space)}\n{space}"""'


def with_parameters(prose: str, texts: Mapping[str, str], *, indent: int) -> str:
    """Return a docstring with a `:param` entry for each name; `prose` may have several paragraphs."""
    space = " " * indent
    paragraphs = [" ".join(part.split()) for part in prose.replace("\\", "\\\\").split("\n\n")]
    paragraphs[0] = '"""' + paragraphs[0]
    top = "\n\n".join(_wrapped(part, space, space) for part in paragraphs)
    entries = (
        _wrapped(f":param {name}: {text}".replace("\\", "\\\\"), space, f"{space}    ")
        for name, text in texts.items()
    )
    return "\n".join([top, "", *entries, f'{space}"""'])


def _wrapped(text: str, first: str, rest: str) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
