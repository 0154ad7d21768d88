"""Train a small model on this replica's rows with XGBoost or LightGBM; print the model's digest."""

import hashlib
import os
import sys

import numpy


def rows(rank):
    """Return features and labels that only this rank has."""
    features = numpy.random.RandomState(rank).rand(300, 4)
    return features, (features[:, 0] + features[:, 1] > 1).astype(float)


def xgboost_model():
    """Train with XGBoost's collective."""
    import xgboost

    with xgboost.collective.CommunicatorContext(
        dmlc_tracker_uri=os.environ["DMLC_TRACKER_URI"],
        dmlc_tracker_port=int(os.environ["DMLC_TRACKER_PORT"]),
        dmlc_task_id=os.environ["DMLC_TASK_ID"],
    ):
        rank, size = xgboost.collective.get_rank(), xgboost.collective.get_world_size()
        data = xgboost.DMatrix(*rows(rank))
        model = xgboost.train({"objective": "binary:logistic", "nthread": 1}, data, 5)
        return rank, size, bytes(model.save_raw("json"))


def lightgbm_model():
    """Train with LightGBM's data-parallel learner."""
    import lightgbm

    machines = os.environ["LIGHTGBM_MACHINES"]
    port = int(os.environ["LIGHTGBM_LOCAL_LISTEN_PORT"])
    size = int(os.environ["LIGHTGBM_NUM_MACHINES"])
    rank = [int(each.rpartition(":")[2]) for each in machines.split(",")].index(port)
    settings = {
        "objective": "binary",
        "tree_learner": "data",
        "pre_partition": True,
        "num_threads": 1,
        "machines": machines,
        "num_machines": size,
        "local_listen_port": port,
    }
    model = lightgbm.train(settings, lightgbm.Dataset(*rows(rank)), 5)
    return rank, size, model.model_to_string().partition("parameters:")[0].encode()


rank, size, model = {"xgboost": xgboost_model, "lightgbm": lightgbm_model}[sys.argv[1]]()
print("trained", rank, size, hashlib.sha256(model).hexdigest(), flush=True)
