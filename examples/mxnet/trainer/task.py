"""Train a network on digits with MXNet: a scheduler, servers that have the weights, workers that train.

The program was written for AI Platform: it reads its CLUSTER_SPEC, with master, worker and ps.
"""

import argparse
import hashlib
import json
import os
import pathlib
import socket
import sys

import numpy as np

import vertex_cluster

HELD_OUT = 360  # the last digits measure the accuracy
BATCH = 32
ROLES = {"master": "scheduler", "ps": "server", "worker": "worker"}


def configure_mxnet():
    """Set the variables of MXNet from CLUSTER_SPEC. Return the role of this replica."""
    vertex_cluster.use_legacy_environment()  # on Google Cloud; on the emulator it is there already
    spec = json.loads(os.environ["CLUSTER_SPEC"])
    cluster, task = spec["cluster"], spec["task"]
    host, port = cluster["master"][0].rsplit(":", 1)
    os.environ["DMLC_ROLE"] = ROLES[task["type"]]
    os.environ["DMLC_PS_ROOT_URI"] = socket.gethostbyname(host)
    os.environ["DMLC_PS_ROOT_PORT"] = port
    os.environ["DMLC_NUM_WORKER"] = str(len(cluster["worker"]))
    os.environ["DMLC_NUM_SERVER"] = str(len(cluster["ps"]))
    return ROLES[task["type"]]


def read(path):
    """Return pixels from 0 to 1 and labels, for training and held out."""
    table = np.loadtxt(path, delimiter=",", dtype="float32")
    pixels, labels = table[:, :-1] / 16, table[:, -1]
    return (pixels[:-HELD_OUT], labels[:-HELD_OUT]), (pixels[-HELD_OUT:], labels[-HELD_OUT:])


def train(options):
    import mxnet
    from mxnet import autograd, gluon

    store = mxnet.kv.create("dist_sync")
    rank, size = store.rank, store.num_workers  # by arrival: worker 1 may have rank 0
    mxnet.random.seed(7)
    (pixels, labels), (held_out, truth) = read(options.data)
    network = gluon.nn.HybridSequential()
    network.add(gluon.nn.Dense(64, activation="relu", in_units=64), gluon.nn.Dense(10, in_units=64))
    network.initialize(mxnet.init.Xavier())
    trainer = gluon.Trainer(
        network.collect_params(), "sgd", {"learning_rate": 0.5}, kvstore=store, update_on_kvstore=True
    )
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    mine = np.arange(rank, len(labels), size)
    steps = len(labels) // size // BATCH  # the same on all workers, which wait for each other in each step
    for epoch in range(1, options.epochs + 1):
        order, total = np.random.RandomState(epoch).permutation(mine), 0.0
        for step in range(steps):
            batch = order[step * BATCH : (step + 1) * BATCH]
            with autograd.record():
                loss = loss_of(network(mxnet.nd.array(pixels[batch])), mxnet.nd.array(labels[batch])).mean()
            loss.backward()
            trainer.step(size)
            total += float(loss.asscalar())
        print(f"epoch {epoch} loss {total / steps:.4f}", flush=True)

    weights = b"".join(each.data().asnumpy().tobytes() for each in network.collect_params().values())
    accuracy = float((network(mxnet.nd.array(held_out)).asnumpy().argmax(1) == truth).mean())
    print(f"trained {rank} {size} {hashlib.sha256(weights).hexdigest()} {accuracy:.4f}", flush=True)
    if rank == 0:
        model = pathlib.Path(vertex_cluster.gcs_path(os.environ["AIP_MODEL_DIR"]))
        model.mkdir(parents=True, exist_ok=True)
        network.save_parameters(str(model / "model.params"))
        (model / "metrics.json").write_text(json.dumps({"accuracy": accuracy, "workers": size}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()
    role = configure_mxnet()
    if role == "worker":
        train(options)
        return
    print(f"serves as {role}", flush=True)
    import mxnet  # noqa: F401  scheduler and servers serve inside this import, until the workers have ended

    sys.exit(0)


if __name__ == "__main__":
    main()
