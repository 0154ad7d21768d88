"""Train a network on digits with JAX: every process has a part of the digits, all have the same weights."""

import argparse
import hashlib
import json
import os
import pathlib
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import vertex_cluster
from vertex_cluster.checkpoints import Checkpoints

HELD_OUT = 360  # the last digits measure the accuracy
CHECKPOINT_EPOCHS = 10
RESTART_SECONDS = 120


def read(path):
    """Return pixels from 0 to 1 and labels, for training and held out."""
    table = np.loadtxt(path, delimiter=",", dtype="float32")
    pixels, labels = table[:, :-1] / 16, table[:, -1].astype("int32")
    return (pixels[:-HELD_OUT], labels[:-HELD_OUT]), (pixels[-HELD_OUT:], labels[-HELD_OUT:])


def initial_weights():
    random = np.random.default_rng(7)
    shapes = {"hidden": (64, 32), "hidden_bias": (32,), "output": (32, 10), "output_bias": (10,)}
    return {
        name: random.normal(0, 0.1, shape).astype("float32")
        if len(shape) == 2
        else np.zeros(shape, "float32")
        for name, shape in shapes.items()
    }


def scores(weights, pixels):
    hidden = jnp.tanh(pixels @ weights["hidden"] + weights["hidden_bias"])
    return hidden @ weights["output"] + weights["output_bias"]


def loss(weights, pixels, labels):
    likelihoods = jax.nn.log_softmax(scores(weights, pixels))
    return -jnp.mean(jnp.take_along_axis(likelihoods, labels[:, None], axis=1))


@jax.jit
def epoch_of(weights, pixels, labels):
    """Return the weights after one step, and the loss before it. JAX averages over all processes."""
    value, gradient = jax.value_and_grad(loss)(weights, pixels, labels)
    return jax.tree.map(lambda weight, change: weight - 0.5 * change, weights, gradient), value


def all_are_here():
    multihost_utils.sync_global_devices("checkpoints")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--epochs", type=int, default=100)
    options = parser.parse_args()

    jax.config.update("jax_enable_preemption_service", False)  # else SIGTERM ends no process
    jax.distributed.initialize(
        os.environ["JAX_COORDINATOR_ADDRESS"],
        int(os.environ["JAX_NUM_PROCESSES"]),
        int(os.environ["JAX_PROCESS_ID"]),
    )
    rank, size = jax.process_index(), jax.process_count()
    print(f"process {rank} of {size}, {jax.local_device_count()} of {jax.device_count()} devices", flush=True)

    (pixels, labels), (held_out, truth) = read(options.data)
    mesh = Mesh(np.array(jax.devices()), ("data",))
    by_rows, everywhere = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())
    rows = len(labels) // jax.device_count() * jax.local_device_count()  # of each process
    mine = slice(rank * rows, (rank + 1) * rows)
    pixels = jax.make_array_from_process_local_data(by_rows, pixels[mine])
    labels = jax.make_array_from_process_local_data(by_rows, labels[mine])

    store = Checkpoints(barrier=all_are_here, rank=rank, world_size=size)
    weights = initial_weights()
    done = store.resume(lambda folder: weights.update(np.load(folder / "weights.npz")))
    if done:
        print(f"continues after epoch {done}", flush=True)
    weights = {
        name: jax.make_array_from_process_local_data(everywhere, value) for name, value in weights.items()
    }
    value = None
    for epoch in range(done + 1, options.epochs + 1):
        try:
            weights, value = epoch_of(weights, pixels, labels)
            value = float(value)  # waits: collectives of two epochs at a time can block each other on CPUs
        except jax.errors.JaxRuntimeError:
            # Another process was lost. How it ended decides whether the job restarts, so it has to end first.
            print(f"epoch {epoch} could not be computed, waiting for a restart of the job", flush=True)
            time.sleep(RESTART_SECONDS)
            raise
        if rank == 0 and (epoch % CHECKPOINT_EPOCHS == 0 or epoch in (1, options.epochs)):
            state = jax.device_get(weights)
            store.save(epoch, lambda folder: np.savez(folder / "weights.npz", **state))  # noqa: B023
            vertex_cluster.report(step=epoch, total=options.epochs, loss=value)
            print(f"finished {epoch} loss {value:.6f}", flush=True)

    final = {name: np.asarray(array.addressable_data(0)) for name, array in weights.items()}
    digest = hashlib.sha256(b"".join(final[name].tobytes() for name in sorted(final))).hexdigest()
    accuracy = float((np.asarray(scores(final, held_out)).argmax(1) == truth).mean())
    print(f"trained {rank} {digest} {accuracy:.4f}", flush=True)
    if rank == 0:
        model = pathlib.Path(vertex_cluster.gcs_path(os.environ["AIP_MODEL_DIR"]))
        model.mkdir(parents=True, exist_ok=True)
        np.savez(model / "model.npz", **final)
        metrics = {"accuracy": accuracy, "loss": value, "processes": size}
        (model / "metrics.json").write_text(json.dumps(metrics))
    multihost_utils.sync_global_devices("saved")  # the job ends with process 0, so it is the last to leave
    jax.distributed.shutdown()


if __name__ == "__main__":
    main()
