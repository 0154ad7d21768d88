"""Pages of docs/: every one is in the navigation, none is too long, and CI builds the site."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.site import llms
from scripts.site.pages import (
    MAX_WORDS,
    long_pages,
    navigation,
    navigation_problems,
    path_in_repository,
    shallow_blocks,
    split_tables,
    words,
)

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"


def test_every_page_is_in_the_navigation_once() -> None:
    assert list(navigation_problems(ROOT / "mkdocs.yml", DOCS)) == []
    assert navigation(ROOT / "mkdocs.yml")[0] == "index.md"


def test_the_first_page_has_at_most_seven_links_for_each_reader() -> None:
    _, heading, paths = (DOCS / "index.md").read_text(encoding="utf-8").partition("\n## Choose your path\n")
    assert heading
    of_readers = {
        section.partition("\n")[0]: re.findall(r"^\* .*?$", section, re.MULTILINE)
        for section in paths.split("\n### ")[1:]
    }
    counts = {reader: "".join(rows).count("](") for reader, rows in of_readers.items()}
    assert len(counts) == 3
    assert [reader for reader, count in counts.items() if not 1 <= count <= 7] == []


def test_only_the_reference_has_long_pages() -> None:
    assert list(long_pages(DOCS)) == []


def test_continuous_integration_builds_the_site() -> None:
    assert 'stage "make docs" make docs\n' in (ROOT / ".ci" / "run").read_text()


def test_missing_repeated_and_unknown_entries_are_found(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / "guides").mkdir(parents=True)
    for name in ("index.md", "guides/a.md", "guides/b.md"):
        (docs / name).write_text("# Page\n")
    configuration = tmp_path / "mkdocs.yml"
    configuration.write_text(
        "repository: !ENV [NAME, '']\n"
        "slugify: !!python/object/apply:a.b {kwds: {case: lower}}\n"
        "nav:\n  - index.md\n  - Guides:\n"
        "      - A: guides/a.md\n      - guides/a.md\n      - Gone: gone.md\n"
    )
    assert list(navigation_problems(configuration, docs)) == [
        "docs/guides/b.md: is not in the navigation. Add it to `nav` in mkdocs.yml.",
        "mkdocs.yml: nav: docs/gone.md does not exist.",
        "mkdocs.yml: nav: guides/a.md is there 2 times.",
    ]


def test_blocks_of_list_items_are_indented_by_four_spaces(tmp_path: Path) -> None:
    assert list(shallow_blocks(DOCS)) == []
    page = (
        "```yaml\n\n  in: code\n```\n\n1. One\n   goes on\n\n    ```\n    fine\n    ```\n"
        "\n2. Two\n\n   ```\n   not\n   ```\n"
    )
    (tmp_path / "page.md").write_text(page)
    assert [each.partition(": ")[0] for each in shallow_blocks(tmp_path)] == ["docs/page.md:15"]


def test_no_blank_line_splits_a_table(tmp_path: Path) -> None:
    assert list(split_tables(DOCS)) == []
    table = "| a | b |\n| :-- | --- |\n| 1 | 2 |\n"
    code, nested = "```\n\n| code |\n```\n", "* x\n\n    | a |\n    |---|\n"
    (tmp_path / "whole.md").write_text(f"# Page\n\n{table}\n{code}\n{nested}")
    assert list(split_tables(tmp_path)) == []
    (tmp_path / "split.md").write_text(f"{table}\n| 3 | 4 |\n\n* x\n\n    | a |\n")
    assert [each.partition(": ")[0] for each in split_tables(tmp_path)] == [
        "docs/split.md:5",
        "docs/split.md:9",
    ]


def test_words_of_prose_are_counted_and_no_others(tmp_path: Path) -> None:
    page = (
        "# Two words\n\n<!-- not these -->\n[a link](far/away.md#here), and `code`:\n\n"
        "```python\nnot_counted = 1\n```\n\n| one | two |\n| --- | --- |\n| three | four |\n"
    )
    assert words(page) == len(["#", "Two", "words", "a", "link", "and", "code", *"1234"])
    for folder in ("guides", "reference"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "long.md").write_text("word " * (MAX_WORDS + 1))
    (tmp_path / "guides" / "short.md").write_text("word " * MAX_WORDS)
    (found,) = long_pages(tmp_path)
    assert found.startswith(f"docs/guides/long.md: has {MAX_WORDS + 1} words")


@pytest.mark.parametrize(
    ("page", "link", "path"),
    [
        ("guides/a.md", "../../examples/jax", "examples/jax"),
        ("index.md", "../SECURITY.md#a-heading", "SECURITY.md"),
        ("guides/a.md", "../reference/json.md", None),
        ("guides/a.md", "b.md#here", None),
        ("guides/a.md", "#here", None),
        ("guides/a.md", "https://example.com/../x", None),
        ("guides/a.md", "", None),
    ],
)
def test_links_that_leave_the_docs(page: str, link: str, path: str | None) -> None:
    assert path_in_repository(page, link) == path


def test_llms_has_each_page_of_the_navigation_with_its_first_sentence(tmp_path: Path) -> None:
    found = llms.text(ROOT / "mkdocs.yml", DOCS)
    assert [page for page in navigation(ROOT / "mkdocs.yml") if f"({page[:-3]}.html)" not in found] == []
    (tmp_path / "a.md").write_text(
        "<!-- x -->\n\n# A page\n\n| a |\n| --- |\n\nIt [links](b.md) here. More.\n"
    )
    (tmp_path / "b.md").write_text("# B\n")
    (tmp_path / "mkdocs.yml").write_text("nav:\n  - Guides:\n      - a.md\n      - Deep:\n          - b.md\n")
    assert llms.text(tmp_path / "mkdocs.yml", tmp_path).endswith(
        "## Guides\n\n- [A page](a.html): It links here.\n- [B](b.html)\n"
    )


def test_every_guide_ends_with_one_next_step() -> None:
    guides = [
        page for page in sorted((DOCS / "guides").rglob("*.md")) if page != DOCS / "guides" / "index.md"
    ]
    last = {page: page.read_text(encoding="utf-8").rstrip().rpartition("\n\n")[2] for page in guides}
    assert [
        str(page) for page, text in last.items() if not re.fullmatch(r"Next: \[[^]]+\]\([^)]+\)\.", text)
    ] == []


def test_each_claim_about_another_tool_has_a_source_with_an_address() -> None:
    page = (DOCS / "get-started" / "why.md").read_text(encoding="utf-8").partition("## Compared with")[2]
    table, _, rest = page.partition("\nSources:\n")
    sources = re.findall(r"^\d+\. .*?(?=\n\d+\. |\n\n)", rest, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| (?!tool |---).*\|$", table, re.MULTILINE)
    numbers = [str(number) for number in range(1, len(sources) + 1)]
    assert [re.findall(r"\[(\d+)\]", row) for row in rows] == [[number] for number in numbers] != []
    assert [source for source in sources if "](https://" not in source] == []
    assert re.search(r"Read in the versions below in \w+ 20\d\d", table)
