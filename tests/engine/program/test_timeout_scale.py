"""The scale of timeouts reaches each process of a deployment: program, provider process and emulator."""

from __future__ import annotations

from support.client.engine import Engine
from vertex_emulator.client import launcher
from vertex_training.timeouts import VARIABLE


def test_the_scale_reaches_the_emulator_and_the_provider_process(engine: Engine) -> None:
    engine.write('vt.StagingBucket("bucket", name="scaled", force_destroy=True)\n')
    engine.environment[VARIABLE] = "3"
    engine.up().ok()
    emulator = launcher.find(engine.data_dir)
    assert emulator is not None
    assert emulator.timeout_scale == 3.0

    engine.environment[VARIABLE] = "fast"
    message = f"{VARIABLE} is 'fast', but must be a number from 1 to 100. Set it to 3 on a slow machine, or"
    # No program runs in a destroy, so the provider process has read the variable.
    refused = engine.destroy().failed()
    assert f"Failure: {message} unset it." in refused.output
    assert "Traceback" not in refused.output
