"""The memory of one engine operation: resources and runs."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from pulumi_vertex_training.core.custom_timeouts import CustomTimeouts
from pulumi_vertex_training.core.operation import Operation
from pulumi_vertex_training.core.run_context import DecidedRun, RunContext
from pulumi_vertex_training.core.settings import Target
from pulumi_vertex_training.runs.identity import RunKey

RECORDED = {"asked_by": "127.0.0.1:2"}


@pytest.mark.parametrize(
    ("noted", "replaced", "recorded", "anothers"),
    [
        pytest.param(False, False, RECORDED, False, id="no entry was compared"),
        pytest.param(True, False, RECORDED, False, id="the entry that was compared"),
        pytest.param(True, False, {"asked_by": "127.0.0.1:1"}, True, id="an older entry of the same id"),
        pytest.param(True, False, None, True, id="one that may have the same, of a kind made first"),
        pytest.param(True, True, None, False, id="it was replaced all the same"),
    ],
)
def test_which_of_two_entries_with_one_id_keeps_the_resource(
    noted: bool, replaced: bool, recorded: dict[str, Any] | None, anothers: bool
) -> None:
    operation = Operation()
    if noted:
        operation.note_kept("models/m@1", "model m", RECORDED)
    if replaced:
        operation.note_replaced("model m")
    assert operation.belongs_to_another_entry("models/m@1", recorded) is anothers


def test_a_new_operation_knows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    operation = Operation()
    parts = (operation, operation.runs)
    for known in [getattr(part, item.name) for part in parts for item in dataclasses.fields(part)]:
        if isinstance(known, set):
            known.add("something")
        elif isinstance(known, dict):
            known["something"] = "known"
    operation.configure({"vertex-training:project": "p"}.get)
    operation.say_once("a line")
    operation.begin()
    assert operation == Operation()
    operation.say_once("a line")
    assert capsys.readouterr().out == "a line\n" * 2


@pytest.mark.parametrize("part", [Operation, RunContext])
def test_every_field_says_what_it_is_for(part: type[object]) -> None:
    """Read the source: a docstring of a field is not an attribute."""
    import ast
    import inspect
    import textwrap

    tree = ast.parse(textwrap.dedent(inspect.getsource(part))).body[0]
    assert isinstance(tree, ast.ClassDef)
    bare = [
        item.target.id
        for item, after in zip(tree.body, tree.body[1:], strict=False)
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
        if not (isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant))
    ]
    assert bare == []


def test_the_first_claim_wins() -> None:
    operation = Operation()
    assert [operation.claim("a model", name) for name in ("first", "second")] == ["first", "first"]


def test_the_newest_recorded_run_of_a_job_counts() -> None:
    runs = Operation().runs
    for key in ("abc-1", "abc-3", "abc-2", None, "no key"):
        runs.note_recorded_run("train", key)
    assert runs.recorded_run("train") == RunKey(identity="abc", generation=3)
    assert runs.recorded_run("evaluate") is None


def test_recorded_inputs_are_those_of_the_kind_that_asks() -> None:
    operation = Operation()
    operation.note_recorded_inputs("model m", CustomTimeouts(create=1.0))
    assert operation.recorded_inputs("model m", CustomTimeouts) == CustomTimeouts(create=1.0)
    assert operation.recorded_inputs("model m", DecidedRun) is None


def test_a_target_is_unanswered_for_the_one_that_asked() -> None:
    operation, target = Operation(), Target("google", "p", "us-central1")
    one, another = object(), object()
    operation.note_unanswered(one, target)
    assert [operation.is_unanswered(each, target) for each in (one, another)] == [True, False]
