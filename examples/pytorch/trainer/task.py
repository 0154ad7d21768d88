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
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

HELD_OUT, BATCH = 360, 30


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--epochs", type=int, default=20)
    options = parser.parse_args()
    on_gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if on_gpu else "gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    device = torch.device(f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if on_gpu else "cpu")
    print(f"process {rank} of {size}", flush=True)

    pixels, labels = (each.to(device) for each in read_digits(options.data))
    torch.manual_seed(
        rank
    )  # different weights in each process; DistributedDataParallel takes those of rank 0
    model = DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)).to(device)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    mine = torch.arange(rank, len(labels) - HELD_OUT, size)
    steps = (len(labels) - HELD_OUT) // size // BATCH  # the same number in each process
    for epoch in range(1, options.epochs + 1):
        order = mine[torch.randperm(len(mine), generator=torch.Generator().manual_seed(epoch))]
        total = torch.zeros(1, device=device)
        for batch in order[: steps * BATCH].split(BATCH):
            loss = torch.nn.functional.cross_entropy(model(pixels[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch} loss {float(total) / steps / size:.4f}", flush=True)

    weights = b"".join(each.detach().cpu().contiguous().numpy().tobytes() for each in model.parameters())
    print(f"trained {rank} {hashlib.sha256(weights).hexdigest()}", flush=True)
    if rank == 0:
        predicted = model.module(pixels[-HELD_OUT:]).argmax(1)
        save(model.module, float((predicted == labels[-HELD_OUT:]).float().mean()), size)
    dist.barrier()  # the job ends with its chief, so that waits for all others
    dist.destroy_process_group()


def save(model: torch.nn.Module, accuracy: float, processes: int) -> None:
    """Write the weights and the metrics to the model directory, which is mounted below /gcs."""
    folder = Path(os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/"))
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), folder / "model.pt")
    (folder / "metrics.json").write_text(json.dumps({"accuracy": accuracy, "processes": processes}))


def read_digits(path: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return pixels between 0 and 1, and digits."""
    with gzip.open(path, "rt") as file:
        table = torch.tensor([[float(number) for number in row] for row in csv.reader(file)])
    return table[:, :-1] / 16, table[:, -1].long()


if __name__ == "__main__":
    main()
