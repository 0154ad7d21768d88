"""Train trees on digits with XGBoost or LightGBM: each replica has a part of them, all get one model."""

import argparse
import hashlib
import json
import os
import pathlib
import time

import numpy as np

import vertex_cluster

HELD_OUT = 360  # the last digits measure the accuracy
WAIT_SECONDS = 300


def read(path):
    """Return pixels and labels, for training and held out."""
    table = np.loadtxt(path, delimiter=",", dtype="float32")
    pixels, labels = table[:, :-1], table[:, -1]
    return (pixels[:-HELD_OUT], labels[:-HELD_OUT]), (pixels[-HELD_OUT:], labels[-HELD_OUT:])


def xgboost_model(pixels, labels, held_out, *, rank, size, rounds):
    """Return the model as text, its losses on all training digits and the labels of the held-out digits."""
    import xgboost

    losses = {}
    with xgboost.collective.CommunicatorContext(
        dmlc_tracker_uri=os.environ["DMLC_TRACKER_URI"],
        dmlc_tracker_port=int(os.environ["DMLC_TRACKER_PORT"]),
        dmlc_task_id=os.environ["DMLC_TASK_ID"],
    ):
        assert (xgboost.collective.get_rank(), xgboost.collective.get_world_size()) == (rank, size)
        data = xgboost.DMatrix(pixels, labels)
        settings = {"objective": "multi:softprob", "num_class": 10, "max_depth": 4, "nthread": 1}
        model = xgboost.train(
            settings, data, rounds, evals=[(data, "train")], evals_result=losses, verbose_eval=False
        )
        guesses = model.predict(xgboost.DMatrix(held_out)).argmax(1)
        return model.save_raw("json").decode(), losses["train"]["mlogloss"], guesses


def lightgbm_model(pixels, labels, held_out, *, rank, size, rounds):
    """Return the model as text, its losses on this replica's digits and the labels of the held-out digits."""
    import lightgbm

    machines = os.environ["LIGHTGBM_MACHINES"].split(",")
    assert machines[rank].endswith(":" + os.environ["LIGHTGBM_LOCAL_LISTEN_PORT"])
    settings = {
        "objective": "multiclass",
        "num_class": 10,
        "num_leaves": 15,
        "num_threads": 1,
        "tree_learner": "data",
        "pre_partition": True,
        "machines": ",".join(machines),
        "num_machines": size,
        "local_listen_port": int(os.environ["LIGHTGBM_LOCAL_LISTEN_PORT"]),
        "verbose": -1,
    }
    losses = {}
    data = lightgbm.Dataset(pixels, labels)
    model = lightgbm.train(
        settings,
        data,
        rounds,
        valid_sets=[data],
        valid_names=["train"],
        callbacks=[lightgbm.record_evaluation(losses)],
    )
    guesses = model.predict(held_out).argmax(1)
    text = model.model_to_string().partition("parameters:")[0]  # the parameters have this replica's port
    return text, losses["train"]["multi_logloss"], guesses


def agree(folder, digest, *, rank, size):
    """Write this rank's digest. The chief waits for all of them, because the job ends with the chief."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"rank-{rank}.txt").write_text(digest)
    if rank != 0:
        return
    files = [folder / f"rank-{other}.txt" for other in range(1, size)]
    end = time.monotonic() + WAIT_SECONDS
    while waiting := [each.name for each in files if not each.exists() or each.read_text() != digest]:
        if time.monotonic() > end:
            raise SystemExit(f"these have no model, or another one: {', '.join(waiting)}")
        time.sleep(0.2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("framework", choices=["xgboost", "lightgbm"])
    parser.add_argument("--data", required=True)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()

    ranks = vertex_cluster.trainers(vertex_cluster.from_environment())
    rank, size = ranks.rank, ranks.world_size
    (pixels, labels), (held_out, truth) = read(options.data)
    print(f"rank {rank} of {size} has {len(labels[rank::size])} digits", flush=True)
    train = {"xgboost": xgboost_model, "lightgbm": lightgbm_model}[options.framework]
    text, losses, guesses = train(
        pixels[rank::size], labels[rank::size], held_out, rank=rank, size=size, rounds=options.rounds
    )
    digest = hashlib.sha256(text.encode()).hexdigest()
    accuracy = float((guesses == truth).mean())
    print(f"loss {losses[0]:.4f} {losses[-1]:.4f}", flush=True)
    print(f"trained {rank} {size} {digest} {accuracy:.4f}", flush=True)

    model = pathlib.Path(vertex_cluster.gcs_path(os.environ["AIP_MODEL_DIR"]))
    agree(model / "ranks", digest, rank=rank, size=size)
    if rank == 0:
        (model / "model.txt").write_text(text)
        metrics = {"accuracy": accuracy, "loss": losses[-1], "replicas": size}
        (model / "metrics.json").write_text(json.dumps(metrics))


if __name__ == "__main__":
    main()
