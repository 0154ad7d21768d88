"""The memory of one engine operation: resources and runs."""

from __future__ import annotations

from typing import Any

import pytest

from pulumi_vertex_training.core.operation import Operation
from pulumi_vertex_training.core.resource_context import ResourceContext
from pulumi_vertex_training.runs.identity import RunKey

RECORDED = {"asked_by": "127.0.0.1:2"}
URN = "urn:pulumi:dev::p::a:b:C::train"
FORMER = "urn:pulumi:dev::p::a:b:C::old"


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
    context = operation.context(URN)
    if noted:
        operation.note_kept("models/m@1", context, RECORDED)
    context.is_replaced = replaced
    assert operation.belongs_to_another_entry("models/m@1", recorded) is anothers


def test_a_new_operation_knows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    operation = Operation()
    for known in vars(operation).values():
        if isinstance(known, set):
            known.add("something")
        elif isinstance(known, dict):
            known["something"] = "known"
    operation.configure({"vertex-training:project": "p"}.get)
    operation.print_once("a line")
    operation.begin()
    fresh = {name: value for name, value in vars(Operation()).items() if name != "_lock"}
    assert {name: value for name, value in vars(operation).items() if name != "_lock"} == fresh
    operation.print_once("a line")
    assert capsys.readouterr().out == "a line\n" * 2


@pytest.mark.parametrize("part", [Operation, ResourceContext])
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
    context = ResourceContext()
    for key in ("abc-1", "abc-3", "abc-2", None, "no key"):
        context.note_recorded_run(key)
    assert context.recorded_run == RunKey(identity="abc", generation=3)


@pytest.mark.parametrize(
    ("calls", "same"),
    [
        pytest.param([(URN, ""), (URN, "1")], True, id="its URN"),
        pytest.param([(URN, "1"), (FORMER, "1")], True, id="its id, under the URN that it had"),
        pytest.param([(URN, ""), (FORMER, "1"), (URN, "1")], False, id="another resource with the same id"),
        pytest.param([(URN, "1"), (FORMER, "2")], False, id="another resource"),
    ],
)
def test_the_calls_about_one_resource_have_one_context(calls: list[tuple[str, str]], same: bool) -> None:
    operation = Operation()
    first = operation.context(*calls[0])
    assert (operation.context(*calls[1]) is first) is same


def test_a_module_has_a_memory_of_its_own() -> None:
    operation = Operation()
    operation.part(set).add(1)
    assert (operation.part(set), operation.part(dict)) == ({1}, {})


def test_names_of_former_stacks_are_those_of_the_state() -> None:
    operation, marks = Operation(), {"project": "p", "stack": "new", "resource": "r"}
    assert operation.all_marks(marks) == (marks,)
    for stack in ("old", "new", "old"):
        context = operation.context(f"{URN}{stack}")
        context.recorded = {"marks": {"project": "p", "stack": stack, "resource": "other"}}
    assert operation.all_marks(marks) == (marks, {**marks, "stack": "old"})
    assert operation.all_marks({}) == ()
