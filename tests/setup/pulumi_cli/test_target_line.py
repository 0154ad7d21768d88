"""The first line of `make up` and `make preview`: where the stack deploys."""

from __future__ import annotations

from pathlib import Path

from scripts.layout import layout
from scripts.stack import target


def test_the_stacks_of_this_project() -> None:
    here = layout()
    assert target(here, "local", {"VERTEX_TRAINING_DATA_DIR": "/data"}) == (
        "Stack local deploys to the emulator on this machine: data in /data."
    )
    assert target(here, "dev", {}) == (
        "Stack dev deploys to Google Cloud: project my-dev-project, location us-central1."
    )


def test_a_stack_without_a_file_goes_to_the_emulator() -> None:
    assert str(Path("emulator")) in target(layout(), "no-such-stack", {})
