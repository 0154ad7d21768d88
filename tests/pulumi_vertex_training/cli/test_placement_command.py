"""The command `placement`: JSON, tables, and numbers that it refuses."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cli import main
from pulumi_vertex_training.cli.placement import command
from vertex_training.command_line.answer import render
from vertex_training.command_line.errors import InputError
from vertex_training.command_line.output import Output


def options(**changed: Any) -> argparse.Namespace:
    usual = {
        "strategy": "round-robin",
        "workers": 5,
        "ps": 5,
        "subnetworks": (3,),
        "drop_remainder": False,
        "no_dedicate": False,
    }
    return argparse.Namespace(**{**usual, **changed})


def shown(output: Output, **changed: Any) -> int:
    return render(command.placement(options(**changed), output), output)


def as_json(capsys: pytest.CaptureFixture[str], **changed: Any) -> Any:
    assert shown(Output(as_json=True, terminal=False), **changed) == 0
    return json.loads(capsys.readouterr().out)


def as_text(capsys: pytest.CaptureFixture[str], *, terminal: bool = False, **changed: Any) -> list[str]:
    assert (
        render(
            command.placement(options(**changed), output := Output(as_json=False, terminal=terminal)), output
        )
        == 0
    )
    return capsys.readouterr().out.splitlines()


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_json_of_a_worker(capsys: pytest.CaptureFixture[str]) -> None:
    assert as_json(capsys)["workers"][3] == {
        "index": 3,
        "name": "workerpool1-2",
        "buildEnsemble": False,
        "buildSubnetworks": [2],
        "trainSubnetworks": True,
        "trainedSubnetworks": [2],
    }


@pytest.mark.parametrize(
    ("changed", "key", "value"),
    [
        pytest.param({}, "parameterServerGroups", [[0, 1], [2, 3], [4]], id="groups"),
        pytest.param({"no_dedicate": True}, "parameterServerGroups", [[0, 1, 2, 3, 4]] * 3, id="no groups"),
        pytest.param(
            {"strategy": "replication"}, "parameterServerGroups", [[0, 1, 2, 3, 4]] * 3, id="replicated"
        ),
        pytest.param({"ps": 0}, "parameterServerGroups", [[], [], []], id="no servers"),
        pytest.param({}, "droppedSubnetworks", [], id="nothing dropped"),
        pytest.param({"workers": 2, "drop_remainder": True}, "droppedSubnetworks", [1, 2], id="dropped"),
        pytest.param({}, "trainersPerSubnetwork", [1, 1, 1], id="trainers"),
        pytest.param(
            {"strategy": "replication"}, "trainersPerSubnetwork", [5, 5, 5], id="replicated trainers"
        ),
        pytest.param({}, "strategy", "round-robin", id="the strategy"),
        pytest.param({"subnetworks": 3}, "subnetworks", 3, id="a number alone"),
        pytest.param({"workers": 4}, "warnings", [], id="nothing to warn of"),
    ],
)
def test_json(capsys: pytest.CaptureFixture[str], changed: dict[str, Any], key: str, value: object) -> None:
    assert as_json(capsys, **changed)[key] == value


def test_json_of_costs(capsys: pytest.CaptureFixture[str]) -> None:
    costs = as_json(capsys, workers=12, ps=6)["costs"]
    assert {name: (one["figure"], one["formula"], one["counted"]) for name, one in costs.items()} == {
        "trainingSpeedup": (4, "m / k", 3),
        "parameterFetches": (24, "m * n / k", 36),
        "workerMemory": (1, "1", 3),
        "staleGradients": (4, "m / k", 3),
    }


def test_json_has_the_first_iteration_at_the_top(capsys: pytest.CaptureFixture[str]) -> None:
    document = as_json(capsys, workers=3, subnetworks=(3, 5, 2), drop_remainder=True)
    assert [one["droppedSubnetworks"] for one in document["iterations"]] == [[2], [2, 3, 4], []]
    assert {key: document[key] for key in document["iterations"][0]} == document["iterations"][0]


def test_json_of_one_iteration_has_no_list_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert "iterations" not in as_json(capsys)


def test_the_table_of_workers(capsys: pytest.CaptureFixture[str]) -> None:
    lines = as_text(capsys, workers=6)
    assert lines[0] == "RoundRobinStrategy, 6 workers, 5 parameter servers, 3 subnetworks"
    assert [cells(line) for line in lines[2:9]] == [
        ["WORKER", "REPLICA", "ENSEMBLE", "BUILDS", "TRAINS"],
        ["0", "workerpool0-0", "E", "0-2", "-"],
        ["1", "workerpool1-0", "-", "0", "0"],
        ["2", "workerpool1-1", "-", "1", "1"],
        ["3", "workerpool1-2", "-", "2", "2"],
        ["4", "workerpool1-3", "E", "0-2", "-"],
        ["5", "workerpool1-4", "-", "0-2", "0-2"],
    ]


def test_the_table_of_subnetworks(capsys: pytest.CaptureFixture[str]) -> None:
    lines = as_text(capsys, workers=2, drop_remainder=True)
    first = lines.index("SUBNETWORK  TRAINERS  PARAMETER SERVERS")
    assert [cells(line) for line in lines[first + 1 : first + 4]] == [
        ["0", "1", "0-1"],
        ["1", "dropped", "2-3"],
        ["2", "dropped", "4"],
    ]


def test_the_table_of_costs(capsys: pytest.CaptureFixture[str]) -> None:
    lines = as_text(capsys)
    assert ["parameter fetches", "8.33333", "m * n / k", "15"] in [cells(line)[:4] for line in lines]


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        pytest.param({}, "Dropped: none.", id="none"),
        pytest.param({"workers": 2, "drop_remainder": True}, "Dropped: 2 of 3 (1-2).", id="two"),
        pytest.param({"workers": 3, "drop_remainder": True}, "Dropped: 1 of 3 (2).", id="one"),
    ],
)
def test_a_line_on_what_is_dropped(
    capsys: pytest.CaptureFixture[str], changed: dict[str, Any], line: str
) -> None:
    assert line in as_text(capsys, **changed)


def test_each_iteration_has_a_title(capsys: pytest.CaptureFixture[str]) -> None:
    lines = as_text(capsys, workers=1, ps=1, subnetworks=(1, 2))
    assert [line for line in lines if line.startswith("Iteration")] == [
        "Iteration 1: RoundRobinStrategy, 1 worker, 1 parameter server, 1 subnetwork",
        "Iteration 2: RoundRobinStrategy, 1 worker, 1 parameter server, 2 subnetworks",
    ]


@pytest.mark.parametrize(
    ("changed", "beginnings"),
    [
        pytest.param({"workers": 4}, [], id="nothing"),
        pytest.param({}, ["workerpool1-3 starts a new group"], id="a late ensemble worker"),
        pytest.param(
            {"strategy": "replication", "drop_remainder": True, "no_dedicate": True},
            ["--drop-remainder has no effect: ", "--no-dedicate has no effect: "],
            id="options of the other strategy",
        ),
    ],
)
def test_warnings(
    capsys: pytest.CaptureFixture[str], changed: dict[str, Any], beginnings: Sequence[str]
) -> None:
    lines = [line for line in as_text(capsys, **changed) if line.startswith("Warning: ")]
    warnings = as_json(capsys, **changed)["warnings"]
    assert lines == [f"Warning: {warning}" for warning in warnings]
    assert [
        warning[: len(beginning)] for warning, beginning in zip(warnings, beginnings, strict=True)
    ] == list(beginnings)


def test_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    lines = as_text(capsys, terminal=True)
    assert ["4", "workerpool1-3", "E", "0-2", "-"] in [cells(line) for line in lines]


@pytest.mark.parametrize(
    ("changed", "path", "message"),
    [
        pytest.param({"workers": 0}, "--workers", "--workers is 0, but the minimum is 1.", id="no workers"),
        pytest.param({"ps": -1}, "--ps", "--ps is -1, but the minimum is 0.", id="negative servers"),
        pytest.param(
            {"subnetworks": (3, 0)},
            "--subnetworks",
            "--subnetworks is 0, but the minimum is 1.",
            id="no subnetworks",
        ),
        pytest.param(
            {"subnetworks": ()},
            "--subnetworks",
            "--subnetworks has 0 iterations, but a plan can have 1 to 10000",
            id="no iteration",
        ),
        pytest.param(
            {"workers": 10_000, "subnetworks": (10_000,)},
            "--subnetworks",
            "--subnetworks times workers is 100000000, but the maximum is 1000000.",
            id="too large a plan",
        ),
        pytest.param(
            {"workers": 10**9}, "--workers", "--workers is 1000000000, but the maximum is 10000", id="huge"
        ),
        pytest.param(
            {"strategy": "random"}, "--strategy", "--strategy is 'random'. Use replication or", id="strategy"
        ),
    ],
)
def test_refused(changed: dict[str, Any], path: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        shown(Output(as_json=True, terminal=False), **changed)
    assert caught.value.path == path
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((), "-"),
        ((4,), "4"),
        ((0, 1), "0-1"),
        ((0, 2), "0, 2"),
        ((0, 1, 2, 5, 7, 8), "0-2, 5, 7-8"),
    ],
)
def test_numbers_in_short(values: tuple[int, ...], text: str) -> None:
    assert command.numbers(values) == text


def test_through_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    words = (
        "placement --strategy round-robin --workers 6 --ps 5 --subnetworks 3,2 --drop-remainder --no-dedicate"
    )
    assert main.main([*words.split(), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [one["trainersPerSubnetwork"] for one in document["iterations"]] == [[2, 1, 1], [2, 2]]
    assert document["parameterServerGroups"] == [[0, 1, 2, 3, 4]] * 3


def test_a_plan_that_is_too_large_ends_with_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    words = "placement --strategy replication --workers 10000 --ps 0 --subnetworks 10000 --json"
    assert main.main(words.split()) == 2
    (error,) = json.loads(capsys.readouterr().out)["errors"]
    assert error["path"] == "--subnetworks"


def test_the_sample_of_the_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[3] / "docs" / "guides" / "frameworks" / "placement.md").read_text()
    command, printed = page.split("```\n")[1], page.split("```\n")[3]
    assert main.main(command.split()[1:]) == 0
    assert capsys.readouterr().out == printed


def test_a_warning_names_the_flag(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["--json"]):
        main.main(["placement", "--workers=2", "--subnetworks=4", "--drop-remainder", *words])
        assert "or without --drop-remainder." in capsys.readouterr().out
