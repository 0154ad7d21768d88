"""Checkpoints of a training that is killed and started again, in a folder of a bucket or of this machine.

    from vertex_cluster import checkpoints

    store = checkpoints.Checkpoints(keep=3)
    stop = checkpoints.sigterm_flag()
    first = store.resume(lambda folder: model.load_state_dict(torch.load(folder / "model.pt"))) + 1
    for step in range(first, steps + 1):
        train(step)
        if step % 100 == 0 or stop:
            store.save(step, lambda folder: torch.save(model.state_dict(), folder / "model.pt"))
        if stop:
            sys.exit(143)

The folder may be below the mount at ``/gcs``: no name is written twice. A checkpoint is whole if its marker
``COMPLETE.json`` exists and names each file with its size. See docs/guides/frameworks/checkpoints.md.
"""

from __future__ import annotations

from .folder import MARKER, Checkpoint, CheckpointError, newest
from .records import Start, starts
from .signals import SigtermFlag, sigterm_flag
from .store import VARIABLES, Checkpoints

__all__ = [
    "MARKER",
    "VARIABLES",
    "Checkpoint",
    "CheckpointError",
    "Checkpoints",
    "SigtermFlag",
    "Start",
    "newest",
    "sigterm_flag",
    "starts",
]
