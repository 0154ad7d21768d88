"""A guide that says so quotes code that runs: each block is in the program or the trainer, word for word."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.examples import FOLDER

DOCS = FOLDER.parent / "docs"


def _blocks() -> Iterator[tuple[Path, str]]:
    """Yield the example's folder and each Python block of its guide, docs/NAME.md."""
    for example in sorted(FOLDER.iterdir()):
        guide = DOCS / f"{example.name}.md"
        text = guide.read_text() if guide.exists() else ""
        if re.search(rf"code on\s+this\s+page\s+is\s+that\s+of\s+\[examples/{example.name}\]", text):
            for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
                yield example, block


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in textwrap.dedent(text).strip("\n").splitlines()]


@pytest.mark.parametrize(
    ("example", "block"), list(_blocks()), ids=lambda value: getattr(value, "name", "block")
)
def test_a_quoted_block_is_code_of_the_example(example: Path, block: str) -> None:
    wanted = lines(block)
    for program in (*example.glob("*.py"), *example.glob("*/*.py")):
        code = program.read_text().splitlines()
        for start in range(len(code) - len(wanted) + 1):
            if lines("\n".join(code[start : start + len(wanted)])) == wanted:
                return
    pytest.fail(f"docs/{example.name}.md quotes what is not in examples/{example.name}:\n{block}")
