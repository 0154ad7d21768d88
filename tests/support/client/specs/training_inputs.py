"""Training inputs of legacy AI Platform, and their conversion."""

from __future__ import annotations

from pulumi_vertex_training.cli.explain.documents import read_document
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import errors

IMAGE = {"masterConfig": {"imageUri": "repo/trainer:1"}}
CUSTOM = {"scaleTier": "CUSTOM", "masterType": "n1-standard-4", **IMAGE}
WORKERS = {"workerType": "n1-standard-8", "workerCount": "4"}
PACKAGE = {
    "packageUris": ["gs://bucket/trainer.tar.gz"],
    "pythonModule": "trainer.task",
    "runtimeVersion": "2.11",
}
LEGACY = CheckOptions(allow_legacy_types=True)


def read(options=LEGACY, **fields):
    return read_document({"trainingInput": fields}, options=options)


def convert(**fields):
    document = read(**fields)
    assert errors(document.problems) == ()
    return document.spec


def failures(**fields):
    return [str(problem) for problem in errors(read(**fields).problems)]


def remarks(**fields):
    document = read(**fields)
    assert errors(document.problems) == ()
    return {problem.path.removeprefix("training_input."): problem.message for problem in document.problems}


def sizes(spec):
    return [(pool.replica_count, pool.machine_type) for pool in spec.worker_pool_specs]


COMMAND = {"imageUri": "repo/trainer:1", "containerCommand": ["python"], "containerArgs": ["-m", "train"]}
