"""An emulator without the extra `tuning`: jobs whose search learns are refused, others run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.emulated.emulator import Answer, ask
from support.emulated.installs.environments import base_environment
from support.emulated.job_emulator import PARENT, pool
from support.emulated.services.tuning import tuning_job
from vertex_emulator.client import launcher
from vertex_emulator.client.interpreter import VARIABLE
from vertex_emulator.client.launcher import Emulator
from vertex_emulator.daemon import reset as emulator_reset


@pytest.fixture(scope="module")
def without_optuna(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    folder = tmp_path_factory.mktemp("without-optuna")
    python = base_environment(folder / "venv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(python))
        patch.delenv("PYTHONPATH", raising=False)
        yield launcher.ensure(folder / "data")
    emulator_reset.stop_and_end_jobs(folder / "data")


def create(emulator: Emulator, *, trials: int, **study: str) -> Answer:
    body = tuning_job(pool("pass"), trials=trials)
    body["studySpec"].update(study)
    path = f"{PARENT}/hyperparameterTuningJobs"
    return ask(emulator, "POST", path, body)


def test_a_search_that_learns_names_the_extra(without_optuna: Emulator) -> None:
    answer = create(without_optuna, trials=6)
    assert answer.status == 400
    assert "needs the extra `tuning` of pulumi-vertex-training: optuna is not installed" in answer.message
    assert "-m pip install 'pulumi-vertex-training[tuning]" in answer.message
    assert answer.message.endswith("Or set algorithm to RANDOM_SEARCH or GRID_SEARCH.")


@pytest.mark.parametrize(("trials", "study"), [(5, {}), (6, {"algorithm": "RANDOM_SEARCH"})])
def test_other_searches_need_no_extra(without_optuna: Emulator, trials: int, study: dict[str, str]) -> None:
    answer = create(without_optuna, trials=trials, **study)
    assert "optuna" not in str(answer.body)
    assert answer.status == 200, answer.body
