"""The README: about one screen and a half as GitHub shows it, and a program whose arguments exist.

`tests/engine/pages/test_readme_programs.py` deploys the program.
"""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import pulumi_vertex_training as vt
from scripts.site.pages import words
from support.ui import browser as browsers

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text()


WIDTH, SCREEN = 1012, 900
"""The widest column in which GitHub shows a README, and the height of a screen, in pixels."""
STYLE = """
body { margin: 0; font: 16px/1.5 "Segoe UI", "Noto Sans", Inter, Helvetica, Arial, sans-serif; }
h1, h2 { margin: 24px 0 16px; padding-bottom: .3em; border-bottom: 1px solid; line-height: 1.25; }
h1 { margin-top: 0; font-size: 2em; } h2 { font-size: 1.5em; }
p, ul, pre { margin: 0 0 16px; } ul { padding-left: 2em; } li + li { margin-top: .25em; }
code { padding: .2em .4em; font-family: monospace; font-size: 85%; }
pre { padding: 16px; overflow: auto; font-size: 85%; line-height: 1.45; }
pre code { padding: 0; font-size: 100%; }
img { max-width: 100%; } img[align=right] { padding-left: 20px; }
"""
"""The sizes of GitHub's style sheet. Its fonts are those of the reader's machine."""


def test_it_is_about_one_screen_and_a_half(tmp_path: Path) -> None:
    assert words(README) <= 420
    assert len(README.splitlines()) <= 90
    markdown = pytest.importorskip("markdown", reason="comes with Zensical, which needs Python 3.11 or newer")
    page = markdown.markdown(README, extensions=["fenced_code"])
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    (tmp_path / "README.html").write_text(f"<!doctype html><style>{STYLE}</style>{page}", encoding="utf-8")
    with browsers.running(browsers.found()) as browser:
        shown = browser.new_page(viewport={"width": WIDTH, "height": SCREEN})
        shown.goto((tmp_path / "README.html").as_uri())
        height = shown.evaluate("document.body.getBoundingClientRect().height")
        pictures = shown.evaluate("[...document.images].map((each) => each.naturalWidth)")
    assert 0 not in pictures
    assert height <= 1.8 * SCREEN, height


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
