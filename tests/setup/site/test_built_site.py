"""The built site: its links, its search as files and from a server, and nothing loaded from elsewhere."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
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


@pytest.mark.parametrize("scheme", ["file", "http"])
def test_search_finds_a_page_and_loads_nothing_from_elsewhere(
    scheme: str, site: Path, browser: Browser, request: pytest.FixtureRequest
) -> None:
    start = site.as_uri() if scheme == "file" else str(request.getfixturevalue("server"))
    elsewhere: list[str] = []

    def check(route: Route) -> None:
        if not route.request.url.startswith((start, "data:", "blob:", "about:")):
            elsewhere.append(route.request.url)
        route.continue_()

    page = browser.new_page()
    page.route("**/*", check)
    page.goto(f"{start}/guides/teams/plan.html")
    _search(page, "protect_running")
    page.goto(f"{start}/index.html")
    assert elsewhere == []


QUESTIONS = {
    "run a failed job again": "questions.html#run-a-failed-job-again-or-retry-it",
    "How do I use a GPU with a spot machine?": "questions.html#gpus-and-spot-machines",
    # Users type this term; the check of words wants "adopt".
    f"{'take'} over a bucket that exists": "questions.html#use-or-adopt-an-existing-bucket",
    "why is my preview refused: quota": "questions.html#quota-exceeded-a-preview-or-a-job-is-refused",
    "give replicas an environment variable": "questions.html#give-replicas-an-environment-variable",
    "kill a replica to test my checkpoint": "questions.html#kill-a-replica-to-test-checkpoints",
    "train stays: it failed, and rerun is on_change": "questions.html#run-a-failed-job-again-or-retry-it",
    "Who pays?": "questions.html#is-it-free-who-pays-for-a-run",
    "how much does a run cost": "questions.html#how-much-does-a-job-or-a-run-cost",
    "How do I limit the cost?": "questions.html#limit-the-cost-or-set-a-budget",
    "is my quota enough": "questions.html#is-my-quota-enough",
    "am I allowed to run this job": "questions.html#am-i-allowed-to-run-this-job",
    "how do I run a job every night": "questions.html#run-a-job-every-night",
    "forbid GPUs in dev": "questions.html#forbid-gpus-in-dev",
}


FIRST = {
    "run on google cloud": "questions.html#run-on-google-cloud",
    "difference to terraform": "questions.html#what-is-the-difference-to-terraform",
    "is it free": "questions.html#is-it-free",
    "what is a reduction server": "glossary.html#reduction-server",
    "who pays": "questions.html#is-it-free-who-pays-for-a-run",
    "limit the cost": "limit.html",
    "no capacity": "capacity.html",
    "resume": "questions.html#resume-or-continue-from-a-checkpoint",
    "yaml": "yaml.html",
    "typescript": "typescript.html",
}
"""Short questions, each answered by the first result. Guides come before the reference."""


def test_questions_are_answered_by_the_first_results(server: str, browser: Browser) -> None:
    """Ask one question after the other in one page, which has the index of the search."""
    page = browser.new_page()
    page.goto(f"{server}/index.html")
    page.keyboard.press("/")
    field = page.get_by_role("combobox", name="Search")
    for question, answer in {**QUESTIONS, **FIRST}.items():
        field.fill("")
        expect(page.locator("ol > li a[href]")).to_have_count(0)
        field.fill(question)
        path, _, anchor = answer.partition("#")
        place = 1 if question in FIRST else 3
        wanted = f"ol > li:nth-child(-n+{place}) a[href*='{path}']"
        wanted += f"[href*='#{anchor}']" if anchor else ""
        expect(page.locator(wanted)).to_be_visible()
    page.close()


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
    page.goto((site / "reference" / "resources" / "CustomJob.html").as_uri())
    argument = page.locator("li:has(> code:text-is('run_token'))").first
    _fits(argument)
    assert argument.inner_text().startswith("run_token: string; reruns the job. Any string.")
    page.close()


def _fits(part: Locator) -> None:
    box = part.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 390


def _search(page: Page, text: str) -> None:
    """Type into the search of a page, and wait until it shows a page that has the text."""
    page.keyboard.press("/")
    page.keyboard.type(text)
    expect(page.locator("a[href*='rerun.html']").filter(visible=True).first).to_be_visible()
