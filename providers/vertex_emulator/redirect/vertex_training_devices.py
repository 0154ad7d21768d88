"""Give TensorFlow as many logical CPU devices as the replica's machine type has accelerators.

Then `tf.distribute.MirroredStrategy()` has as many replicas as on Google Cloud, without a change to the
program. JAX needs no such module: XLA_FLAGS does the same.
"""

from __future__ import annotations

import importlib
from typing import Any, Callable, Optional  # noqa: UP035 - Python 3.7 and later


def install(count: int) -> None:
    """Give TensorFlow `count` CPU devices when it is imported and finds no GPU."""

    def change_of(name: str) -> Optional[Callable[[Any], None]]:  # noqa: UP045
        return (lambda module: _divide(module, count)) if name == "tensorflow" else None

    importlib.import_module("vertex_training_imports").after_import(change_of, f"{count} devices of the CPU")


def _divide(tensorflow: Any, count: int) -> None:
    """Set the logical devices. A program may set others until its first operation."""
    config = tensorflow.config
    if config.list_physical_devices("GPU"):
        return
    cpu = config.list_physical_devices("CPU")[0]
    config.set_logical_device_configuration(cpu, [config.LogicalDeviceConfiguration()] * count)
