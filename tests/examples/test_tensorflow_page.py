"""docs/tensorflow.md quotes programs that the other tests of this folder run."""

from __future__ import annotations

import re

from support.examples.example import FOLDER

PROGRAMS = (
    "parameter-server/__main__.py",
    "parameter-server/trainer/task.py",
    "code-lab/flowers-multi-machine/trainer/task.py",
)


def test_every_block_is_part_of_a_program_that_is_tested() -> None:
    page = (FOLDER.parent / "docs" / "tensorflow.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 5
    programs = [(FOLDER / each).read_text() for each in PROGRAMS]
    assert [block for block in blocks if not any(block in program for program in programs)] == []
