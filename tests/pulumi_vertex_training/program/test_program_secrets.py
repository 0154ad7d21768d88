"""Values that a program marked as secret are masked in the lines that it prints."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pulumi
import pytest

from pulumi_vertex_training.program import messages
from pulumi_vertex_training.program.messages import ProgramSecrets, note
from pulumi_vertex_training.program.resource import with_outputs


@pytest.mark.parametrize(
    ("secret", "text", "shown"),
    [
        pytest.param("hunter2!", "xhunter2!x", "x[secret]x", id="anywhere"),
        pytest.param("x7q2", "x7q2, x7q2z and 'x7q2'", "[secret], x7q2z and '[secret]'", id="a short one"),
        pytest.param("4711", "pin 4711, step 14711", "pin [secret], step 14711", id="digits"),
        pytest.param(4711, "pin 4711", "pin [secret]", id="a number"),
        pytest.param("abc", "abc", "abc", id="too short"),
        pytest.param(True, "True", "True", id="a switch"),
        pytest.param({"a": ["hunter2!"]}, "it is hunter2!", "it is [secret]", id="in a dictionary"),
        pytest.param('pass"word\n', r'{"p": "pass\"word\n"}', '{"p": "[secret]"}', id="as JSON"),
        pytest.param("pass/word 1", "u:pass%2Fword%201@h", "u:[secret]@h", id="in a URL"),
        pytest.param("first line\nnext line", "  next line", "  [secret]", id="a line of several"),
        pytest.param("{\n  long line\n}", "{ }", "{ }", id="short lines stay"),
        pytest.param(["hunter2!", "hunter2!more"], "hunter2!more", "[secret]", id="the longest first"),
    ],
)
def test_a_secret_is_masked(secret: Any, text: str, shown: str) -> None:
    known = ProgramSecrets()
    known.note(secret)
    assert known.masked(text) == shown


def test_the_secrets_of_a_resource_are_masked_in_messages(capsys: pytest.CaptureFixture[str]) -> None:
    async def body() -> None:
        password = pulumi.Output.secret("hunter2!")
        props = with_outputs(
            {"env": [{"name": "P", "value": password}], "plain": pulumi.Output.from_input("open door")}
        )
        await props["secret_paths"].future()
        messages.info("hunter2! open door", None)
        messages.warn("hunter2! open door", None)
        messages.error("hunter2! open door", None)

    asyncio.run(body())
    assert [line.partition(": ")[2] for line in capsys.readouterr().err.splitlines()] == [
        "[secret] open door"
    ] * 3


def test_configuration_that_is_secret_is_masked(capsys: pytest.CaptureFixture[str]) -> None:
    async def body() -> None:
        pulumi.runtime.set_all_config({"it:password": "hunter2!", "it:size": "open door"}, ["it:password"])
        messages.info("hunter2! open door", None)

    asyncio.run(body())
    assert capsys.readouterr().err == "info: [secret] open door\n"


def test_configuration_with_a_secret_inside_is_masked(capsys: pytest.CaptureFixture[str]) -> None:
    async def body() -> None:
        structured = json.dumps({"user": "me", "passwords": ["hunter2!"]})
        pulumi.runtime.set_all_config({"it:database": structured}, ["it:database"])
        messages.info("me: hunter2!", None)

    asyncio.run(body())
    assert capsys.readouterr().err == "info: me: [secret]\n"


def test_the_next_program_of_a_process_knows_none_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    async def first() -> None:
        note("hunter2!")

    async def second() -> None:
        messages.info("hunter2!", None)

    asyncio.run(first())
    asyncio.run(second())
    assert capsys.readouterr().err == "info: hunter2!\n"
