"""The output of programs becomes lines that no terminal acts on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.runs.diagnosis.plain_text import lines_of, plain


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        pytest.param("\x1b[1;31mred\x1b[0m", "red", id="colour"),
        pytest.param("\x1b[2J\x1b[Hhome", "home", id="screen"),
        pytest.param("\x1b]0;title\x07text", "text", id="title"),
        pytest.param("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link", id="link"),
        pytest.param("\x1bPsecret\x1b\\text", "text", id="device"),
        pytest.param("\x9b31mred", "red", id="one-byte"),
        pytest.param("text\x1b[", "text", id="cut"),
        pytest.param(" 10%\r 50%\r100%", "100%", id="progress"),
        pytest.param(" 10%\r 50%\r100%\r", "100%", id="progress with a return at its end"),
        pytest.param("10%\b\b\b50%\b\b\b100%", "100%", id="backspaces"),
        pytest.param("ab\b\b\b\bcd", "cd", id="more backspaces than characters"),
        pytest.param("working\b\b\b\b\b\b\bdone   ", "done", id="shorter than before"),
        pytest.param("a\rbc\bd", "bd", id="both"),
        pytest.param("line\r", "line", id="windows"),
        pytest.param("a\tb", "a   b", id="tab"),
        pytest.param("bell\x07 \x00", "bell\\x07 \\x00", id="control"),
        pytest.param("right \u202e left", "right \\u202e left", id="direction"),
        pytest.param("Grüße 花", "Grüße 花", id="letters"),
        pytest.param("half \ud800", "half \\ud800", id="surrogate"),
    ],
)
def test_a_line(line: str, shown: str) -> None:
    assert plain(line) == shown


@given(st.text(alphabet=st.sampled_from("\x1b[]\\\x07\x9b0;m\r\nab")))
def test_whatever_is_printed_is_shown_as_plain_lines(text: str) -> None:
    assert all(line.isprintable() for line in lines_of(text))


def test_the_last_state_of_a_long_progress_bar_is_not_cut_off() -> None:
    bar = "".join(f"\r{done:4}/9999" for done in range(10_000))
    assert list(lines_of(bar, length=100)) == ["9999/9999"]


def test_lines_and_their_length_are_bounded_and_it_is_said() -> None:
    assert list(lines_of("x" * 50, length=10)) == ["xxxxxxxxxx... (+40 characters)"]
    assert list(lines_of("1\n2\n3\n", most=2)) == ["1", "2", "... and 1 more lines of this entry"]
