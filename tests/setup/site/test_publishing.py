"""The workflow that publishes the site: its last step, run for two versions, and their menu in a browser."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import expect

from support.site import build, serving
from support.ui import browser as browsers
from support.waiting import TIMEOUT

ROOT = Path(__file__).resolve().parents[3]
PUBLISH = yaml.safe_load((ROOT / ".github" / "workflows" / "docs.yml").read_text())["jobs"]["publish"]


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a clone of a small project with this project's scripts and site settings."""
    folder = tmp_path / "clone"
    git(tmp_path, "init", "--quiet", "--bare", "remote.git")
    git(tmp_path, "clone", "--quiet", "remote.git", "clone")
    shutil.copytree(ROOT / "scripts", folder / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "docs" / "assets", folder / "docs" / "assets")
    (folder / "mkdocs.yml").write_text((ROOT / "mkdocs.yml").read_text().partition("\nnav:")[0] + "\n")
    (folder / "docs" / "index.md").write_text("# Start\n\n[other](other.md)\n")
    (folder / ".gitignore").write_text(".venv\n.local\n.cache\n")
    (folder / ".venv").symlink_to(ROOT / ".venv")
    git(folder, "add", "--all")
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
    git(folder, *identity, "commit", "--quiet", "--message", "Start")
    return folder


def publish(clone: Path, version: str, kind: str, page: str) -> None:
    """Build the site and run the last step of the workflow, as the runner does on a fresh checkout."""
    (clone / "docs" / "other.md").write_text(page)
    result = build(clone, DOCS_VERSIONS=PUBLISH["env"]["DOCS_VERSIONS"])
    assert result.returncode == 0, result.stdout + result.stderr
    variables = {"VERSION": version, "GITHUB_REF_TYPE": kind, "ADDRESS": "https://owner.github.io/name"}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", PUBLISH["steps"][-1]["run"]]
    subprocess.run(command, cwd=clone, env={**os.environ, **variables}, check=True)
    git(clone, "worktree", "remove", "--force", "../published")
    git(clone, "branch", "--quiet", "-D", "gh-pages")
    git(clone, "fetch", "--quiet")


def test_versions_are_published_and_the_menu_opens_the_same_page(clone: Path, tmp_path: Path) -> None:
    path = browsers.found()
    publish(clone, "main", "branch", "# Other\n\nOf main.\n")
    publish(clone, "v0.1.0", "tag", "# Other\n\nOf the release.\n")
    git(tmp_path, "clone", "--quiet", "--branch", "gh-pages", "remote.git", "served/name")
    listed = json.loads((tmp_path / "served" / "name" / "versions.json").read_text())
    assert [each["version"] for each in listed] == ["main", "v0.1.0"]
    assert git(tmp_path / "remote.git", "log", "--format=%s", "gh-pages").splitlines() == [
        "Documentation of v0.1.0",
        "Documentation of main",
    ]

    expect.set_options(timeout=TIMEOUT * 1000)
    with serving(tmp_path / "served") as address, browsers.running(path) as browser:
        page = browser.new_page()
        page.goto(f"{address}/name/")
        page.wait_for_url("**/name/latest/index.html")
        page.goto(f"{address}/name/latest/other.html")
        expect(page.get_by_text("Of the release.")).to_be_visible()
        expect(page.get_by_role("button", name="Select version")).to_have_text("v0.1.0")
        page.get_by_role("button", name="Select version").focus()
        page.locator(".md-version__link", has_text="main").click()
        page.wait_for_url("**/name/main/other.html")
        expect(page.get_by_text("Of main.")).to_be_visible()
        expect(page.get_by_role("button", name="Select version")).to_have_text("main")
