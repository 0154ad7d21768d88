"""Which of two entries of a state that have one id lives on."""

from __future__ import annotations

from typing import Any

import pytest

from pulumi_vertex_training.plugin import living

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
def test_whose_it_is(
    request: pytest.FixtureRequest,
    noted: bool,
    replaced: bool,
    recorded: dict[str, Any] | None,
    anothers: bool,
) -> None:
    id_, memory = f"models/{request.node.name}@1", f"model {request.node.name}"
    if noted:
        living.note(id_, memory, RECORDED)
    if replaced:
        living.note_replaced(memory)
    assert living.is_anothers(id_, recorded) is anothers
