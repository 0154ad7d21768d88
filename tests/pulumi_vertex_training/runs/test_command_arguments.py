"""The arguments of printed commands: read by the command's own parser, they find the job."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

import pytest

from pulumi_vertex_training.cli import parser
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.runs import command_arguments
from pulumi_vertex_training.timeouts import ORDINARY
from pulumi_vertex_training.views import target

LOCAL = "projects/790239471140/locations/us-central1/customJobs/7"
BELGIUM = "projects/790239471140/locations/europe-west1/customJobs/7"


def emulator(project: str = "local", data_dir: Path | None = None) -> Endpoint:
    return Endpoint(
        kind="emulator",
        project=project,
        location="us-central1",
        url="http://127.0.0.1:1",
        token="t",
        data_dir=None if data_dir is None else str(data_dir),
    )


@pytest.fixture(autouse=True)
def _default_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERTEX_TRAINING_DATA_DIR", str(tmp_path / "default"))


def test_an_id_is_enough_in_the_emulators_own_place(tmp_path: Path) -> None:
    assert command_arguments.of_job(emulator(), LOCAL) == "7"
    assert command_arguments.of_job(emulator(data_dir=tmp_path / "default"), LOCAL) == "7"


def test_a_job_in_another_project_or_region_of_the_emulator_has_its_full_name() -> None:
    assert command_arguments.of_job(emulator(), BELGIUM) == BELGIUM
    assert command_arguments.of_job(emulator(project="mine"), LOCAL) == LOCAL


def parsed(written: str) -> argparse.Namespace:
    options = parser.build().parse_args(["logs", *shlex.split(written)])
    options.timeouts = ORDINARY
    return options


def test_another_emulator_is_named_by_its_folder(tmp_path: Path) -> None:
    written = command_arguments.of_job(emulator(data_dir=tmp_path / "my data"), LOCAL)
    options = parsed(written)
    assert options.job == "7"
    assert target.of_options(options).data_dir == tmp_path / "my data"


def test_a_job_in_google_cloud_is_not_looked_up_on_an_emulator_that_runs() -> None:
    google = Endpoint(kind="google", project="p", location="europe-west1")
    options = parsed(command_arguments.of_job(google, BELGIUM))
    found = target.resolve(target.of_options(options), {})
    assert (found.kind, found.project, found.location) == ("google", "790239471140", "europe-west1")


def test_an_id_that_a_mock_made_up_stays() -> None:
    assert command_arguments.of_emulator_job("train-id", project=None, data_dir=None) == "train-id"
