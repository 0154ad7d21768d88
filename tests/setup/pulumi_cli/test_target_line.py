"""The first line of `make up` and `make preview`: where the stack deploys."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from scripts.layout import layout
from scripts.report import ChoreError
from scripts.stack import project_name, target


def test_the_stacks_of_this_project() -> None:
    here = layout()
    assert target(here, "local", {"VERTEX_TRAINING_DATA_DIR": "/data"}) == (
        "Stack local deploys to the emulator on this machine: data in /data."
    )
    assert target(here, "dev", {}) == (
        "Stack dev deploys to Google Cloud: project my-dev-project, location us-central1."
    )
    environment = dataclasses.replace(here, folder="environment")
    assert target(environment, "prod", {}) == (
        "Stack prod deploys to Google Cloud: project my-prod-project, location us-central1."
    )


def test_a_folder_without_a_project_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ChoreError, match="FOLDER is the folder of a Pulumi project"):
        project_name(tmp_path)


def test_a_stack_without_a_file_goes_to_the_emulator() -> None:
    assert str(Path("emulator")) in target(layout(), "no-such-stack", {})
