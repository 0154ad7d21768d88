"""Variables, quotes and escapes in the words of a Dockerfile."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.images.dockerfile.expansion import ExpansionError, expand
from support.tables import every_row

VALUES = {"A": "one", "B": "two words", "EMPTY": "", "P": "a/b/c.tar.gz"}

CASES = [
    pytest.param("plain", "plain", id="no variable"),
    pytest.param("$A", "one", id="name"),
    pytest.param("${A}", "one", id="braces"),
    pytest.param("${A}x", "onex", id="text after braces"),
    pytest.param("$A.x", "one.x", id="name ends at a dot"),
    pytest.param("$UNSET", "", id="unset"),
    pytest.param("$Ax", "", id="the longest name"),
    pytest.param("$", "$", id="dollar alone"),
    pytest.param("a$/b", "a$/b", id="dollar before a slash"),
    pytest.param("${UNSET:-d}", "d", id="default of an unset one"),
    pytest.param("${EMPTY:-d}", "d", id="default of an empty one"),
    pytest.param("${EMPTY-d}", "", id="default of an unset one only"),
    pytest.param("${A:-d}", "one", id="default not needed"),
    pytest.param("${A:+d}", "d", id="alternative"),
    pytest.param("${EMPTY:+d}", "", id="no alternative of an empty one"),
    pytest.param("${EMPTY+d}", "d", id="alternative of a set one"),
    pytest.param("${UNSET:+d}", "", id="no alternative of an unset one"),
    pytest.param("${UNSET:-${A}}", "one", id="nested"),
    pytest.param("${UNSET:-$A/$B}", "one/two words", id="variables in a default"),
    pytest.param("${A:?why}", "one", id="needed and there"),
    pytest.param("${P#*/}", "b/c.tar.gz", id="shortest start removed"),
    pytest.param("${P##*/}", "c.tar.gz", id="longest start removed"),
    pytest.param("${P%.*}", "a/b/c.tar", id="shortest end removed"),
    pytest.param("${P%%.*}", "a/b/c", id="longest end removed"),
    pytest.param("${A/n/m}", "ome", id="replaced once"),
    pytest.param("${P//\\//-}", "a-b-c.tar.gz", id="replaced everywhere"),
    pytest.param("'$A'", "$A", id="single quotes"),
    pytest.param('"$A x"', "one x", id="double quotes"),
    pytest.param('"\\$A"', "$A", id="escaped in double quotes"),
    pytest.param('"a\\nb"', "a\\nb", id="other escapes stay in double quotes"),
    pytest.param("\\$A", "$A", id="escaped"),
    pytest.param("a\\ b", "a b", id="escaped space"),
    pytest.param("a\"b\"'c'", "abc", id="quotes in a word"),
]


@every_row(("word", "expected"), CASES)
def test_a_word(word: str, expected: str) -> None:
    assert expand(word, VALUES.get) == expected


@pytest.mark.parametrize("word", ["'a", '"a', "${A", "${}", "${A:x}", "${A!}", "${UNSET:?}", "${A/b"])
def test_a_malformed_word_is_refused(word: str) -> None:
    with pytest.raises(ExpansionError):
        expand(word, VALUES.get)


def test_the_reason_of_a_required_variable_is_reported() -> None:
    with pytest.raises(ExpansionError, match="UNSET is required but not set: give a version"):
        expand("${UNSET:?give a version}", VALUES.get)


def test_the_escape_character_can_be_another() -> None:
    assert expand("C:\\$A`$B", VALUES.get, escape="`") == "C:\\one$B"


def test_in_a_heredoc_quotes_are_text() -> None:
    assert expand('it\'s "$A"', VALUES.get, quotes=False) == 'it\'s "one"'


@given(text=st.text(alphabet=st.characters(exclude_characters="$\\'\"")))
def test_text_without_signs_stays(text: str) -> None:
    assert expand(text, VALUES.get) == text


@given(text=st.text(alphabet="$A{}:-+?#%/\\'\"x", max_size=15))
def test_any_text_is_expanded_or_refused(text: str) -> None:
    try:
        assert isinstance(expand(text, VALUES.get), str)
    except ExpansionError as error:
        assert str(error)
