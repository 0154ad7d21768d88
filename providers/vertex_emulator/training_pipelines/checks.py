"""What is checked of a pipeline that somebody sends, beside its task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vertex_emulator.rpc.methods import Violation
from vertex_emulator.vertex import labels

_MAX_DISPLAY_NAME = 128


def faults(pipeline: Any) -> Iterator[Violation]:
    """What is wrong with the message."""
    path = "training_pipeline"
    if not pipeline.display_name:
        yield Violation(f"{path}.display_name", "Required field is not set.")
    elif len(pipeline.display_name) > _MAX_DISPLAY_NAME:
        yield Violation(
            f"{path}.display_name", f"The display name can be up to {_MAX_DISPLAY_NAME} characters long."
        )
    if not pipeline.training_task_definition:
        yield Violation(f"{path}.training_task_definition", "Required field is not set.")
    if not pipeline.HasField("training_task_inputs"):
        yield Violation(f"{path}.training_task_inputs", "Required field is not set.")
    yield from labels.faults(pipeline.labels, f"{path}.labels")
