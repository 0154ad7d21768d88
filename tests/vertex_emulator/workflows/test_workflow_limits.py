"""A workflow runs in the emulator's process, so none can hold or fill it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vertex_emulator.own_api import Answer
from vertex_emulator.workflows import expressions, interpreter
from vertex_emulator.workflows.expressions import ExpressionError
from vertex_emulator.workflows.interpreter import DefinitionError, Raised, Returned, Sleep, State

KNOWN = expressions.functions(now=lambda: 0.0, environment={})
LARGE = "x" * (300 << 10)


def evaluated(text: str) -> Any:
    return expressions.evaluate(f"${{{text}}}", {"large": LARGE, "list": [0] * (300 << 10)}, KNOWN)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('"a" * 99999999999', "expected a number, not 'a'"),
        ("[0] * 99999999999", r"expected a number, not \[0\]"),
        ('"%99999999999d" % 1', "expected a number, not '%9"),
        ("9223372036854775807 + 1", "more than 64 bits"),
        ("99999999999 * 99999999999", "more than 64 bits"),
        ("large + large", "more than 512 KiB"),
        ("list + list", "more than 512 KiB"),
        ('text.replace_all(large, "", large)', "more than 512 KiB"),
        ('text.match_regex(large, "(?=x)")', "invalid perl operator"),
        ("time.format(1e300)", "TypeError: .*time.format"),
        ('text.replace_all(1, "a", "b")', "TypeError: .*text.replace_all"),
        ('sys.get_env("HOME")', "TypeError: .*sys.get_env"),
        pytest.param(f"1{' + 1' * 200}", "has 801 characters; the most is 400", id="long"),
    ],
)
def test_an_expression_that_would_fill_the_memory_fails(text: str, reason: str) -> None:
    with pytest.raises(ExpressionError, match=reason):
        evaluated(text)


def test_a_pattern_takes_no_longer_than_its_text() -> None:
    """Python's own engine would need years for it, and let no other thread run meanwhile."""
    assert evaluated('text.match_regex(large + "!", "^(x+)+$")') is False
    assert evaluated('text.match_regex(large + "!", "x!$")') is True
    assert evaluated('text.replace_all("a.b", ".", "-") + "c"') == "a-bc"
    assert (evaluated("7 * 6 % 40"), evaluated("[1] + [2]"), evaluated("1.5 + 1")) == (2, [1, 2], 2.5)


def run(*steps: dict[str, Any], answer: Any = None) -> Sleep | Returned:
    program = interpreter.read(json.dumps({"main": {"steps": list(steps)}}))

    def answers(*_: Any, **__: Any) -> Answer:
        return Answer(status=200, body=json.dumps(answer).encode())

    return interpreter.run(program, State(), call=answers, known=KNOWN)


GET = {"call": "http.get", "args": {"url": "https://us-central1-aiplatform.googleapis.com/v1/x"}}


def test_the_variables_of_an_execution_are_bounded_together() -> None:
    with pytest.raises(Raised, match="ResourceLimitError: the variables of an execution may have 512 KiB"):
        run(*({name: {**GET, "result": name}} for name in "ab"), answer=LARGE)
    with pytest.raises(Raised, match="ResourceLimitError"):
        run(
            {"one": {**GET, "result": "a"}},
            {"two": {"assign": [{"m": {}}, {"m.a": "${a}"}]}},
            answer=LARGE,
        )
    assert run(
        {"one": {**GET, "result": "a"}}, {"two": {"return": "${len(a.body)}"}}, answer=LARGE
    ) == Returned(value=len(LARGE))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        pytest.param(
            "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
            + "\n".join(
                f"{b}: &{b} [{','.join([f'*{a}'] * 10)}]" for a, b in zip("abcdefg", "bcdefgh", strict=True)
            )
            + "\nmain: {steps: [{s: {return: *h}}]}",
            "more than 50,000 values",
            id="aliases",
        ),
        pytest.param("[" * 20_000, "nested too deeply", id="depth"),
    ],
)
def test_a_definition_that_would_fill_the_memory_is_refused(source: str, reason: str) -> None:
    with pytest.raises(DefinitionError, match=reason):
        interpreter.read(source)
