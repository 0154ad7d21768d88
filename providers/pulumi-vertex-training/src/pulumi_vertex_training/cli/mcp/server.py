"""The server: runs the command of each tool in a process of its own, and returns what it prints.

Such a process ends with a call that is cancelled, shares nothing with other calls, and prints nothing into
the protocol. A deployment goes on without the server.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as DescribedTool

from pulumi_vertex_training.cli.mcp import tools
from pulumi_vertex_training.cli.mcp.tools import Tool
from pulumi_vertex_training.temporary_folders import temporary_folder
from vertex_training import __version__
from vertex_training.command_line.errors import InputError
from vertex_training.findings.words import did_you_mean

_INSTRUCTIONS = (
    "Tools for the training jobs and the Pulumi stacks of one folder. Each is a command of vertex-training, "
    "and returns what the command prints. An error says what to do about it."
)
_LONGEST = 100_000
"""Characters of an answer that are returned."""

_POLL_SECONDS = 0.1


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A command that ended: its exit code and what it printed."""

    code: int
    text: str


@dataclass(kw_only=True)
class Session:
    """The tools of one server.

    `options` come from `vertex-training mcp`. `folder` has a file for each plan, and the outputs of
    deployments. `plans` has the options of each plan's stack, by its name.
    """

    options: argparse.Namespace
    folder: Path
    plans: dict[str, Sequence[str]] = field(default_factory=dict)

    @property
    def tools(self) -> Mapping[str, Tool]:
        offered = (*tools.READING, *([tools.DEPLOY] if self.options.allow_deploy else []))
        return {tool.name: tool for tool in offered}

    async def call(self, name: str, given: Mapping[str, Any]) -> Ended:
        """Run a tool. Raises InputError for an unknown tool or argument."""
        if name not in self.tools:
            raise InputError(f"There is no tool {name!r}.{did_you_mean(name, self.tools)}", path="name")
        tool = self.tools[name]
        arguments = tools.checked(tool, given)
        words = tools.words_of(tool, arguments, self.options)
        if tool is tools.DEPLOY:
            return await self._deploy(words, arguments[tools.PLAN])
        if tool.name == "plan" and self.options.allow_deploy:
            return await self._plan(words, arguments)
        ended = await _run([*_program(tool), *words])
        if tools.LINES in arguments:
            return Ended(code=ended.code, text=tools.last_lines(ended.text, arguments[tools.LINES]))
        return ended

    async def _plan(self, words: Sequence[str], arguments: Mapping[str, Any]) -> Ended:
        """Plan, and keep the plan under a name."""
        name = f"plan-{len(self.plans) + 1}"
        self.plans[name] = [f"--stack={arguments['stack']}"] if "stack" in arguments else []
        file = self.folder / name
        ended = await _run([*_program(), *words, f"--save-plan={file}"])
        text = ended.text.replace(str(file), name)
        if file.exists() and not arguments.get("json"):
            text += f"To deploy exactly this, call the tool deploy with plan={name}.\n"
        return Ended(code=ended.code, text=text)

    async def _deploy(self, words: Sequence[str], name: str) -> Ended:
        """Deploy a plan. Cancelling the call does not end the deployment."""
        made = [each for each in self.plans if (self.folder / each).is_file()]
        if name not in made:
            hint = did_you_mean(name, made)
            raise InputError(f"There is no plan {name!r}.{hint} Call the tool plan first.", path=tools.PLAN)
        file, printed = self.folder / name, self.folder / f"{name}.out"
        with printed.open("wb") as out:
            # Neither Ctrl-C nor the end of the server reaches a session of its own that prints into a file.
            process = subprocess.Popen(  # noqa: S603
                [*_program(), *words, f"--plan={file}", *self.plans[name]],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        while process.poll() is None:
            await anyio.sleep(_POLL_SECONDS)
        text = printed.read_text(errors="replace").replace(str(file), name)
        return Ended(code=process.returncode, text=text)


def _program(tool: Tool | None = None) -> list[str]:
    if tool is not None and tool.program != tools.OWN:
        return [tool.program]
    return [sys.executable, "-m", "pulumi_vertex_training.cli"]


async def _run(command: Sequence[str]) -> Ended:
    """Run a command until it has ended, or until the call is cancelled."""
    try:
        done = await anyio.run_process(
            command,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            check=False,
            env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
        )
    except FileNotFoundError:
        missing = f"error: `{command[0]}` is not on PATH. Call the tool doctor to see what is missing.\n"
        return Ended(code=1, text=missing)
    return Ended(code=done.returncode, text=done.stdout.decode(errors="replace"))


def _answer(ended: Ended) -> CallToolResult:
    text = ended.text
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}\n({len(text) - _LONGEST:,} more characters are left out)"
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=ended.code != 0)


def _described(tool: Tool) -> DescribedTool:
    return DescribedTool(
        name=tool.name,
        description=tools.description_of(tool),
        input_schema=tools.schema_of(tool),
        annotations=ToolAnnotations(read_only_hint=tool.is_read_only, destructive_hint=not tool.is_read_only),
    )


async def _serve(session: Session) -> None:
    async def list_tools(
        _context: ServerRequestContext[Any], _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[_described(tool) for tool in session.tools.values()])

    async def call_tool(_context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        try:
            return _answer(await session.call(params.name, params.arguments or {}))
        except InputError as error:
            return _answer(Ended(code=error.exit_code, text=f"error: {error}\n"))

    server: Server[Any] = Server(
        tools.OWN,
        version=__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def run(options: argparse.Namespace) -> None:
    """Serve on standard input and output until standard input is closed."""
    with temporary_folder("vertex-training-mcp-") as folder:
        anyio.run(_serve, Session(options=options, folder=folder))
