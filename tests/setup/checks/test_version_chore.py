"""The version chore writes the version into all its files, or reports the problem."""

from __future__ import annotations

import datetime
import io
import shutil
from pathlib import Path

import pytest

from scripts import version as chore
from scripts.layout import Layout
from scripts.report import ChoreError, Report

DAY = datetime.date(2030, 1, 2)
CHANGELOG = "# Changelog\n\n## Unreleased\n\n- New: this.\n\n## 0.0.9 (2029-01-01)\n\n- Old.\n"
PACKS = ("policies/PulumiPolicy.yaml", "policies/any-host/PulumiPolicy.yaml")


@pytest.fixture
def clone(layout: Layout, root: Path) -> Layout:
    for name in (
        "pyproject.toml",
        "providers/vertex_training/__init__.py",
        "providers/vertex_cluster/pyproject.toml",
        *PACKS,
    ):
        (layout.root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, layout.root / name)
    (layout.root / "CHANGELOG.md").write_text(CHANGELOG)
    return layout


def test_the_version_is_written_everywhere(clone: Layout, report: Report, printed: io.StringIO) -> None:
    assert chore.prepare(clone, report, version="99.0.1", today=DAY) == 0
    assert '\nversion = "99.0.1"\n' in (clone.root / "pyproject.toml").read_text()
    assert '\nversion = "99.0.1"\n' in (clone.root / "providers/vertex_cluster/pyproject.toml").read_text()
    assert '__version__ = "99.0.1"' in (clone.root / "providers/vertex_training/__init__.py").read_text()
    for pack in PACKS:
        assert "\nversion: 99.0.1\n" in (clone.root / pack).read_text()
    assert (clone.root / "CHANGELOG.md").read_text() == (
        "# Changelog\n\n## Unreleased\n\n## 99.0.1 (2030-01-02)\n\n- New: this.\n\n"
        "## 0.0.9 (2029-01-01)\n\n- Old.\n"
    )
    assert "git tag v99.0.1" in printed.getvalue()


@pytest.mark.parametrize(
    ("version", "message"), [("", "must be like"), ("1.0", "must be like"), ("0.0.1", "is not newer than")]
)
def test_an_invalid_version_is_rejected(clone: Layout, report: Report, version: str, message: str) -> None:
    before = (clone.root / "pyproject.toml").read_text()
    with pytest.raises(ChoreError, match=message):
        chore.prepare(clone, report, version=version, today=DAY)
    assert (clone.root / "pyproject.toml").read_text() == before


@pytest.mark.parametrize("text", ["# Changelog\n", "## Unreleased\n\n## 0.0.9\n\n- Old.\n"])
def test_a_release_without_changes_is_rejected(clone: Layout, report: Report, text: str) -> None:
    (clone.root / "CHANGELOG.md").write_text(text)
    before = (clone.root / "pyproject.toml").read_text()
    with pytest.raises(ChoreError, match="nothing under `## Unreleased`"):
        chore.prepare(clone, report, version="99.0.1", today=DAY)
    assert (clone.root / "pyproject.toml").read_text() == before
