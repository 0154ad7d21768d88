"""The page of questions and answers: its code names arguments that exist, and its commands can be parsed."""

from __future__ import annotations

import ast
import inspect
import re
import shlex
from pathlib import Path

import pytest

import pulumi_vertex_training as vt
from pulumi_vertex_training.cli.parser import parse

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "get-started" / "questions.md").read_text()
PROGRAMS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^vertex-training (.*)$", PAGE, re.MULTILINE)


def test_the_code_names_arguments_that_exist() -> None:
    calls = [
        node
        for program in PROGRAMS
        for node in ast.walk(ast.parse(program))
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("vt.")
    ]
    assert len(calls) >= 8
    for call in calls:
        given = [each for each in call.args if ast.unparse(each) != "..."]
        named = {keyword.arg or "": None for keyword in call.keywords}
        inspect.signature(getattr(vt, ast.unparse(call.func)[3:])).bind_partial(*given, **named)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_exist(command: str) -> None:
    parse(shlex.split(command))
