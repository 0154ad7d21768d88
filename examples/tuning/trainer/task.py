"""A trial: train XGBoost on digits with these settings, on chief and workers, and report the accuracy."""

import argparse
import os
import pathlib
import socket
import threading

import hypertune
import numpy as np
import xgboost
from xgboost import collective
from xgboost.tracker import RabitTracker

import vertex_cluster

HELD_OUT = 360  # the last digits measure the accuracy
ROUNDS = 15
REPORT_ROUNDS = 5


def read(path):
    """Return pixels and labels, for training and held out."""
    table = np.loadtxt(path, delimiter=",", dtype="float32")
    pixels, labels = table[:, :-1], table[:, -1]
    return (pixels[:-HELD_OUT], labels[:-HELD_OUT]), (pixels[-HELD_OUT:], labels[-HELD_OUT:])


class Report(xgboost.callback.TrainingCallback):
    """Measure the accuracy every few rounds, on all ranks, and report it on the chief."""

    def __init__(self, held_out, truth):
        self.data, self.truth = xgboost.DMatrix(held_out), truth
        self.tune = hypertune.HyperTune() if collective.get_rank() == 0 else None

    def after_iteration(self, model, epoch, evals_log):  # noqa: ARG002
        if (epoch + 1) % REPORT_ROUNDS == 0:
            accuracy = float((model.predict(self.data) == self.truth).mean())
            if self.tune is not None:
                self.tune.report_hyperparameter_tuning_metric("accuracy", accuracy, epoch + 1)
        return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--eta", type=float, required=True)
    parser.add_argument("--max_depth", type=int, required=True)
    options = parser.parse_args()

    cluster = vertex_cluster.from_environment()
    ranks = vertex_cluster.trainers(cluster)
    arguments = vertex_cluster.framework_arguments(cluster, "xgboost")
    if cluster.is_chief:
        host = socket.gethostbyname(arguments["dmlc_tracker_uri"])
        tracker = RabitTracker(
            n_workers=ranks.world_size, host_ip=host, port=arguments["dmlc_tracker_port"], sortby="task"
        )
        tracker.start()
        threading.Thread(target=tracker.wait_for, daemon=True).start()

    (pixels, labels), (held_out, truth) = read(options.data)
    settings = {
        "objective": "multi:softmax",
        "num_class": 10,
        "nthread": 1,
        "eta": options.eta,
        "max_depth": options.max_depth,
    }
    with collective.CommunicatorContext(**arguments):
        rank, size = collective.get_rank(), collective.get_world_size()
        data = xgboost.DMatrix(pixels[rank::size], labels[rank::size])
        model = xgboost.train(settings, data, ROUNDS, callbacks=[Report(held_out, truth)])
        print(f"trained {rank} {size}", flush=True)
        collective.allreduce(np.ones(1), collective.Op.SUM)  # the trial ends with the chief: wait for all
    if rank == 0:
        folder = pathlib.Path(vertex_cluster.gcs_path(os.environ["AIP_MODEL_DIR"]))
        folder.mkdir(parents=True, exist_ok=True)
        model.save_model(folder / "model.json")


if __name__ == "__main__":
    main()
