from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.views import markdown
from support.tables import every_row


@every_row(
    "text, shown",
    (
        ("workers: 2 -> 4 x n1-standard-4", "workers: 2 -&gt; 4 x n1-standard-4"),
        ("a|b", "a\\|b"),
        ("<img src=x>", "&lt;img src=x&gt;"),
        ("worker_pool_specs[1]", "worker\\_pool\\_specs\\[1\\]"),
        ("cc @team, see #12", "cc @\u2060team, see #\u206012"),
        ("image@sha256:ab", "image@sha256:ab"),
        ("image@sha256:" + "ab12" * 16, "image@sha256:" + "ab12" * 16),
        ("$x$ $12 $1.50", "&#36;x&#36; &#36;\u206012 &#36;1.50"),
        (
            "org/repo#1, a/b!2, a%3, a~4, a&5",
            "`org/repo#1`, `a/b!2`, a%J3, a\\~J4, a&amp;J5".replace("J", "\u2060"),
        ),
        ('~"a label"', '\\~\u2060"a label"'),
        ("GH-12 cve-2026-1", "GH-\u206012 cve-\u20602026-1"),
        ("https://x.y ftp://x", "`https://x.y` `ftp://x`"),
        ("(HTTP://x)www.x.y", "(`HTTP://x`)www.\u2060x.y"),
        ("gs://bucket/x", "`gs://bucket/x`"),
        ("in gs://b/1234abcdef012/a_b.", "in `gs://b/1234abcdef012/a_b`."),
        ("--dir=gs://b/x, new", "--dir=`gs://b/x`, new"),
        ("r.dev/p/a:1234abcdef012 a/b", "`r.dev/p/a:1234abcdef012` a/b"),
        ("$gs://x$", "&#36;gs://x&#36;"),
        ("a@b.example", "a@\u2060b.example"),
        (":+1: x:smile:", ":\u2060+1: x:\u2060smile:"),
        ("[vulnerability:1] [1]", "\\[\u2060vulnerability:1\\] \\[1\\]"),
        ("at 1234abcdef012 or 12345678", "at 1\u2060234abcdef012 or 12345678"),
        ("one\n/merge\ttwo", "one /merge two"),
        ("\x1b[31m", "\\\\x1b\\[31m"),
        ("x" * 900, "x" * 796 + " ..."),
    ),
)
def test_text_of_others_is_shown_as_it_is(text: str, shown: str) -> None:
    assert markdown.escaped(text) == shown


@every_row(
    "text, shown",
    (
        ("plain", "`plain`"),
        ("a`b", "``a`b``"),
        ("`a``", "``` `a`` ```"),
        ("a|b", "`a\\|b`"),
        ("a\\|b", "`a\\\\\\|b`"),
        ("@team", "`@team`"),
        ("", ""),
        ("a\nb", "`a b`"),
    ),
)
def test_code_has_a_fence_that_its_text_does_not_have(text: str, shown: str) -> None:
    assert markdown.code(text) == shown


@every_row(
    "text, shown",
    (
        ("run `gcloud a --b=c_d`, or #1", "run `gcloud a --b=c_d`, or #\u20601"),
        ("`a` and `b`", "`a` and `b`"),
        ("`@team` of @team", "`@team` of @\u2060team"),
        ("$`x`$", "&#36;\u2060`x`&#36;"),
        ("one ` only", "one \\` only"),
        ("``two`` at once", "\\`\\`two\\`\\` at once"),
        ("`a|b`", "`a\\|b`"),
    ),
)
def test_a_message_has_its_commands_as_code(text: str, shown: str) -> None:
    assert markdown.message(text) == shown


@given(st.text(max_size=300) | st.text("\\|`<a", max_size=20))
def test_a_cell_never_ends_its_row_or_its_line(text):
    for cell in (markdown.escaped(text), markdown.code(text), markdown.message(text)):
        assert "\n" not in cell
        assert all(len(found[1]) % 2 for found in re.finditer(r"(\\*)\|", cell)), cell
    assert "<" not in markdown.escaped(text)


def test_a_table_and_details_are_blocks():
    assert list(markdown.table(("A", "B"), [("1", "2")])) == ["| A | B |", "| --- | --- |", "| 1 | 2 |"]
    assert list(markdown.details("more", ["text"])) == [
        "<details><summary>more</summary>",
        "",
        "text",
        "",
        "</details>",
    ]
