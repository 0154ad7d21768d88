"""The check of links finds missing files and headings, and follows no link to another site."""

from __future__ import annotations

from pathlib import Path

from scripts.checks.links import broken_links


def test_missing_files_headings_and_anchors(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text('# Two `words`, and more\n\n<a id="here"></a>\n')
    page = tmp_path / "page.md"
    page.write_text(
        "# Own\n[1](other.md) [2](other.md#two-words-and-more) [3](other.md#here) [4](#own) "
        "[5](https://example.com/x) [6](gone.md) [7](other.md#gone) [8](#gone)\n`[9](code.md)`\n"
        "```\n[10](block.md)\n```\n"
    )
    assert list(broken_links(page)) == ["gone.md", "other.md#gone", "#gone"]
