"""How many devices a framework is to make of the CPU, where the accelerators of the job are not there.

The emulator of vertex-training says so in a variable; Vertex AI does not set it, and there the devices are
real. On the emulator JAX (by XLA_FLAGS) and TensorFlow find as many by themselves. With PyTorch it is the
number of processes to start:

    processes = vertex_cluster.local_devices() or torch.cuda.device_count() or 1
"""

from __future__ import annotations

import os
from typing import Mapping

from .errors import ClusterError

__all__ = ["local_devices"]

_VARIABLE = "VERTEX_CLUSTER_LOCAL_DEVICES"


def local_devices(environ: Mapping[str, str] | None = None) -> int:
    """The number of logical devices to make; 0 on Google Cloud, and for a machine without accelerators.

    `environ` defaults to ``os.environ``. Raises ClusterError for a value that is no number.
    """
    values: Mapping[str, str] = os.environ if environ is None else environ
    text = values.get(_VARIABLE, "").strip()
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        raise ClusterError(
            variable=_VARIABLE,
            path="",
            message=f"is {text!r}, not a number of devices",
            remedy="Give a whole number, or leave it out",
        )
    return int(text)
