"""The pages of the commands: every command and option of the parser, in groups, with examples."""

from __future__ import annotations

import argparse
import functools
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pulumi_vertex_training.cli import parser
from pulumi_vertex_training.cli.arguments import JOB_HELP
from pulumi_vertex_training.cli.explain.options import FILE_HELP
from pulumi_vertex_training.cli.teams.plan.checks import EXIT_CODES
from scripts.reference.markdown import HEADER, REFERENCE, anchor, code, items, linked
from scripts.reference.pages import json_page
from vertex_training.command_line.arguments import Parser

PAGE = REFERENCE / "commands.md"
EMULATOR_PAGE = REFERENCE / "emulator-commands.md"
_EMULATOR = "emulator"
_SHARED = "Shared options"
_SEVERAL = 3
"""As many commands with an option of the same text make it a shared one."""


_OF_THE_EMULATOR = ("--json", "--data-dir")
"""Options of every command of the emulator, which their page names once."""


class UnlistedCommandError(Exception):
    """A command is in no group, or a group has a name that is no command."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """Commands under one heading, each with its examples."""

    title: str
    examples: Mapping[str, tuple[str, ...]]


GROUPS = (
    Group(
        title="Before you deploy",
        examples={
            "explain": (
                "explain job.yaml",
                "explain job.yaml --framework pytorch --replica workerpool1-0",
                "explain job.yaml --svg",
            ),
            "diff": ("diff old.yaml new.yaml", "diff old.yaml new.yaml --exit-code"),
            "placement": ("placement --workers 8 --ps 3 --subnetworks 4",),
            "prices": ("prices --location europe-west4", "prices --of n1-standard-8"),
        },
    ),
    Group(
        title="Deploy",
        examples={
            "preflight": (
                "preflight job.yaml --endpoint google --project my-project",
                "preflight --stack prod",
            ),
            "plan": ("plan", "plan --stack prod --markdown --save-plan plan.json"),
            "apply": ("apply --stack prod --plan plan.json --yes",),
            "drift": ("drift --stack prod --exit-code",),
            "promote": ("promote --from dev --to prod", "promote --from dev --to prod --run train/3 --yes"),
            "migrate-state": ("migrate-state --to package", "migrate-state --to package --stack dev --yes"),
        },
    ),
    Group(
        title="Jobs",
        examples={
            "jobs": ("jobs", "jobs --live --json"),
            "runs": ("runs train", "runs train --compare 2 5", "runs --by pulumi-resource"),
            "trace": (
                "trace digits@golden",
                "trace gs://my-bucket/files/train.csv",
                f"trace us-central1-docker.pkg.dev/p/r/image@sha256:{'0123456789abcdef' * 4}",
                "trace 1f3a9c2",
            ),
            "status": ("status train",),
            "logs": ("logs train --follow", "logs train --task workerpool0-0"),
            "replica": ("replica exec train workerpool0-0 -- bash",),
            "cancel": ("cancel train",),
            "top": ("top",),
            "watch": ("watch train",),
            "tensorboard": ("tensorboard train search",),
            "import": ("import train", "import gs://my-bucket"),
            "gc": ("gc", "gc --yes"),
        },
    ),
    Group(
        title="This machine",
        examples={
            "ui": ("ui --open",),
            "doctor": ("doctor", "doctor --repair"),
            "completion": ("completion bash",),
            "plugin": ("plugin install",),
            "mcp": ("mcp --cwd infra", "mcp --endpoint google --project my-project --location us-central1"),
        },
    ),
)

EMULATOR_GROUPS = (
    Group(
        title="Start and stop",
        examples={
            "start": ("emulator start",),
            "stop": ("emulator stop",),
            "status": ("emulator status",),
            "env": ('eval "$(vertex-training emulator env)"',),
            "reset": ("emulator reset --yes",),
            "prune": ("emulator prune",),
            "export": ("emulator export state.tar",),
            "import": ("emulator import state.tar",),
        },
    ),
    Group(
        title="Time and limits",
        examples={
            "clock": ("emulator clock advance 3600",),
            "capacity": ("emulator capacity set NVIDIA_L4 0 --region us-central1 --strategy SPOT",),
            "quota": ("emulator quota set NVIDIA_L4 4 --region us-central1",),
            "replica-limit": ("emulator replica-limit 8",),
            "start-delay": ("emulator start-delay 30",),
            "persistent-resource-delay": ("emulator persistent-resource-delay 30",),
        },
    ),
    Group(
        title="Faults",
        examples={
            "fault": ("emulator fault add CreateCustomJob --drop after", "emulator fault clear"),
            "stale-objects": ("emulator stale-objects on",),
            "replica": (
                "emulator replica kill train workerpool1-0 --after 60",
                "emulator replica forward train workerpool0-0 6006",
            ),
            "deny": ("emulator deny aiplatform.customJobs.create",),
            "allow": ("emulator allow aiplatform.customJobs.create",),
            "allow-host": ("emulator allow-host pubsub.googleapis.com",),
            "service": ("emulator service disable aiplatform",),
            "requests": ("emulator requests --last 50",),
        },
    ),
    Group(
        title="Behaviour",
        examples={
            "contract": ("emulator contract documented",),
            "network": ("emulator network namespace",),
            "unknown-types": ("emulator unknown-types allow",),
            "secret": ("emulator secret set wandb",),
        },
    ),
)

_GUIDES: Mapping[str, tuple[str, ...]] = {
    "explain": (
        *("programs/forms.md", "frameworks/choose.md", "cost/cost.md"),
        *("teams/plan.md#the-picture", "running/watching.md#a-picture-of-the-topology"),
    ),
    "placement": ("frameworks/placement.md",),
    "prices": ("cost/prices.md",),
    "preflight": ("cost/preflight.md",),
    "plan": ("teams/plan.md",),
    "drift": ("running/drift.md",),
    "promote": ("teams/promotion.md",),
    "migrate-state": ("programs/python-package.md",),
    "runs": (
        "programs/rerun.md#the-history-of-runs",
        "running/watching.md#compare-runs",
        "cost/cost.md#what-a-run-has-cost",
    ),
    "trace": ("running/lineage.md",),
    "top": ("running/watching.md",),
    "tensorboard": ("running/watching.md#tensorboard",),
    "import": ("running/adopt.md",),
    "ui": ("running/dashboard.md",),
    "doctor": ("programs/program.md#after-a-kill",),
}
"""The guides in which a command is used, below docs/guides."""

_OWN_CODES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "diff": (("1", "with `--exit-code`: the files differ"), ("2", "a file has errors")),
    "explain": (("2", "the file has errors"),),
    "preflight": (("1", "something is certain to stop a job"),),
    "plan": (
        ("1", "there is no preview, or with `--exit-code`: something changes"),
        ("2", "the preview has errors"),
        *((str(value), f"the check `{name}` failed") for name, value in EXIT_CODES.items()),
        ("their sum", "several checks failed"),
    ),
    "apply": (("1", "the deployment failed"), ("2", "refused, and nothing was changed")),
    "drift": (
        ("1", "with `--exit-code`: a resource has drifted"),
        ("2", "a resource could not be read"),
    ),
    "watch": (("1", "the job failed, was cancelled or expired"), ("2", "there is no such job")),
    "doctor": (("1", "a finding is an error"),),
}
"""Exit codes with a meaning of their own; the codes of failed checks of `plan` are added up."""


def pages() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of each page."""
    whole = parser.build()
    commands = {one.prog: one for one in whole.each()}
    yield PAGE, "\n\n".join(_page(commands)) + "\n"
    yield EMULATOR_PAGE, "\n\n".join(_emulator_page(commands)) + "\n"


