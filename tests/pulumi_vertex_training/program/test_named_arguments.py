"""Arguments of constructors: misspelt, missing, or without their names."""

from __future__ import annotations

import inspect
from typing import Any

import pulumi
import pytest

import pulumi_vertex_training as vt
from support.tables import every_row

RESOURCES = [
    *("CustomJob", "DistributedTraining", "HyperparameterTuningJob", "ImageRepository", "Model"),
    *("PersistentResource", "StagedFile", "StagedPackage", "StagingBucket", "TrainingImage"),
    "TrainingPipeline",
]


@every_row("name", [name for name in RESOURCES if name != "DistributedTraining"])
def test_no_constructor_takes_any_argument(name: str) -> None:
    kinds = {each.kind for each in inspect.signature(getattr(vt, name).__init__).parameters.values()}
    assert kinds == {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}


@every_row(
    ("resource", "args", "given", "says"),
    [
        (
            vt.TrainingImage,
            ("app",),
            {"sorce": "x", "repository": "r"},
            ["app: sorce: unknown argument; did you mean source?", "app: source is missing"],
        ),
        (vt.StagedFile, ("data",), {"bucket": "b"}, ["data: source is missing"]),
        (
            vt.CustomJob,
            ("train", []),
            {},
            [
                "train: worker_pool_specs is missing",
                "train: give arguments by name, such as worker_pool_specs=...",
            ],
        ),
        (
            vt.CustomJob,
            ("train",),
            {"worker_pool_specs": [], "wiat": "done"},
            [
                "train: wiat: unknown argument; did you mean wait?",
                "train: worker_pool_specs: there is no worker pool; a job needs at least its chief, the "
                "first pool, with 1 replica",
            ],
        ),
    ],
)
def test_mistakes_are_named(resource: Any, args: Any, given: Any, says: list[str]) -> None:
    with pytest.raises(pulumi.RunError) as raised:
        resource(*args, **given)
    assert str(raised.value).split("\n") == says
