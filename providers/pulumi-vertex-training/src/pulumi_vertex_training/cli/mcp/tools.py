"""The tools: each is a command, with the help, the arguments and the checks of the command's parser."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pulumi_vertex_training.cli import parser
from vertex_training.command_line.arguments import Parser
from vertex_training.command_line.errors import InputError
from vertex_training.findings.words import did_you_mean

OWN = "vertex-training"
LINES, PLAN = "lines", "plan"
"""Arguments of tools that the server itself reads: how much of a log, and which plan."""

_ENDPOINT = ("data_dir", "endpoint", "project", "location")
"""Options of many commands that the person who starts the server chooses, and no agent."""

_TYPES = {bool: "boolean", int: "integer", str: "string", list: "array"}


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool: a verb of `program`, and the arguments of it that an agent may give.

    `fixed` are words of each call. `own` are the schemas of further arguments, and `defaults` values of
    arguments that are not given. `about` is added to the help of the command, unless `has_help` is false.
    """

    name: str
    command: str
    options: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    own: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    about: str = ""
    has_help: bool = True
    program: str = OWN
    is_read_only: bool = True


READING = (
    Tool(name="plan", command="plan", options=("stack", "refresh", "json")),
    Tool(
        name="preview",
        command="preview",
        program="pulumi",
        fixed=("--diff", "--non-interactive"),
        own={"stack": {"type": "string", "description": "stack to preview (default: the selected one)"}},
        about="Show what a deployment would change, property by property, and the messages of checks: "
        "`pulumi preview --diff`. Secret values are masked. `plan` is shorter, and names jobs that stop.",
        has_help=False,
    ),
    Tool(name="jobs", command="jobs", options=("live", "kind", "all", "last", "stack", "json")),
    Tool(name="runs", command="runs", options=("name", "kind", "stack", "compare", "json")),
    Tool(name="status", command="status", options=("job", "stack", "verbose", "json")),
    Tool(
        name="logs",
        command="logs",
        options=("job", "stack", "task", "times", "json"),
        own={LINES: {"type": "integer", "minimum": 1, "description": "return the last lines, this many"}},
        defaults={LINES: 200},
    ),
    Tool(
        name="explain",
        command="explain",
        options=("file", "framework", "location", "replica", "trial", "contract", "json"),
        about="The answer has the cost of the job.",
    ),
    Tool(
        name="cost",
        command="runs",
        options=("by", "json"),
        defaults={"by": "pulumi-resource"},
        about="Show what all jobs have cost, by a label. For the cost of the next deployment call `plan`, of "
        "a job that is not declared yet `explain`, of each run of a resource `runs`.",
        has_help=False,
    ),
    Tool(name="doctor", command="doctor", options=("json",)),
)

DEPLOY = Tool(
    name="deploy",
    command="apply",
    options=("json",),
    fixed=("--yes",),
    own={PLAN: {"type": "string", "description": "name of a plan, as the tool `plan` returned it"}},
    required=(PLAN,),
    about="Call `plan` first, and show its answer to the person you work for. A deployment that has begun "
    "goes on to its end, also if you cancel this call.",
    is_read_only=False,
)


def description_of(tool: Tool) -> str:
    """Return what the tool does."""
    said = _parser(tool).description if tool.has_help else ""
    return f"{said} {tool.about}".strip()


def schema_of(tool: Tool) -> dict[str, Any]:
    """Return the JSON Schema of the arguments."""
    actions = _actions(tool)
    properties = {**{name: _schema_of(action) for name, action in actions.items()}, **tool.own}
    for name, value in tool.defaults.items():
        properties[name] = {**properties[name], "default": value}
    positional = [name for name, one in actions.items() if not one.option_strings and one.nargs is None]
    return {
        "type": "object",
        "properties": properties,
        "required": [*positional, *tool.required],
        "additionalProperties": False,
    }


def checked(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with their defaults. Raises InputError for one that the tool does not have."""
    schema = schema_of(tool)
    properties = schema["properties"]
    for name, value in arguments.items():
        if name not in properties:
            hint = did_you_mean(name, properties)
            raise InputError(f"The tool {tool.name} has no argument {name!r}.{hint}", path=name)
        wanted = properties[name]["type"]
        if value is not None and _TYPES.get(type(value)) != wanted:
            raise InputError(f"{name}: {value!r} is not allowed. Give a value of type {wanted}.", path=name)
    for name in schema["required"]:
        if arguments.get(name) is None:
            raise InputError(f"The tool {tool.name} needs the argument {name!r}.", path=name)
    given = {name: value for name, value in arguments.items() if value is not None}
    return {**tool.defaults, **given}


def words_of(tool: Tool, arguments: Mapping[str, Any], options: argparse.Namespace) -> list[str]:
    """Return the command line without its program. `options` belong to the server. Raises InputError."""
    words, positional = [tool.command, *tool.fixed], []
    if tool.program != OWN:
        return [*words, *(f"--{name}={value}" for name, value in arguments.items())]
    for name, action in _actions(tool).items():
        value = arguments.get(name)
        if value is None or value is False:
            continue
        if not action.option_strings:
            positional.append(str(value))
        elif value is True:
            words.append(action.option_strings[0])
        elif isinstance(value, list):
            words += [action.option_strings[0], *_plain(name, value)]
        else:
            words.append(f"{action.option_strings[0]}={value}")
    known = {action.dest for action in _parser(tool).arguments()}
    for name in _ENDPOINT:
        chosen = getattr(options, name)
        if name in known and name not in arguments and chosen is not None:
            words.append(f"--{name.replace('_', '-')}={chosen}")
    return [*words, "--", *positional] if positional else words


def last_lines(text: str, most: int) -> str:
    """Return the last lines of a log, and how many are left out."""
    lines = text.splitlines()
    if len(lines) <= most:
        return text
    return "\n".join([f"({len(lines) - most:,} earlier lines are left out)", *lines[-most:]])


def _parser(tool: Tool) -> Parser:
    every = parser.build([tool.command]).each()
    return next(each for each in every if each.prog == f"{OWN} {tool.command}")


def _actions(tool: Tool) -> dict[str, argparse.Action]:
    if not tool.options:
        return {}
    every = {action.dest: action for action in _parser(tool).arguments()}
    return {name: every[name] for name in tool.options}


def _schema_of(action: argparse.Action) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string", "description": action.help or ""}
    if action.nargs == 0:
        schema["type"] = "boolean"
    elif action.nargs == "*":
        schema |= {"type": "array", "items": {"type": "string"}}
    elif action.metavar == "N":
        schema["type"] = "integer"
    if action.choices:
        schema["enum"] = list(action.choices)
    return schema


def _plain(name: str, values: Sequence[Any]) -> Iterator[str]:
    for value in values:
        if not isinstance(value, str) or value.startswith("-"):
            raise InputError(f"{name}: {value!r} is not allowed. Name a run by its number or id.", path=name)
        yield value
