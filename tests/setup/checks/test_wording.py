"""The check of words finds what it is for, with the line, and leaves code alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.checks.wording import findings_of_page, findings_of_python

FILE = Path("module.py")


def found(source: str) -> list[tuple[int, str]]:
    return [(each.line, each.text) for each in findings_of_python(FILE, source)]


@pytest.mark.parametrize(
    ("docstring", "word"),
    [("The job of a run.", "The"), ("Whether it runs.", "Whether"), ("A list.", "A"), ("What runs.", "What")],
)
def test_a_function_begins_with_a_verb(docstring: str, word: str) -> None:
    assert (2, f"docstring begins with {word!r}: begin with a verb in the imperative") in found(
        f'def f():\n    """{docstring}"""\n'
    )


@pytest.mark.parametrize(
    "source",
    [
        'def f():\n    """Return the job of a run."""\n',
        'class C:\n    """A job."""\n\n    @property\n    def name(self):\n        """The job\'s name."""\n',
        'X = 1\n"""The number of jobs."""\n',
        'def f():\n    return "The job"\n',
    ],
)
def test_good_docstrings_and_nouns_of_attributes(source: str) -> None:
    assert found(source) == []


def test_words_that_hide_a_term() -> None:
    source = 'X = "run it anew"\n# what is none\ndef judgement(rival):\n    """Return\n    it by hand."""\n'
    assert found(source) == [
        (1, "'anew': write 'again'"),
        (2, "'is none': write 'is not a ...'"),
        (3, "name 'judgement': write 'decision'"),
        (3, "name 'rival': write 'conflict'"),
        (5, "'by hand': write 'manually'"),
    ]


def test_a_word_alone_is_data() -> None:
    assert found('X = ["anew", "room"]\n') == []


def test_pages_without_their_code() -> None:
    page = "Run it anew.\n\n```\nanew\n```\n`anew` is a word.\n"
    assert [(each.line, each.text) for each in findings_of_page(Path("a.md"), page)] == [
        (1, "'anew': write 'again'")
    ]
