"""The version chore writes the version into all its files, or reports the problem."""

from __future__ import annotations

import datetime
import io
import json
import shutil
from pathlib import Path

import pytest

from scripts.arguments import compatibility
from scripts.layout import Layout
from scripts.release import version as chore
from scripts.report import ChoreError, Report

DAY = datetime.date(2030, 1, 2)
CHANGELOG = "# Changelog\n\n## Unreleased\n\n- New: this.\n\n## 0.0.9 (2029-01-01)\n\n- Old.\n"
SCHEMA = "providers/pulumi-vertex-training/src/pulumi_vertex_training/package/schema.json"
PROJECTS = tuple(
    f"providers/{name}/pyproject.toml"
    for name in ("vertex-cluster", "vertex-training", "vertex-emulator", "pulumi-vertex-training")
)
PACKS = ("policies/PulumiPolicy.yaml", "policies/any-host/PulumiPolicy.yaml")


@pytest.fixture
def clone(layout: Layout, root: Path) -> Layout:
    for name in (
        *PROJECTS,
        "providers/vertex-training/src/vertex_training/__init__.py",
        SCHEMA,
        *PACKS,
    ):
        (layout.root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, layout.root / name)
    (layout.root / "scripts/arguments").mkdir(parents=True)
    (layout.root / "CHANGELOG.md").write_text(CHANGELOG)
    return layout


def test_the_version_is_written_everywhere(clone: Layout, report: Report, printed: io.StringIO) -> None:
    assert chore.prepare(clone, report, version="99.0.1", today=DAY) == 0
    projects = [(clone.root / name).read_text() for name in PROJECTS]
    assert all('\nversion = "99.0.1"\n' in text for text in projects)
    assert [text.count('==99.0.1"') for text in projects] == [0, 1, 2, 4]
    module = clone.root / "providers/vertex-training/src/vertex_training/__init__.py"
    assert '__version__ = "99.0.1"' in module.read_text()
    for pack in PACKS:
        assert "\nversion: 99.0.1\n" in (clone.root / pack).read_text()
    schema = json.loads((clone.root / SCHEMA).read_text())
    assert schema["version"] == "99.0.1"
    released = json.loads((clone.root / "scripts/arguments/released_schema.json").read_text())
    assert released == compatibility.record(schema)
    assert (clone.root / "CHANGELOG.md").read_text() == (
        "# Changelog\n\n## Unreleased\n\n## 99.0.1 (2030-01-02)\n\n- New: this.\n\n"
        "## 0.0.9 (2029-01-01)\n\n- Old.\n"
    )
    assert "git tag v99.0.1" in printed.getvalue()


@pytest.mark.parametrize(
    ("version", "message"), [("", "must be like"), ("1.0", "must be like"), ("0.0.1", "is not newer than")]
)
def test_an_invalid_version_is_rejected(clone: Layout, report: Report, version: str, message: str) -> None:
    before = (clone.root / PROJECTS[-1]).read_text()
    with pytest.raises(ChoreError, match=message):
        chore.prepare(clone, report, version=version, today=DAY)
    assert (clone.root / PROJECTS[-1]).read_text() == before


@pytest.mark.parametrize("text", ["# Changelog\n", "## Unreleased\n\n## 0.0.9\n\n- Old.\n"])
def test_a_release_without_changes_is_rejected(clone: Layout, report: Report, text: str) -> None:
    (clone.root / "CHANGELOG.md").write_text(text)
    before = (clone.root / PROJECTS[-1]).read_text()
    with pytest.raises(ChoreError, match="nothing under `## Unreleased`"):
        chore.prepare(clone, report, version="99.0.1", today=DAY)
    assert (clone.root / PROJECTS[-1]).read_text() == before
