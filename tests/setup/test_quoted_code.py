"""Code that a guide quotes from a file is in that file.

A quotation is a block of code whose first line is a comment with the path of the file. A line `...` stands
for lines that are left out.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDES = sorted((ROOT / "docs").rglob("*.md"))
_BLOCK = re.compile(r"^```\w+\n# (examples/\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LEFT_OUT = re.compile(r"^ *\.\.\.\n", re.MULTILINE)


def quotations(page: str) -> Iterator[tuple[str, str]]:
    """Yield the file and the text of each quotation, in parts where lines are left out."""
    for file, text in _BLOCK.findall(page):
        for part in _LEFT_OUT.split(text):
            yield file, part


def is_quoted(part: str, text: str) -> bool:
    """Return whether the lines are in the text, in any indentation."""
    wanted, lines = textwrap.dedent(part), text.splitlines(keepends=True)
    count = len(wanted.splitlines())
    return any(
        textwrap.dedent("".join(lines[start : start + count])) == wanted
        for start in range(len(lines) - count + 1)
    )


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_quoted_code_is_that_of_the_file(guide: Path) -> None:
    for file, part in quotations(guide.read_text(encoding="utf-8")):
        assert is_quoted(part, (ROOT / file).read_text(encoding="utf-8")), f"not in {file}:\n{part}"


@pytest.mark.parametrize("name", ["jax", "xgboost-and-lightgbm", "mxnet", "pytorch", "adanet", "tensorflow"])
def test_guides_of_examples_have_quotations(name: str) -> None:
    assert list(
        quotations((ROOT / "docs" / "guides" / "frameworks" / f"{name}.md").read_text(encoding="utf-8"))
    )


def test_an_edited_line_is_noticed() -> None:
    page = "```python\n# examples/a.py\n    first()\n...\nlast(1)\n```\n"
    parts = [part for _, part in quotations(page)]
    assert [is_quoted(part, "def f():\n        first()\n    last(2)\n") for part in parts] == [True, False]
