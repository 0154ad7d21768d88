"""The README: one screen and a half, and a program whose arguments exist."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pulumi_vertex_training as vt
from scripts.site.pages import words

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text()


def test_it_is_one_screen_and_a_half() -> None:
    assert words(README) <= 600
    assert len(README.splitlines()) <= 105


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


def test_its_figures_of_parity_are_those_of_the_page() -> None:
    page = (ROOT / "docs" / "reference" / "parity.md").read_text()
    rows = re.findall(r"^\| [^|]+ \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| \d+ \|$", page, re.MULTILINE)
    same, documented, own, missing = (sum(int(row[column]) for row in rows) for column in range(4))
    text = " ".join(README.split())
    assert (
        f"in {same + documented + own + missing} features: {same} are shown to be the same, "
        f"{documented} follow the documentation, {own} work in their own way, and {missing} are missing."
        in text
    )


def test_the_program_is_that_of_the_template_but_for_settings() -> None:
    """Compare with the program that `pulumi new` gives, which is deployed in tests."""
    (program,) = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    template = (ROOT / "templates" / "vertex-training" / "__main__.py").read_text()
    declared, expected = (
        {
            keyword.arg: ast.unparse(keyword.value)
            for node in ast.walk(ast.parse(code))
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "vt.DistributedTraining"
            for keyword in node.keywords
        }
        for code in (program, template)
    )
    workers = expected["workers"].replace("settings.workers", "2")
    assert declared == {**expected, "workers": workers}