def _page(commands: Mapping[str, Parser]) -> Iterator[str]:
    yield f"{HEADER}# Commands"
    yield (
        "Every command and option of `vertex-training`. `vertex-training COMMAND --help` prints the same.\n"
        f"The commands of the emulator have [a page of their own]({EMULATOR_PAGE.name}), and so has what\n"
        f"[`--json`]({json_page.PAGE.name}) prints."
    )
    yield "## Exit codes"
    yield items(
        PAGE,
        (
            ("0", "", "The command did its work."),
            ("1", "", "A failure: a service did not answer, a request was refused."),
            ("2", "", "Bad usage or input; `--json` has `errors`."),
            ("130", "", "You interrupted it with Ctrl-C."),
        ),
    ).rstrip("\n")
    yield f"## {_SHARED}"
    yield linked(
        PAGE,
        "Each command that has one of these names it below its own arguments. See also\n"
        "docs/guides/running/watching.md#which-job-a-name-means.",
    )
    yield items(PAGE, [_entry(each) for each in _shared().values()]).rstrip("\n")
    yield from _groups(commands, GROUPS, "vertex-training", PAGE)


def _emulator_page(commands: Mapping[str, Parser]) -> Iterator[str]:
    yield f"{HEADER}# Commands of the emulator"
    shared = f"[{_SHARED.lower()}]({PAGE.name}#{anchor(_SHARED)})"
    yield (
        "Every command and option of `vertex-training emulator` and of `vertex-emulator`, with the\n"
        f"[exit codes]({PAGE.name}#exit-codes) of all commands. All have the {shared}\n"
        f"{' and '.join(f'`{each}`' for each in _OF_THE_EMULATOR)}."
    )
    yield from _groups(commands, EMULATOR_GROUPS, f"vertex-training {_EMULATOR}", EMULATOR_PAGE)


