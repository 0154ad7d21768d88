"""Versions of the site: the list that its menu reads, the copy that `latest` is, and the start page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.site.versions import publish

ADDRESS = "https://owner.github.io/name"


def built(folder: Path, text: str) -> Path:
    (folder / "site").mkdir(exist_ok=True)
    (folder / "site" / "index.html").write_text(text)
    return folder / "site"


def test_versions_are_added_replaced_and_ordered(tmp_path: Path) -> None:
    published = tmp_path / "published"
    publish(built(tmp_path, "main, first"), published, "main", address=ADDRESS, latest=False)
    publish(built(tmp_path, "0.9"), published, "v0.9.0", address=ADDRESS, latest=True)
    publish(built(tmp_path, "0.10"), published, "v0.10.0", address=ADDRESS, latest=True)
    (tmp_path / "site" / "gone.html").write_text("")
    publish(built(tmp_path, "main, second"), published, "main", address=ADDRESS, latest=False)
    (tmp_path / "site" / "gone.html").unlink()
    publish(built(tmp_path, "main, third"), published, "main", address=ADDRESS, latest=False)

    assert json.loads((published / "versions.json").read_text()) == [
        {"version": "main", "title": "main", "aliases": []},
        {"version": "v0.10.0", "title": "v0.10.0", "aliases": ["latest"]},
        {"version": "v0.9.0", "title": "v0.9.0", "aliases": []},
    ]
    texts = {name: (published / name / "index.html").read_text() for name in ("main", "latest", "v0.9.0")}
    assert texts == {"main": "main, third", "latest": "0.10", "v0.9.0": "0.9"}
    assert not (published / "main" / "gone.html").exists()
    assert f"<loc>{ADDRESS}/latest/</loc>" in (published / "latest" / "sitemap.xml").read_text()
    assert 'url=latest/index.html"' in (published / "index.html").read_text()


def test_the_latest_version_stays_the_latest_when_it_is_built_again(tmp_path: Path) -> None:
    published = tmp_path / "published"
    publish(built(tmp_path, "first"), published, "main", address=ADDRESS, latest=False)
    publish(built(tmp_path, "second"), published, "main", address=ADDRESS, latest=False)
    assert (published / "latest" / "index.html").read_text() == "second"
    assert [each["aliases"] for each in json.loads((published / "versions.json").read_text())] == [["latest"]]


@pytest.mark.parametrize("version", ["latest", "../up", "", ".git"])
def test_names_that_are_no_version_are_refused(tmp_path: Path, version: str) -> None:
    with pytest.raises(ValueError, match="is not a version"):
        publish(built(tmp_path, ""), tmp_path / "published", version, address=ADDRESS, latest=True)
    assert not (tmp_path / "published").exists()
