"""The built site: its links, its search as files and from a server, and nothing loaded from elsewhere."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from scripts.site.check import problems
from support.site import build, serving
from support.ui import browser as browsers
from support.waiting import TIMEOUT

ROOT = Path(__file__).resolve().parents[3]
REPOSITORY = "https://example.com/owner/name/blob/v1"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the built site of this clone, made in another folder."""
    folder = tmp_path_factory.mktemp("clone")
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copyfile(ROOT / "mkdocs.yml", folder / "mkdocs.yml")
    result = build(folder, DOCS_REPOSITORY=REPOSITORY)
    assert result.returncode == 0, result.stdout + result.stderr
    return folder / ".local" / "site"


def test_every_link_leads_somewhere_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    assert list(problems(site)) == []
    text = (site / "get-started" / "versions.html").read_text()
    assert f'href="{REPOSITORY}/CHANGELOG.md"' in text


def test_a_dead_anchor_fails_the_build(tmp_path: Path) -> None:
    shutil.copyfile(ROOT / "mkdocs.yml", tmp_path / "mkdocs.yml")
    text = (tmp_path / "mkdocs.yml").read_text().partition("\nnav:")[0]
    (tmp_path / "mkdocs.yml").write_text(f"{text}\n")
    (tmp_path / "docs" / "assets").mkdir(parents=True)
    for name in ("site.css", "iframe-worker.js"):
        shutil.copyfile(ROOT / "docs" / "assets" / name, tmp_path / "docs" / "assets" / name)
    (tmp_path / "docs" / "index.md").write_text("# Start\n\n[there](other.md#here)\n")
    (tmp_path / "docs" / "other.md").write_text("# Other\n\n## Here\n")
    assert build(tmp_path).returncode == 0
    (tmp_path / "docs" / "other.md").write_text("# Other\n\n## There\n")
    result = build(tmp_path)
    assert result.returncode != 0
    assert "index.md:3" in result.stdout + result.stderr


def test_problems_of_built_pages_are_found(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(
        '<nav><a href="a.html">A</a></nav><a href="gone.html">1</a><a href="a.html#gone">2</a>'
        '<a href="a.html#here">3</a><a href="https://example.com/">4</a><img src="gone.png">'
        '<script src="https://example.com/x.js"></script>'
        '<link rel="stylesheet" href="//example.com/x.css"><pre class="mermaid"></pre>'
    )
    (tmp_path / "a.html").write_text('<h2 id="here"></h2><a href="b.html">B</a>')
    (tmp_path / "b.html").write_text("")
    (tmp_path / "x.css").write_text("body { background: url('https://example.com/x.png') }")
    assert list(problems(tmp_path)) == [
        "index.html: has a Mermaid diagram, whose script is loaded from another site. Use a picture.",
        "index.html: gone.png does not exist.",
        "index.html: loads https://example.com/x.js.",
        "index.html: loads //example.com/x.css.",
        "index.html: gone.html does not exist.",
        "index.html: a.html#gone has no such heading.",
        "x.css: loads https://example.com/x.png.",
        "b.html: no navigation leads to it.",
    ]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=TIMEOUT * 1000)
    with browsers.running(browsers.found()) as found:
        yield found


@pytest.fixture(scope="module")
def server(site: Path) -> Iterator[str]:
    """Serve the site. Return its address."""
    with serving(site) as address:
        yield address


@contextmanager
def only_from(start: str, browser: Browser) -> Iterator[Page]:
    """Yield a page, which may load nothing from elsewhere."""
    elsewhere: list[str] = []

    def check(route: Route) -> None:
        if not route.request.url.startswith((start, "data:", "blob:", "about:")):
            elsewhere.append(route.request.url)
        route.continue_()

    page = browser.new_page()
    page.route("**/*", check)
    yield page
    page.close()
    assert elsewhere == []


def test_search_of_files_finds_a_page_and_loads_nothing_from_elsewhere(site: Path, browser: Browser) -> None:
    with only_from(site.as_uri(), browser) as page:
        page.goto(f"{site.as_uri()}/guides/teams/plan.html")
        page.keyboard.press("/")
        page.keyboard.type("protect_running")
        expect(page.locator("a[href*='rerun.html']").filter(visible=True).first).to_be_visible()
        page.goto(f"{site.as_uri()}/index.html")


ROW = re.compile(
    r"^\| (?P<question>[^|]+) \| (?P<place>[123]) \| \[[^]]+\]\(docs/(?P<answer>[^)]+)\) \|$", re.MULTILINE
)
QUESTIONS = [found.groupdict() for found in ROW.finditer((ROOT / "CONTRIBUTING.md").read_text())]
"""The table of questions in CONTRIBUTING.md, with the last place that the answer may have."""


def test_questions_are_answered_by_the_first_results(server: str, browser: Browser) -> None:
    """Ask one question after the other in one page, which has the index of the search."""
    assert [row["place"] for row in QUESTIONS[:10]] == ["1"] * 10
    assert len(QUESTIONS) == 24
    with only_from(server, browser) as page:
        page.goto(f"{server}/index.html")
        page.keyboard.press("/")
        field = page.get_by_role("combobox", name="Search")
        for row in QUESTIONS:
            field.fill("")
            expect(page.locator("ol > li a[href]")).to_have_count(0)
            field.fill(row["question"].replace("&nbsp;", " "))
            path, _, anchor = row["answer"].replace(".md", ".html").partition("#")
            wanted = f"ol > li:nth-child(-n+{row['place']}) a[href*='{path}']"
            wanted += f"[href*='#{anchor}']" if anchor else ""
            expect(page.locator(wanted)).to_be_visible()


def test_the_box_of_the_rules_finds_a_rule_by_its_message(site: Path, browser: Browser) -> None:
    page = browser.new_page()
    page.goto((site / "reference" / "rules.html").as_uri())
    box = page.get_by_role("searchbox", name="Find a rule by a message")
    box.fill("worker_pool_specs[1].replica_count: -5 replicas; give a whole number of 0 or more")
    expect(page.locator("li:has(#replicas-negative)")).to_be_visible()
    finding = page.locator("li:has(#replicas-negative) .rule-finding")
    expect(finding).to_contain_text("0 skips the pool")
    expect(finding).to_contain_text("Source: Vertex AI API, WorkerPoolSpec.replica_count")
    expect(page.locator("li:has(#disk-type)")).to_be_hidden()
    box.fill("")
    expect(page.locator("li:has(#disk-type)")).to_be_visible()
    page.close()


def test_tables_and_lists_of_arguments_fit_a_phone(site: Path, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto((site / "coming-from" / "gcloud.html").as_uri())
    row = page.locator("tr:has(td:first-child code:text-is('--kms-key'))").first
    _fits(row.locator("td").last)
    assert "encryption_spec=" in row.locator("td").last.inner_text()
    page.goto((site / "reference" / "reruns.html").as_uri())
    cells = page.locator("table").first.locator("tbody tr").first.locator("td")
    heads = cells.evaluate_all("cells => cells.map((cell) => getComputedStyle(cell, '::before').content)")
    assert heads == ["none", *(f'"{each}: "' for each in ("on_change", "on_failure", "always", "never"))]
    page.goto((site / "reference" / "resources" / "CustomJob.html").as_uri())
    argument = page.locator("li:has(> code:text-is('run_token'))").first
    _fits(argument)
    assert argument.inner_text().startswith("run_token: string; reruns the job. Any string.")
    page.close()


def _fits(part: Locator) -> None:
    box = part.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 390
