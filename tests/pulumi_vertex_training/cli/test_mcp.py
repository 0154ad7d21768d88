"""`vertex-training mcp`: its tools on a real emulator, called over stdio by the official client."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from pulumi_vertex_training.cli.mcp import tools
from pulumi_vertex_training.cli.mcp.tools import DEPLOY, READING, Tool
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.views import target
from support.emulated.command import environment, run, run_on_terminal
from support.services.training import pool
from support.waiting import eventually
from support.warm import warm_python
from vertex_emulator import launcher
from vertex_emulator.daemon import reset as emulator_reset
from vertex_training.command_line.errors import InputError

NO_OPTIONS = argparse.Namespace(data_dir=None, endpoint=None, project=None, location=None)
HIDDEN = "s3cr3t-of-the-test"
ANSWERS: tuple[tuple[str, dict[str, Any], tuple[str, ...]], ...] = (
    ("jobs", {}, ("jobs",)),
    ("jobs", {"live": True, "last": 3, "json": True}, ("jobs", "--live", "--last", "3", "--json")),
    ("status", {"job": "digits"}, ("status", "digits")),
    ("status", {"job": "digits", "json": True}, ("status", "digits", "--json")),
    ("status", {"job": "digit"}, ("status", "digit")),
    ("runs", {"name": "digits"}, ("runs", "digits")),
    ("logs", {"job": "digits", "task": "workerpool0-0"}, ("logs", "digits", "--task", "workerpool0-0")),
    ("cost", {}, ("runs", "--by", "pulumi-resource")),
    ("explain", {"file": "job.yaml", "json": True}, ("explain", "job.yaml", "--json")),
    ("doctor", {}, ("doctor",)),
)
"""Tools with their arguments, and the command that has to print the same."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The tools that the client saw, and the text of each answer with whether it is an error.

    `printed` are the same of the commands themselves.
    """

    tools: list[Any]
    answers: list[tuple[str, bool]]
    printed: list[tuple[str, bool]]
    last_line: str


def text_of(result: Any) -> str:
    return "".join(part.text for part in result.content)


def with_client(
    env: dict[str, str], folder: Path, use: Callable[[Client], Awaitable[Any]], *arguments: str
) -> Any:
    """Start the server as an agent does, and return what `use` returns."""

    async def session() -> Any:
        server = StdioServerParameters(
            command=str(warm_python.shared()),
            args=["-m", "pulumi_vertex_training.cli", "mcp", *arguments],
            env=env,
            cwd=folder,
        )
        async with Client(stdio_client(server)) as client:
            return await use(client)

    return anyio.run(session)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    folder = tmp_path_factory.mktemp("agent")
    data_dir = folder / "data"
    env = environment(folder, VERTEX_TRAINING_DATA_DIR=str(data_dir))
    trainer = "print('first'); print('trained')"
    spec = {"workerPoolSpecs": [{**pool(trainer)}]}
    spec["workerPoolSpecs"][0]["containerSpec"]["env"] = [{"name": "API_KEY", "value": HIDDEN}]
    (folder / "job.yaml").write_text(json.dumps(spec))
    launcher.ensure(data_dir)
    try:
        endpoint = target.resolve(target.Choice(data_dir=data_dir), {})
        custom_jobs.create(endpoint, {"displayName": "digits", "jobSpec": spec})
        ended = ("status", "digits", "--json")
        eventually(lambda: run(*ended, env=env).json["state"] == "JOB_STATE_SUCCEEDED", every=0.5)

        async def use(client: Client) -> tuple[list[Any], list[tuple[str, bool]], str]:
            listed = (await client.list_tools()).tools
            answers = [await client.call_tool(name, arguments) for name, arguments, _ in ANSWERS]
            cut = await client.call_tool("logs", {"job": "digits", "lines": 1})
            return listed, [(text_of(one), one.is_error) for one in answers], text_of(cut)

        listed, answers, last_line = with_client(env, folder, use)
        commands = [run(*words, env=env, folder=folder) for _, _, words in ANSWERS]
        printed = [(ended.out + ended.err, ended.code != 0) for ended in commands]
        yield Seen(tools=listed, answers=answers, printed=printed, last_line=last_line)
    finally:
        emulator_reset.reset(data_dir)


def test_tools_answer_with_the_words_of_the_command(seen: Seen) -> None:
    for (name, arguments, _), answer, printed in zip(ANSWERS, seen.answers, seen.printed, strict=True):
        if name == "doctor":  # the free space of the disk changes meanwhile
            answer, printed = (
                (re.sub(r"[\d.]+ GiB", "", text), failed) for text, failed in (answer, printed)
            )
        assert answer == printed, (name, arguments)


def test_values_of_variables_are_masked(seen: Seen) -> None:
    status = next(
        text
        for (name, given, _), (text, _) in zip(ANSWERS, seen.answers, strict=True)
        if name == "status" and given.get("json")
    )
    assert "API_KEY" in status
    assert not any(
        HIDDEN in text
        for (name, *_), (text, _) in zip(ANSWERS, seen.answers, strict=True)
        if name != "explain"
    )


def test_without_the_flag_all_tools_only_read(seen: Seen) -> None:
    assert [one.name for one in seen.tools] == [tool.name for tool in READING]
    assert all(one.annotations.read_only_hint and not one.annotations.destructive_hint for one in seen.tools)
    assert all(one.description and one.input_schema["additionalProperties"] is False for one in seen.tools)


def test_a_long_log_is_cut_at_its_beginning(seen: Seen) -> None:
    first, _, last = seen.last_line.partition("\n")
    assert first.endswith("earlier lines are left out)")
    assert "\n" not in last.strip()


def test_no_tool_takes_an_option_that_writes_or_shows_secrets() -> None:
    for tool in (*READING, DEPLOY):
        assert not {"show_secrets", "save_plan", "repair", "yes", "follow", "cwd", "data_dir"} & {
            *tool.options
        }


def words(tool: Tool, **arguments: Any) -> list[str]:
    return tools.words_of(tool, tools.checked(tool, arguments), NO_OPTIONS)


TOOLS = {tool.name: tool for tool in (*READING, DEPLOY)}


def test_values_are_never_options() -> None:
    assert words(TOOLS["status"], job="--show-secrets") == ["status", "--", "--show-secrets"]
    assert words(TOOLS["status"]) == ["status"]  # the newest job
    assert words(TOOLS["status"], job="a", stack="--json") == ["status", "--stack=--json", "--", "a"]
    assert words(TOOLS["preview"], stack="--yes")[-1] == "--stack=--yes"
    with pytest.raises(InputError, match="compare: '--json' is not allowed"):
        words(TOOLS["runs"], name="a", compare=["--json"])


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("status", {"jobs": "a"}, "The tool status has no argument 'jobs'. Did you mean 'job'?"),
        ("status", {"job": 1}, "job: 1 is not allowed. Give a value of type string"),
        ("jobs", {"live": "yes"}, "live: 'yes' is not allowed. Give a value of type boolean"),
        ("deploy", {}, "The tool deploy needs the argument 'plan'"),
    ],
)
def test_wrong_arguments_are_refused(tool: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        words(TOOLS[tool], **arguments)
    assert message in str(caught.value)


def test_the_endpoint_is_chosen_by_the_person_who_starts_the_server() -> None:
    options = argparse.Namespace(data_dir=Path("/d"), endpoint="google", project="p", location="l")
    found = tools.words_of(TOOLS["status"], {"job": "a"}, options)
    assert found == ["status", "--data-dir=/d", "--endpoint=google", "--project=p", "--location=l", "--", "a"]
    assert tools.words_of(TOOLS["doctor"], {}, options) == ["doctor", "--data-dir=/d"]
    assert "project" not in tools.schema_of(TOOLS["status"])["properties"]


def test_on_a_terminal_it_explains_itself(tmp_path: Path) -> None:
    ended = run_on_terminal("mcp", env=environment(tmp_path))
    assert ended.code == 2
    assert "An agent starts this command" in ended.plain
