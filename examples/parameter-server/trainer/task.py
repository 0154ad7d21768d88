"""Train with ParameterServerStrategy. TF_CONFIG tells each replica its role.

The chief hands out the steps, the workers compute gradients, the parameter server holds the variables,
and the evaluator scores each checkpoint. All files are gs:// addresses, which TensorFlow opens itself.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

import numpy as np
import tensorflow as tf

STEPS, BATCH = 20, 64
MODEL, CHECKPOINTS = os.environ["AIP_MODEL_DIR"], os.environ["AIP_CHECKPOINT_DIR"]  # gs://.../
EVALUATION = f"{CHECKPOINTS}evaluation.json"
Digits = tuple[np.ndarray, np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()
    cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    print(f"role {cluster.task_type} {cluster.task_id}", flush=True)
    if cluster.task_type in ("worker", "ps"):
        serve(cluster)
    elif cluster.task_type == "evaluator":
        evaluate(options.data, options.epochs)
    else:
        train(cluster, options.data, options.epochs)


def serve(cluster: tf.distribute.cluster_resolver.ClusterResolver) -> None:
    """Execute what the chief sends. The service stops this replica when the chief has ended."""
    tf.distribute.Server(
        cluster.cluster_spec(), job_name=cluster.task_type, task_index=cluster.task_id, protocol="grpc"
    ).join()


def train(cluster: tf.distribute.cluster_resolver.ClusterResolver, data: str, epochs: int) -> None:
    strategy = tf.distribute.ParameterServerStrategy(cluster)
    with strategy.scope():
        model = create_model()
    devices = {variable.name: variable.device for variable in model.trainable_variables}
    (images, labels), held_out = read_digits(data)

    def dataset(_context: tf.distribute.InputContext) -> tf.data.Dataset:
        """Return the training digits. Each worker runs this function when it joins."""
        tf.print("this worker reads the digits")
        examples = tf.data.Dataset.from_tensor_slices((images, labels))
        return examples.shuffle(len(images)).repeat().batch(BATCH)

    history = model.fit(
        tf.keras.utils.experimental.DatasetCreator(dataset),
        epochs=epochs,
        steps_per_epoch=STEPS,
        verbose=2,
        callbacks=[tf.keras.callbacks.ModelCheckpoint(CHECKPOINTS + "ckpt-{epoch}", save_weights_only=True)],
    )
    model.save(MODEL, save_format="tf")
    loaded = tf.keras.models.load_model(MODEL)
    loss, accuracy = loaded.evaluate(*held_out, batch_size=BATCH, verbose=0)
    metrics = {
        "accuracy": accuracy,
        "loss": loss,
        "training_losses": history.history["loss"],
        "devices": devices,
        "evaluation": wait_for_evaluation(),
    }
    with tf.io.gfile.GFile(f"{MODEL}metrics.json", "w") as file:
        json.dump(metrics, file)
    print(f"accuracy {accuracy:.4f}", flush=True)


def evaluate(data: str, epochs: int) -> None:
    """Score the newest checkpoint again and again, until the last one."""
    _, held_out = read_digits(data)
    scores: dict[str, float] = {}
    tf.keras.utils.SidecarEvaluator(
        create_model(),
        tf.data.Dataset.from_tensor_slices(held_out).batch(BATCH),
        checkpoint_dir=CHECKPOINTS,
        max_evaluations=epochs,
        callbacks=[tf.keras.callbacks.LambdaCallback(on_test_end=scores.update)],
    ).start()
    with tf.io.gfile.GFile(EVALUATION, "w") as file:
        json.dump({name: float(score) for name, score in scores.items()}, file)


def wait_for_evaluation(seconds: float = 300) -> dict[str, float] | None:
    """Return the evaluator's score of the last checkpoint. The job ends with the chief, so it waits."""
    until = time.monotonic() + seconds
    while not tf.io.gfile.exists(EVALUATION):
        if time.monotonic() > until:
            return None
        time.sleep(0.5)
    with tf.io.gfile.GFile(EVALUATION) as file:
        scores: dict[str, float] = json.load(file)
    return scores


def create_model() -> tf.keras.Model:
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input((64,)),
            tf.keras.layers.Dense(256, activation="relu"),
            tf.keras.layers.Dense(10),
        ]
    )
    model.compile(
        tf.keras.optimizers.Adam(0.003),
        tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


def read_digits(path: str) -> tuple[Digits, Digits]:
    """Return the digits to train with, and every fifth one, to test with: pixels between 0 and 1, labels."""
    with tf.io.gfile.GFile(path, "rb") as file:
        table = np.loadtxt(gzip.decompress(file.read()).decode().splitlines(), delimiter=",", dtype="float32")
    pixels, labels = table[:, :-1] / 16, table[:, -1].astype("int64")
    held_out = np.arange(len(table)) % 5 == 0
    return (pixels[~held_out], labels[~held_out]), (pixels[held_out], labels[held_out])


if __name__ == "__main__":
    main()
