"""Train with DistributedDataParallel. Rank, size and address of the first process are in the environment.

Vertex AI sets them for one process on each machine, torchrun for several.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import json
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from vertex_cluster import checkpoints

HELD_OUT, BATCH = 360, 30
CHECKPOINT_EPOCHS = 5
RESTART_SECONDS = 120


def log(line: str) -> None:
    """Write the line at once. `print` writes its end apart, and torchrun's --tee copies what it finds."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--epochs", type=int, default=20)
    options = parser.parse_args()
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device(f"cuda:{os.environ.get('LOCAL_RANK', 0)}")
        torch.cuda.set_device(device)
    dist.init_process_group("gloo" if device.type == "cpu" else "nccl")
    rank, size = dist.get_rank(), dist.get_world_size()
    log(f"process {rank} of {size}")

    pixels, labels = (each.to(device) for each in read_digits(options.data))
    torch.manual_seed(rank)  # DistributedDataParallel gives all processes the weights of rank 0
    network = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)).to(
        device
    )
    store = checkpoints.Checkpoints(barrier=dist.barrier)
    done = store.resume(lambda at: network.load_state_dict(torch.load(at / "model.pt", map_location=device)))
    if done:
        log(f"continues after epoch {done}")
    model = DistributedDataParallel(network)
    try:
        for epoch in range(done + 1, options.epochs + 1):
            loss = train_epoch(model, pixels[:-HELD_OUT], labels[:-HELD_OUT], epoch)
            due = epoch % CHECKPOINT_EPOCHS == 0 or epoch in (1, options.epochs)
            # Process 0 alone saves, and gets True.
            if due and store.save(epoch, lambda at: torch.save(network.state_dict(), at / "model.pt")):
                log(f"finished {epoch} loss {loss:.4f}")
    except RuntimeError as error:
        # Another process was lost. How it ended decides whether the job restarts, so it has to end first.
        log(f"waiting for a restart of the job: {error}")
        time.sleep(RESTART_SECONDS)
        raise

    weights = b"".join(each.detach().cpu().numpy().tobytes() for each in network.parameters())
    log(f"trained {rank} {hashlib.sha256(weights).hexdigest()}")
    if rank == 0:
        predicted = network(pixels[-HELD_OUT:]).argmax(1)
        accuracy = float((predicted == labels[-HELD_OUT:]).float().mean())
        model_folder = folder_of("AIP_MODEL_DIR")
        save(network.state_dict(), model_folder / "model.pt")
        (model_folder / "metrics.json").write_text(json.dumps({"accuracy": accuracy, "processes": size}))
    dist.barrier()  # the job ends with its chief, so that waits for all others
    del model  # before the process group: as its last user, it can wait for gloo forever
    dist.destroy_process_group()


def train_epoch(
    model: DistributedDataParallel, pixels: torch.Tensor, labels: torch.Tensor, epoch: int
) -> float:
    """Train with this process's part of the rows. Return the mean loss of all processes."""
    rank, size = dist.get_rank(), dist.get_world_size()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    mine = torch.arange(rank, len(labels), size)
    order = mine[torch.randperm(len(mine), generator=torch.Generator().manual_seed(epoch))]
    steps = len(labels) // size // BATCH  # the same number in each process
    total = torch.zeros(1, device=pixels.device)
    for batch in order[: steps * BATCH].split(BATCH):
        loss = torch.nn.functional.cross_entropy(model(pixels[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
    dist.all_reduce(total)
    return float(total) / steps / size


def save(value: object, path: Path) -> None:
    """Write a file under another name first, so that a killed process leaves no half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"partial-{path.name}")
    torch.save(value, partial)
    partial.replace(path)


def folder_of(variable: str) -> Path:
    """Return the folder below /gcs, where the bucket of the address in the variable is mounted."""
    return Path(os.environ[variable].replace("gs://", "/gcs/"))


def read_digits(path: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return pixels between 0 and 1, and digits."""
    with gzip.open(path, "rt") as file:
        table = torch.tensor([[float(number) for number in row] for row in csv.reader(file)])
    return table[:, :-1] / 16, table[:, -1].long()


if __name__ == "__main__":
    main()