def _groups(
    commands: Mapping[str, Parser], groups: tuple[Group, ...], prefix: str, page: Path
) -> Iterator[str]:
    names = {prog.removeprefix(f"{prefix} ") for prog in commands if prog.startswith(f"{prefix} ")}
    direct = {name for name in names if " " not in name} - {_EMULATOR}
    listed = {name for group in groups for name in group.examples}
    if direct != listed:
        raise UnlistedCommandError(
            f"scripts/reference/pages/commands.py: {prefix}: {', '.join(sorted(direct ^ listed))}: "
            "a group must have each command with an example."
        )
    for group in groups:
        yield f"## {group.title}"
        for name, examples in group.examples.items():
            yield from _command(commands, f"{prefix} {name}", name, examples, page)


def _command(
    commands: Mapping[str, Parser], prog: str, heading: str, examples: tuple[str, ...], page: Path
) -> Iterator[str]:
    yield f"### {heading}"
    below = [name for name in commands if name.startswith(f"{prog} ")]
    yield from _usage(commands[prog], page, with_arguments=not below)
    if below:
        yield "\n".join(_subcommand(commands[name], page) for name in below)
    if codes := _OWN_CODES.get(heading) if page == PAGE else None:
        yield f"Exit codes: {'; '.join(f'{value}, {meaning}' for value, meaning in codes)}."
    if guides := _GUIDES.get(heading) if page == PAGE else None:
        yield linked(page, f"See {', '.join(f'docs/guides/{each}' for each in guides)}.")
    yield code("\n".join(written(each) for each in examples), "sh")


def written(example: str) -> str:
    """Return an example as it is typed in a shell."""
    return example if "vertex-training" in example else f"vertex-training {example}"


def _usage(command: Parser, page: Path, *, with_arguments: bool) -> Iterator[str]:
    yield _sentence(command.description or "")
    if with_arguments and (entries := _arguments(command, page)):
        yield entries


def _subcommand(command: Parser, page: Path) -> str:
    """Return a command below another one as an item, with its arguments below."""
    usage = f"{command.prog.removeprefix('vertex-training ').removeprefix('emulator ')} {_words(command)}"
    line = f"* `{usage.strip()}`: {_sentence(command.description or '')}"
    below = textwrap.indent(_arguments(command, page).replace("\n\n", "\n"), "    ")
    return f"{line}\n{below}" if below else line


