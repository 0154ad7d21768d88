"""The README: about one screen and a half as GitHub shows it. Another test deploys its program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.site.pages import words
from support.ui import browser as browsers

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text()

WIDTH, SCREEN = 1012, 900
"""The widest column in which GitHub shows a README, and the height of a screen, in pixels."""
STYLE = """
body { margin: 0; font: 16px/1.5 "Segoe UI", "Noto Sans", Inter, Helvetica, Arial, sans-serif; }
h1, h2 { margin: 24px 0 16px; padding-bottom: .3em; border-bottom: 1px solid; font-size: 1.5em; }
h1, h2 { line-height: 1.25; } h1 { margin-top: 0; font-size: 2em; }
p, ul, pre { margin: 0 0 16px; } ul { padding-left: 2em; } li + li { margin-top: .25em; }
code { padding: .2em .4em; font-family: monospace; font-size: 85%; }
pre { padding: 16px; overflow: auto; font-size: 85%; line-height: 1.45; } pre code { all: unset; }
img { max-width: 100%; } img[align=right] { padding-left: 20px; }
"""
"""The sizes of GitHub's style sheet. The reader's machine has its own fonts."""


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


def test_it_links_google_cloud_and_says_where_pulumi_comes_from() -> None:
    text = " ".join(README.split())
    first, _, rest = text.partition("make up")
    assert "[on Google Cloud](docs/guides/teams/google-cloud.md)" in first
    assert "No `pulumi`? First `source ./activate`." in rest.partition("pulumi new")[2]


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
