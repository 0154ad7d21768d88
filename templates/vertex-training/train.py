"""Train a classifier on all replicas: each computes gradients on its part of the data.

The chief averages them. Every replica runs this file, which needs nothing but Python and vertex_cluster.
Replace it by your own training.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import time
from array import array
from multiprocessing.connection import Client, Listener
from pathlib import Path
from typing import Any

import vertex_cluster

FEATURES, EXAMPLES, RATE = 8, 2000, 0.5


def main() -> None:
    """Train as the chief or as a worker, by the position of this replica in the cluster."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=50)
    epochs: int = parser.parse_args().epochs
    cluster = vertex_cluster.from_environment()
    ranks = vertex_cluster.trainers(cluster)
    rank = ranks.rank or 0
    data = examples()[rank :: ranks.world_size]
    weights = [0.0] * FEATURES
    if cluster.is_chief:
        workers = ranks.world_size - 1
        peers = accept(cluster.chief_host, cluster.chief_port, workers) if workers else []
        for epoch in range(epochs):
            gradients = [gradient(weights, data), *(receive(peer) for peer in peers)]
            mean = [sum(column) / len(gradients) for column in zip(*gradients)]
            weights = [weight - RATE * step for weight, step in zip(weights, mean)]
            for peer in peers:
                peer.send_bytes(array("d", weights).tobytes())
            vertex_cluster.report(step=epoch + 1, total=epochs, accuracy=accuracy(weights))
        save(weights)
    else:
        chief = connect(cluster.chief_host, cluster.chief_port)
        for _ in range(epochs):
            chief.send_bytes(array("d", gradient(weights, data)).tobytes())
            weights = receive(chief)
    print(f"{cluster.name} has ended", flush=True)


def examples() -> list[tuple[list[float], float]]:
    """Return the data, the same on all replicas: points, and on which side of a plane they are."""
    chance = random.Random(1)
    plane = [chance.gauss(0, 1) for _ in range(FEATURES)]
    points = [[chance.gauss(0, 1) for _ in range(FEATURES)] for _ in range(EXAMPLES)]
    return [(point, float(dot(plane, point) > 0)) for point in points]


def gradient(weights: list[float], data: list[tuple[list[float], float]]) -> list[float]:
    """Return the mean gradient of the logistic loss."""
    errors = [(1 / (1 + math.exp(-dot(weights, point))) - label, point) for point, label in data]
    return [sum(error * point[i] for error, point in errors) / len(data) for i in range(FEATURES)]


def accuracy(weights: list[float]) -> float:
    """Return the share of all examples that the weights classify correctly."""
    data = examples()
    return sum((dot(weights, point) > 0) == (label > 0) for point, label in data) / len(data)


def dot(a: list[float], b: list[float]) -> float:
    """Return the inner product."""
    return sum(x * y for x, y in zip(a, b))


def accept(host: str, port: int, count: int) -> list[Any]:
    """Wait until every worker has connected, and return the connections."""
    with Listener((host, port), backlog=count) as listener:
        return [listener.accept() for _ in range(count)]


def connect(host: str, port: int, timeout: float = 300) -> Any:
    """Connect to the chief, which may start later than this replica, for `timeout` seconds."""
    until = time.monotonic() + timeout
    while True:
        try:
            return Client((host, port))
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def receive(connection: Any) -> list[float]:
    """Return the numbers that the other side sent."""
    return array("d", connection.recv_bytes()).tolist()


def save(weights: list[float]) -> None:
    """Write the model and its metrics to the job's model directory, a bucket that is mounted below /gcs."""
    folder = Path(vertex_cluster.gcs_path(os.environ.get("AIP_MODEL_DIR", "model")))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.json").write_text(json.dumps({"weights": weights}))
    (folder / "metrics.json").write_text(json.dumps({"accuracy": accuracy(weights)}))


if __name__ == "__main__":
    main()
