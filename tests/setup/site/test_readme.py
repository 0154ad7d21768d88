"""The README: one screen and a half, and a program whose arguments exist."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pulumi_vertex_training as vt
from scripts.site.pages import words

README = (Path(__file__).resolve().parents[3] / "README.md").read_text()


def test_it_is_one_screen_and_a_half() -> None:
    assert words(README) <= 400
    assert len(README.splitlines()) <= 86


def test_the_program_names_what_there_is() -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    calls = [
        node
        for node in ast.walk(ast.parse(program))
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("vt.")
    ]
    assert len(calls) >= 3
    for call in calls:
        named = {keyword.arg or "": None for keyword in call.keywords}
        inspect.signature(getattr(vt, ast.unparse(call.func)[3:])).bind(*call.args, **named)