def _actions(command: Parser) -> list[argparse.Action]:
    return [
        each
        for each in command.arguments()
        if not isinstance(each, argparse._HelpAction | argparse._VersionAction | argparse._SubParsersAction)
    ]


def _words(command: Parser) -> str:
    """Return the arguments that a command needs, as in its usage; "" without any."""
    actions = _actions(command)
    positional = [each for each in actions if not each.option_strings]
    required = [each for each in actions if each.option_strings and each.required]
    if not positional and not required:
        return ""
    return " ".join(map(_usage_of, (*positional, *required)))


def _arguments(command: Parser, page: Path) -> str:
    """Return a list of the arguments of a command, and a line with the shared ones."""
    actions = [each for each in _actions(command) if each.option_strings or _entry(each)[1:] != ("", "")]
    own = sorted((each for each in actions if not _is_shared(each)), key=_is_option)
    everywhere = _OF_THE_EMULATOR if page == EMULATOR_PAGE else ()
    names = [
        each.option_strings[-1] if each.option_strings else _usage_of(each)
        for each in sorted(actions, key=_is_option)
        if each not in own
    ]
    parts = [items(page, [_entry(each) for each in own]).rstrip("\n")] if own else []
    if shared := [f"`{name}`" for name in names if name not in everywhere]:
        target = f"{'' if page == PAGE else PAGE.name}#{anchor(_SHARED)}"
        mark = "* " if parts else ""
        parts.append(f"{mark}[Shared]({target}): {', '.join(shared)}")
    return "\n".join(parts)


def _is_option(action: argparse.Action) -> bool:
    return bool(action.option_strings)


def _entry(action: argparse.Action) -> tuple[str, str, str]:
    text = (action.help or "").replace("%%", "%")
    if text != JOB_HELP:
        text = text.replace(JOB_HELP, "as `JOB`")
    if action.metavar != "FILE":
        text = text.replace(FILE_HELP, "as `FILE` of `explain`")
    return _name(action), _values(action), _sentence(text)


def _is_shared(action: argparse.Action) -> bool:
    found = _shared().get(_name(action))
    return found is not None and _entry(found) == _entry(action)


@functools.cache
def _shared() -> Mapping[str, argparse.Action]:
    """Return the arguments that several commands have with the same text, by name."""
    actions: dict[tuple[str, str, str], list[argparse.Action]] = {}
    for command in parser.build().each():
        for each in command.arguments():
            if each.help and not isinstance(each, argparse._HelpAction | argparse._VersionAction):
                actions.setdefault(_entry(each), []).append(each)
    often = [same for same in actions.values() if len(same) >= _SEVERAL]
    often.sort(key=lambda same: (bool(same[0].option_strings), -len(same)))  # what is no option first
    return {_name(same[0]): same[0] for same in often}


def _usage_of(action: argparse.Action) -> str:
    name = _metavar(action)
    if action.option_strings:
        return f"{action.option_strings[0]} {name}"
    return {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} [{name} ...]"}.get(str(action.nargs), name)


def _metavar(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        return action.metavar
    return action.dest.upper().replace("_", "-")


def _name(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{_usage_of(action)}`"
    takes = "" if action.nargs == 0 else f" {_metavar(action)}"
    if action.choices:
        takes = ""
    return ", ".join(f"`{each}{takes}`" for each in action.option_strings) + (
        " (required)" if action.required else ""
    )


def _values(action: argparse.Action) -> str:
    if action.choices:
        return ", ".join(f"`{each}`" for each in action.choices)
    return {"*": "any number", "+": "one or more"}.get(str(action.nargs), "") + (
        "repeatable" if isinstance(action, argparse._AppendAction) else ""
    )


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    if not text:
        return ""
    text = text if text[0] in "-`" else text[0].upper() + text[1:]
    return text if re.search(r"[.!?)]$", text) and not text.endswith(")") else f"{text.rstrip('.')}."
