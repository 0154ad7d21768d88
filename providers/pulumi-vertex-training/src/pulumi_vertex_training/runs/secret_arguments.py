"""The arguments of a job that Pulumi holds as secrets, as a label of the job.

The service returns the arguments of a job as plain text. The label lets a reader of the job hide the secret
ones: their places as POOL-NUMBER, such as "0-3_1-3", or "all" if the places do not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vertex_training.fields.labels import MAX_LENGTH

LABEL = "vertex-training-secrets"

_ALL = "all"
_TASKS = ("containerSpec", "pythonPackageSpec")


def labelled(wire: Mapping[str, Any], is_secret: Callable[[str], bool]) -> dict[str, Any]:
    """Return the request of a job with the label, or unchanged if no argument is a secret."""
    places = "_".join(
        f"{pool}-{number}"
        for pool, task in enumerate(map(task_of, pools_of(wire)))
        for number, argument in enumerate(arguments_of(task))
        if is_secret(argument)
    )
    if not places:
        return dict(wire)
    label = places if len(places) <= MAX_LENGTH else _ALL
    return {**wire, "labels": {**wire.get("labels", {}), LABEL: label}}


def is_secret(labels: Mapping[str, str], *, pool: int, number: int) -> bool:
    """Return whether a job with these labels keeps an argument of a pool secret."""
    label = labels.get(LABEL, "")
    return label == _ALL or f"{pool}-{number}" in label.split("_")


def pools_of(wire: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the worker pools of a job, of a trial or of a pipeline's task."""
    for key in ("jobSpec", "trialJobSpec", "trainingTaskInputs"):
        inner = wire.get(key)
        if isinstance(inner, Mapping):
            return inner.get("workerPoolSpecs") or pools_of(inner)
    return ()


def task_of(pool: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the task of a worker pool, {} without one."""
    return next((pool[name] for name in _TASKS if pool.get(name)), {})


def arguments_of(task: Mapping[str, Any]) -> list[str]:
    """Return the command of a task and its arguments in one list."""
    return [str(one) for one in (*(task.get("command") or ()), *(task.get("args") or ()))]
