"""An estimator of AdaNet that reads a checkpoint again while the chief replaces it.

Between two iterations the chief writes the checkpoint of the same step once more. A bucket shows the old
object or the new one. A folder, such as /gcs on the emulator, also shows a part of the new one.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import tensorflow as tf
from compatibility import adanet

TRIES = 10
SECONDS = 0.5


class Estimator(adanet.Estimator):
    """AdaNet's own estimator, whose workers look at the latest checkpoint every second."""

    def _checkpoint_global_step(self, checkpoint_path: str | None) -> int:
        return when_whole(super()._checkpoint_global_step, checkpoint_path)

    def _checkpoint_iteration_number(self, checkpoint_path: str | None) -> int:
        return when_whole(super()._checkpoint_iteration_number, checkpoint_path)


def when_whole(read: Callable[[str | None], int], checkpoint_path: str | None) -> int:
    """Read a checkpoint, up to `TRIES` times. Raises TensorFlow's error if it stays unreadable."""
    for _ in range(TRIES - 1):
        try:
            return read(checkpoint_path)
        except tf.errors.OpError:
            time.sleep(SECONDS)
    return read(checkpoint_path)
