"""The runs in an exported state: of its resources, replaced ones included, and of pending creations."""

from __future__ import annotations

from typing import Any

import pytest

from pulumi_vertex_training.core.state import entries
from pulumi_vertex_training.core.state.entries import StackState
from pulumi_vertex_training.registry import type_token

FIRST, SECOND, THIRD, FOURTH = (character * 16 for character in "abcd")
PREFIX = "urn:pulumi:dev::digits::"
JOBS = "projects/p/locations/l/customJobs/"
SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:x"}


def urn(type_: str, name: str) -> str:
    return f"{PREFIX}{type_token(type_)}::{name}"


def job(name: str, id_: str | None, run: Any, *, type_: str = "CustomJob", **more: Any) -> dict[str, Any]:
    """Return a job's entry. `run` is its hidden property: with a key in the outputs, else in the inputs."""
    part = "outputs" if isinstance(run, dict) and "key" in run else "inputs"
    made = {"urn": urn(type_, name), "type": type_token(type_), "inputs": {"env": SECRET}}
    return {**made, **({"id": id_} if id_ else {}), part: {"__run": run, "env": SECRET}, **more}


def operation(kind: str, resource: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "resource": resource}


STACK = {"urn": f"{PREFIX}pulumi:pulumi:Stack::digits-dev", "type": "pulumi:pulumi:Stack"}
EXPORT: dict[str, Any] = {
    "version": 3,
    "deployment": {
        "resources": [
            STACK,
            {"urn": urn("StagingBucket", "data"), "id": "data", "outputs": {"name": "data"}},
            job("train", f"{JOBS}2", {"key": f"{FIRST}-2"}),
            job("train", f"{JOBS}1", {"key": f"{FIRST}-1"}, delete=True),
            job(
                "tune", None, {"key": f"{SECOND}-7"}, type_="HyperparameterTuningJob", pendingReplacement=True
            ),
            job("half", f"{JOBS}3", {"identity": FOURTH}),
            job("broken", f"{JOBS}4", "no object"),
        ],
        "pending_operations": [
            operation("creating", job("train", None, {"identity": FIRST, "spec_hash": "1"})),
            operation("creating", job("train", None, {"identity": THIRD, "spec_hash": "2"})),
            operation("creating", {"urn": urn("StagingBucket", "more"), "inputs": {}}),
            operation("deleting", job("gone", f"{JOBS}9", {"identity": THIRD})),
            operation("updating", job("tune", f"{JOBS}8", {"identity": SECOND})),
        ],
    },
}


def test_a_state_has_the_runs_of_its_resources_and_of_what_was_begun() -> None:
    """Leave out pending operations that are not creations."""
    assert entries.read(EXPORT, urn("CustomJob", "train")) == StackState(
        ids=frozenset({"data", *(f"{JOBS}{number}" for number in (1, 2, 3, 4))}),
        identities=frozenset({FIRST, SECOND, FOURTH}),
        begun={urn("CustomJob", "train"): frozenset({FIRST, THIRD})},
        recorded={
            urn("CustomJob", "train"): f"{FIRST}-2",
            urn("HyperparameterTuningJob", "tune"): f"{SECOND}-7",
        },
    )


def test_the_first_creation_of_a_stack_is_only_a_pending_operation() -> None:
    begun = operation("creating", job("train", None, {"identity": FIRST}))
    state = {"deployment": {"pending_operations": [begun]}}
    found = entries.read(state, urn("CustomJob", "train"))
    assert found == StackState(begun={urn("CustomJob", "train"): frozenset({FIRST})})


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"deployment": {"resources": [{**STACK, "urn": "urn:pulumi:dev::other::a:b:C::d"}]}}, "other/dev"),
        (
            {"deployment": {"resources": [STACK, {"urn": "urn:pulumi:prod::digits::a:b:C::d"}]}},
            "digits/prod, not of",
        ),
        ({"deployment": {"pending_operations": [operation("creating", {})]}}, "not of digits/dev"),
        ({"deployment": {}}, "no resources"),
        ({"deployment": None}, "no resources"),
        ({"deployment": {"resources": {}}, "version": 3}, "no resources"),
        ({"deployment": {"resources": "none"}}, "cannot be read"),
        ({"version": 3}, "neither"),
    ],
)
def test_no_other_state_is_taken_for_the_stack(state: dict[str, Any], message: str) -> None:
    """Refuse an empty state: with it, every live job would look like an orphan."""
    with pytest.raises(ValueError, match=message):
        entries.read(state, urn("CustomJob", "train"))
