"""Grow an ensemble with AdaNet 0.9.0, on all replicas of a job. TF_CONFIG tells each its role."""

from __future__ import annotations

import argparse
import json
import os
import re
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import checkpoints
import numpy as np
import reports
import tensorflow as tf
from absl import logging
from compatibility import adanet

HELD_OUT, BATCH = 360, 64
MAX_STEPS = 30
"""Steps of each subnetwork, in each iteration."""
NO_LIMIT = 1 << 31
"""Global steps. They are the mean of the subnetworks' steps, of which each worker may add one too many: with
`MAX_STEPS` for each iteration as the limit, the mean would end a training while a subnetwork lacks steps.
"""


class Builder(adanet.subnetwork.Builder):
    """A network with one hidden layer."""

    def __init__(self, number: int, *, seed: int, steps: reports.Steps) -> None:
        self._number, self._seed, self._steps = number, seed, steps

    @property
    def name(self) -> str:
        return f"dnn{self._number}"

    def build_subnetwork(
        self, features: Any, logits_dimension: int, *_others: Any, **_more: Any
    ) -> adanet.Subnetwork:
        width = 8 << self._number
        start = tf.compat.v1.glorot_uniform_initializer(self._seed)
        pixels = tf.cast(features["pixels"], tf.float32)
        weights = tf.compat.v1.get_variable("hidden", [pixels.shape[1], width], initializer=start)
        hidden = tf.nn.relu(pixels @ weights)
        output = tf.compat.v1.get_variable("output", [width, logits_dimension], initializer=start)
        return adanet.Subnetwork(
            last_layer=hidden,
            logits=hidden @ output,
            complexity=width**0.5,
            persisted_tensors={},
            shared=None,
        )

    def build_subnetwork_train_op(
        self, *_positional: Any, loss: tf.Tensor, var_list: list[tf.Variable], **_more: Any
    ) -> tf.Operation:
        with tf.control_dependencies([self._steps.operation(self._number)]):
            return tf.compat.v1.train.AdagradOptimizer(0.1).minimize(loss, var_list=var_list)


class Generator(adanet.subnetwork.Generator):
    """Gives each iteration the same number of candidates, each twice as wide as the one before."""

    def __init__(self, subnetworks: int, steps: reports.Steps) -> None:
        self._subnetworks, self._steps = subnetworks, steps

    def generate_candidates(self, *_positional: Any, iteration_number: int, **_more: Any) -> list[Builder]:
        return [
            Builder(number, seed=100 * iteration_number + number, steps=self._steps)
            for number in range(self._subnetworks)
        ]


def main() -> None:
    options = arguments()
    tf.get_logger().setLevel("ERROR")  # TensorFlow warns of each estimator
    logging.set_verbosity("error")
    config = tf.estimator.RunConfig(
        model_dir=options.checkpoints,
        tf_random_seed=42,
        save_checkpoints_steps=10,
        session_config=tf.compat.v1.ConfigProto(device_filters=["/job:ps"]),
    )
    print(f"role {config.task_type} {config.task_id}", flush=True)
    steps = reports.Steps(options.simulated_seconds)
    folder = Path(options.checkpoints, "reports", os.environ.get("CLOUD_ML_JOB_ID", "local"))
    replica = f"workerpool{0 if config.is_chief else 1}-{config.task_id}"
    hook = reports.ReportHook(
        folder,
        replica,
        worker=config.global_id_in_cluster or 0,
        workers=config.num_worker_replicas,
        steps=steps,
    )
    tf.estimator.train_and_evaluate(
        create_estimator(config, options, steps),
        tf.estimator.TrainSpec(input_of(options.data, training=True), max_steps=NO_LIMIT, hooks=[hook]),
        tf.estimator.EvalSpec(
            input_of(options.data, training=False), steps=None, start_delay_secs=1, throttle_secs=60
        ),
    )
    if config.is_chief:
        found = reports.collect(folder, config.num_worker_replicas, options.iterations - 1)
        save(options, found, steps)


def save(options: argparse.Namespace, found: list[dict[str, Any]], steps: reports.Steps) -> None:
    """Evaluate the ensemble from its checkpoint, in this process alone, and write the metrics of the job."""
    os.environ.pop("TF_CONFIG", None)
    config = tf.estimator.RunConfig(model_dir=options.checkpoints, tf_random_seed=42)
    scores = create_estimator(config, options, steps).evaluate(input_of(options.data, training=False))
    grown = tf.compat.v1.Summary.FromString(scores["architecture/adanet/ensembles"]).value[0].tensor
    metrics = {
        "accuracy": float(scores["accuracy"]),
        "loss": float(scores["average_loss"]),
        "ensemble": re.findall(r"dnn\d+", grown.string_val[0].decode()),
        "iterations_of_this_job": sorted({each["iteration"] for each in found}),
        "seconds_per_step": max((each["seconds"] for each in found if each["trains"]), default=0) / MAX_STEPS,
    }
    model = Path(os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/"))
    model.mkdir(parents=True, exist_ok=True)
    (model / "metrics.json").write_text(json.dumps(metrics))
    (model / "replicas.json").write_text(json.dumps(found))
    print(reports.table(found), flush=True)
    print(f"accuracy {metrics['accuracy']:.4f}", flush=True)


def create_estimator(
    config: tf.estimator.RunConfig, options: argparse.Namespace, steps: reports.Steps
) -> checkpoints.Estimator:
    placements = {
        "round-robin": adanet.distributed.RoundRobinStrategy,
        "replication": adanet.distributed.ReplicationStrategy,
    }
    return checkpoints.Estimator(
        head=tf.estimator.MultiClassHead(10),
        subnetwork_generator=Generator(options.subnetworks, steps),
        max_iteration_steps=MAX_STEPS,
        max_iterations=options.iterations,
        force_grow=True,
        delay_secs_per_worker=0,
        worker_wait_secs=1,
        evaluator=adanet.Evaluator(input_of(options.data, training=False)),
        config=config,
        experimental_placement_strategy=placements[options.strategy](),
    )


def input_of(path: str, *, training: bool) -> Any:
    """Return the function that reads the digits to train with, or those that are held out."""

    def read() -> tf.data.Dataset:
        table = np.loadtxt(path, delimiter=",", dtype="float32")
        part = table[:-HELD_OUT] if training else table[-HELD_OUT:]
        data = tf.data.Dataset.from_tensor_slices(
            ({"pixels": part[:, :-1] / 16}, part[:, -1].astype("int64"))
        )
        return data.shuffle(len(part), seed=1).repeat().batch(BATCH) if training else data.batch(BATCH)

    return read


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    own = os.environ.get("AIP_CHECKPOINT_DIR", "checkpoints").replace("gs://", "/gcs/")
    parser.add_argument("--checkpoints", default=own)
    parser.add_argument("--strategy", choices=["round-robin", "replication"], default="round-robin")
    parser.add_argument("--subnetworks", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=2)
    parser.add_argument("--simulated-seconds", type=float, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
