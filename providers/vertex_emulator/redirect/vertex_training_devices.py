"""TensorFlow makes as many logical devices of the CPU as the replica's machine was to have accelerators.

So `tf.distribute.MirroredStrategy()` has as many replicas as on Google Cloud, in a program that knows nothing
of the emulator. JAX does the same by XLA_FLAGS, without this.
"""

from __future__ import annotations

import importlib
from typing import Any, Callable, Optional  # noqa: UP035 - Python 3.7 and later


def install(count: int) -> None:
    """From now on TensorFlow, where it is imported and finds no GPU, has `count` devices of the CPU."""

    def change_of(name: str) -> Optional[Callable[[Any], None]]:  # noqa: UP045
        return (lambda module: _divide(module, count)) if name == "tensorflow" else None

    importlib.import_module("vertex_training_imports").after_import(change_of, f"{count} devices of the CPU")


def _divide(tensorflow: Any, count: int) -> None:
    """A program may do so again, and otherwise, until its first operation."""
    config = tensorflow.config
    if config.list_physical_devices("GPU"):
        return
    cpu = config.list_physical_devices("CPU")[0]
    config.set_logical_device_configuration(cpu, [config.LogicalDeviceConfiguration()] * count)
