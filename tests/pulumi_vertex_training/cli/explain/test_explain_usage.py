"""Help and mistakes of `explain`, `diff` and `placement`."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from pulumi_vertex_training.cli import parser
from support.emulated.command import environment, run

COMMANDS = ("explain", "diff", "placement")


def parsed(words: str) -> argparse.Namespace:
    return parser.parse(words.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_what_there_is(tmp_path: Path, command: str) -> None:
    ended = run(command, "--help", env=environment(tmp_path))
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"usage: vertex-training {command}")
    assert "--json" in ended.out


def test_the_main_help_begins_with_the_five_that_a_new_user_needs(tmp_path: Path) -> None:
    out = run("--help", env=environment(tmp_path)).out
    assert list(sections(out)["the five to begin with"]) == ["explain", "jobs", "status", "logs", "doctor"]
    assert list(sections(out))[-1] == "options"


def test_each_command_is_in_one_section_of_the_main_help(tmp_path: Path) -> None:
    listed = [
        name for names in sections(run("--help", env=environment(tmp_path)).out).values() for name in names
    ]
    commands = [one.prog.split()[1] for one in parser.build().each() if len(one.prog.split()) == 2]
    assert sorted(listed) == sorted({*commands, "-h,", "--version"})


def sections(text: str) -> dict[str, list[str]]:
    parts = [part.split("\n") for part in text.split("\n\n") if part.split("\n")[0].endswith(":")]
    return {part[0][:-1]: [line.split()[0] for line in part[1:] if line[2:3] != " "] for part in parts}


def test_a_command_brings_its_own_options_alone() -> None:
    whole = {one.prog: one for one in parser.build(["gc", "--yes"]).each()}
    assert "--backend" in whole["vertex-training gc"].options()
    assert whole["vertex-training plan"].options() == ["-h", "--help"]


def test_defaults_of_explain() -> None:
    options = parser.parse(["explain", "job.yaml"])
    assert (options.file, options.contract, options.trial, options.replica) == (
        "job.yaml",
        "observed",
        None,
        None,
    )
    assert (options.framework, options.location) == (None, None)
    assert (options.allow_unknown_types, options.allow_legacy_types, options.json) == (False, False, False)


def test_defaults_of_placement() -> None:
    options = parsed("placement --workers 5 --subnetworks 3")
    assert (options.strategy, options.workers, options.ps, options.subnetworks) == ("round-robin", 5, 0, (3,))
    assert (options.drop_remainder, options.no_dedicate) == (False, False)


def test_another_number_of_subnetworks_for_each_iteration() -> None:
    options = parsed("placement --strategy replication --workers 1 --ps 2 --subnetworks 3,1,2")
    assert (options.ps, options.subnetworks) == (2, (3, 1, 2))
    assert parser.parse(["placement", "--workers=1", "--subnetworks=3, 5"]).subnetworks == (3, 5)


GOOD = "--strategy replication --workers 5 --subnetworks 3"
MISTAKES: list[tuple[str, str, str, list[str]]] = [
    ("no file", "explain", "FILE", ["FILE is missing"]),
    ("two files", "explain a b", "b", ["has no option 'b'"]),
    ("one file to compare", "diff a", "NEW", ["required: NEW"]),
    ("a class", f"placement {GOOD} --strategy RoundRobinStrategy", "--strategy", ["mean 'round-robin'?"]),
    ("no hyphen", f"placement {GOOD} --strategy roundrobin", "--strategy", ["mean 'round-robin'?"]),
    ("an empty region", "explain f --location=", "--location", ["it is empty; give a region"]),
    ("another strategy", f"placement {GOOD} --strategy random", "--strategy", ["'random'", "round-robin"]),
    ("no workers", f"placement {GOOD} --workers 0", "--workers", ["'0' is not allowed", "from 1 to 10,000"]),
    ("workers in words", f"placement {GOOD} --workers five", "--workers", ["'five' is not allowed"]),
    ("half a worker", f"placement {GOOD} --workers 1.5", "--workers", ["'1.5' is not allowed"]),
    ("too many workers", f"placement {GOOD} --workers 10001", "--workers", ["'10001' is not allowed"]),
    ("fewer than no servers", f"placement {GOOD} --ps=-1", "--ps", ["'-1' is not allowed", "from 0 to"]),
    ("no subnetworks", f"placement {GOOD} --subnetworks 0", "--subnetworks", ["'0' is not allowed"]),
    (
        "a gap between numbers",
        f"placement {GOOD} --subnetworks 3,,2",
        "--subnetworks",
        ["'' is not allowed"],
    ),
    (
        "a misspelt switch",
        f"placement {GOOD} --drop-remainders",
        "--drop-remainders",
        ["mean '--drop-remainder'?"],
    ),
]


@pytest.mark.parametrize(("words", "path", "said"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES])
def test_a_mistake_is_one_line_with_its_path(tmp_path: Path, words: str, path: str, said: list[str]) -> None:
    env = environment(tmp_path)
    ended = run(*words.split(), env=env)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: ") and ended.err.count("\n") == 1
    for each in said:
        assert each in ended.err
    (error,) = run(*words.split(), "--json", env=env).json["errors"]
    assert error["path"] == path
