"""An emulator that runs but does not answer is busy, in the command's words, and never "not running"."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from support.emulated.command import Ended, environment, run
from vertex_emulator.client import launcher
from vertex_emulator.daemon import reset as emulator_reset
from vertex_training.timeouts import VARIABLE


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[launcher.Emulator]:
    """Yield an emulator whose process is suspended.

    It has the timeouts of an ordinary machine, which the commands take from it: each is waited for in full.
    """
    folder = tmp_path_factory.mktemp("busy") / "data"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "1")
        emulator = launcher.ensure(folder)
    process = psutil.Process(emulator.pid)
    process.suspend()
    yield emulator
    process.resume()
    emulator_reset.reset(folder)


def run_all(emulator: launcher.Emulator, home: Path, *commands: str) -> dict[str, Ended]:
    """Run the commands side by side, because each waits for an answer. Return their results."""
    env = environment(home, VERTEX_TRAINING_DATA_DIR=str(emulator.data_dir))
    with ThreadPoolExecutor() as pool:
        return dict(
            zip(commands, pool.map(lambda words: run(*words.split(), env=env), commands), strict=True)
        )


def test_commands_say_busy(busy: launcher.Emulator, tmp_path: Path) -> None:
    ended = run_all(
        busy,
        tmp_path,
        "emulator status",
        "emulator status --json",
        "emulator env",
        "jobs --project p --location us-central1",
        "doctor",
    )
    for words, result in ended.items():
        text = result.out + result.err
        assert result.code == 1, words
        assert "not running" not in text, words
        if "--json" not in words:
            assert f"(process {busy.pid}) is busy: it did not answer" in " ".join(text.split()), words
    assert ended["emulator status --json"].json == {
        "running": True,
        "busy": True,
        "pid": busy.pid,
        "dataDir": str(busy.data_dir),
        "reason": f"it did not answer at {busy.url}",
    }


@pytest.mark.slow
def test_start_and_stop_say_busy(busy: launcher.Emulator, tmp_path: Path) -> None:
    """Wait as long as a start and a stop may take."""
    for words, result in run_all(busy, tmp_path, "emulator start", "emulator stop").items():
        assert result.code == 1, words
        assert f"(process {busy.pid}) is busy: it did not answer" in result.err, words
        assert "not running" not in result.err, words
