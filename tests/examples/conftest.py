"""Every example runs on the emulator of the session, in a project of its own.

A test file has one fixture of the module that calls `example(NAME)`, deploys, and records what it asserts on:

    @pytest.fixture(scope="module")
    def steps(example: NewExample) -> Steps:
        made = example("jax")
        made.up().ok()
        return Steps(outputs=made.outputs(), printed=made.lines(made.job("jax").name, "trained ", 3))

`Example` (`support.client.examples.example`) is an `Engine` with `job`, `lines` and `control`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.testing.processes import SHARED
from support.client.examples import example as examples
from support.client.examples.example import Example, NewExample
from support.emulated.warm_emulators import _warm_emulators as _warm_emulators
from support.waiting import TIMEOUT
from support.warm import warm_python
from vertex_emulator.client import launcher
from vertex_emulator.client.interpreter import VARIABLE
from vertex_emulator.daemon import reset as emulator_reset
from vertex_emulator.kernel.disk.locks import locked
from vertex_emulator.kernel.timeouts import ClientTimeouts


@pytest.fixture(scope="session")
def emulator_of_examples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield the data folder of an emulator, whose images serve all examples in all test processes.

    The last process that uses it stops it. One that comes later starts it again, with the same images.
    """
    folder = Path(os.environ.get(SHARED) or tmp_path_factory.getbasetemp()) / "examples"
    mine = folder / "users" / str(os.getpid())
    mine.parent.mkdir(parents=True, exist_ok=True)
    lock, emulator = folder / "lock", folder / "emulator"
    try:
        with locked(lock, timeout=TIMEOUT), pytest.MonkeyPatch.context() as patch:
            patch.delenv(VARIABLE, raising=False)  # the warm interpreter ends with this process
            mine.touch()
            launcher.ensure(emulator, timeouts=ClientTimeouts(start=TIMEOUT))
        yield emulator
    finally:
        with locked(lock, timeout=TIMEOUT):
            mine.unlink(missing_ok=True)
            if not any(mine.parent.iterdir()) and emulator.exists():
                emulator_reset.stop_and_end_jobs(emulator)


@pytest.fixture(scope="module")
def example(emulator_of_examples: Path, tmp_path_factory: pytest.TempPathFactory) -> NewExample:
    """Return the function that makes a project with a stack of an example."""
    if not examples.has_python():
        message = f"the examples need Python {examples.PYTHON}"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)

    def make(name: str) -> Example:
        folder = tmp_path_factory.mktemp(name)
        return examples.copy(name, folder, emulator=emulator_of_examples, python=warm_python.shared())

    return make
