"""Write the event files of this folder, with the writers of TensorBoard and tensorboardX:

python -m venv V && V/bin/pip install tensorboard tensorboardX && V/bin/python write.py
"""

import tempfile
from pathlib import Path

import numpy as np
import tensorboardX
from tensorboard.summary import Writer

STEPS = range(1, 6)
HERE = Path(__file__).parent


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        first = tensorboardX.SummaryWriter(folder)
        for step in STEPS:
            first.add_scalar("loss/train", 1 / step, step)
            first.add_scalar("accuracy", step / 10, step)
        first.add_text("note", "a text", 1)
        first.add_histogram("h", np.arange(10), 1)
        first.close()
        _keep(folder, "tensorboardX.tfevents")
    with tempfile.TemporaryDirectory() as folder:
        second = Writer(folder)
        for step in STEPS:
            second.add_scalar("epoch_loss", 2 / step, step)
            second.add_scalar("big", 1e6 * step, step)
        second.add_scalar("negative", -3.5, 0)
        second.close()
        _keep(folder, "tensorboard.tfevents")


def _keep(folder: str, name: str) -> None:
    [written] = Path(folder).glob("*tfevents*")
    (HERE / name).write_bytes(written.read_bytes())


if __name__ == "__main__":
    main()
