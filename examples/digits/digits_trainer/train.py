"""The chief and the workers: they train one model together.

Every trainer goes through the same batches in the same order and takes its share of each. The gradients are
summed over all trainers, and all make the same step. The weights are therefore equal everywhere at any time
and, except for rounding, equal to those that a single trainer would find.
"""

from __future__ import annotations

import hashlib
import logging
import time

import numpy as np
import numpy.typing as npt

import vertex_cluster
from vertex_cluster import Cluster
from vertex_cluster.checkpoints import Checkpoints

from . import evaluate
from .allreduce import Group, job_digest, join
from .data import Digits, load, shifted, split
from .errors import InputError
from .model import Array, Network, Score
from .settings import Settings
from .storage import Checkpoint, replacing, save_checkpoint, write_json

log = logging.getLogger(__name__)


def run(settings: Settings, cluster: Cluster) -> None:
    """Train to the end; the chief saves the model. Raises InputError, PeerError, OutputError."""
    training, held_out = split(load(settings.data))
    training = shifted(training)
    network = Network(hidden=settings.hidden)
    job = job_digest(cluster, settings.job_id)
    began = time.monotonic()
    quiet = np.errstate(over="ignore", invalid="ignore")  # train_epoch looks at what comes of it
    with quiet, join(cluster, job=job, arguments=settings.digest(), timeout=settings.timeout) as group:
        log.info(
            "rank %d of %d: %d of %d examples per step, %d held out",
            group.rank,
            group.size,
            len(share(np.arange(settings.batch_size), group)),
            settings.batch_size,
            len(held_out),
        )
        state = {"weights": network.initial_weights(settings.seed)}
        store = checkpoints_of(settings, group)
        done = 0 if store is None else store.resume(lambda at: state.update(np.load(at / "state.npz")))
        if done:
            log.info("continues after epoch %d", done)
        weights = state["weights"]
        for epoch in range(done + 1, settings.epochs + 1):
            weights, loss = train_epoch(
                network, weights, training, epoch=epoch, settings=settings, group=group
            )
            if cluster.is_chief:
                score = network.score(weights, held_out.images, held_out.labels)
                log.info("epoch %d/%d loss %.4f accuracy %.3f", epoch, settings.epochs, loss, score.accuracy)
                vertex_cluster.report(step=epoch, total=settings.epochs, accuracy=score.accuracy, loss=loss)
                if settings.checkpoint_dir is not None:
                    checkpoint = Checkpoint(job=job.hex(), epoch=epoch, weights=weights)
                    save_checkpoint(settings.checkpoint_dir, checkpoint)
                if store is not None:
                    store.save(epoch, lambda at: np.savez(at / "state.npz", weights=weights))  # noqa: B023
        digest = hashlib.sha256(weights.astype("<f8").tobytes())
        group.leave(digest.digest())
        log.info("done in %.1f s, weights sha256 %s", time.monotonic() - began, digest.hexdigest())
        trainers = group.size
    if cluster.is_chief:
        score = network.score(weights, held_out.images, held_out.labels)
        save_model(settings, network, weights, score, trainers=trainers)
        evaluate.wait_for_last(settings, cluster)


def checkpoints_of(settings: Settings, group: Group) -> Checkpoints | None:
    """Return the checkpoints that the trainers continue from, None without a folder for them."""
    if settings.resume_dir is None:
        return None
    return Checkpoints(
        settings.resume_dir,
        barrier=lambda: group.sum(np.zeros(1)),
        rank=group.rank,
        world_size=group.size,
    )


def train_epoch(
    network: Network, weights: Array, training: Digits, *, epoch: int, settings: Settings, group: Group
) -> tuple[Array, float]:
    """Train for one pass over the examples. Return the new weights and the mean loss of the pass."""
    order = np.random.default_rng([settings.seed, epoch]).permutation(len(training))
    epoch_loss = 0.0
    for start in range(0, len(order), settings.batch_size):
        batch = order[start : start + settings.batch_size]
        mine = share(batch, group)
        loss, gradient = network.loss_and_gradient(weights, training.images[mine], training.labels[mine])
        total = group.sum(np.append(gradient, loss))  # the loss travels as one more number
        weights = weights - settings.learning_rate / len(batch) * total[:-1]
        epoch_loss += float(total[-1])
    if not np.isfinite(epoch_loss):
        raise InputError(
            f"The loss is {epoch_loss} in epoch {epoch}. "
            f"Give a lower --learning-rate than {settings.learning_rate:g}."
        )
    return weights, epoch_loss / len(training)


def share(batch: npt.NDArray[np.int64], group: Group) -> npt.NDArray[np.int64]:
    """Return this trainer's consecutive part of a batch; the parts differ by at most one example."""
    return batch[len(batch) * group.rank // group.size : len(batch) * (group.rank + 1) // group.size]


def save_model(settings: Settings, network: Network, weights: Array, score: Score, *, trainers: int) -> None:
    """Write model.npz, then metrics.json, so that a reader of the second can read the first."""
    log.info("held-out loss %.4f accuracy %.4f", score.loss, score.accuracy)
    if settings.model_dir is None:
        log.info("neither --model-dir nor AIP_MODEL_DIR is set: the model is not saved")
        return
    hidden, hidden_bias, output, output_bias = network.layers(weights)
    with replacing(settings.model_dir / "model.npz") as file:
        np.savez(file, hidden=hidden, hidden_bias=hidden_bias, output=output, output_bias=output_bias)
    write_json(
        settings.model_dir / "metrics.json",
        {
            "accuracy": score.accuracy,
            "loss": score.loss,
            "epochs": settings.epochs,
            "trainers": trainers,
        },
    )
    log.info("saved the model in %s", settings.model_dir)
