"""A trial's parameters as arguments of its program, and as the API tells them. Pure.

Google's samples read them with argparse, whole numbers with `type=int`, discrete ones too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vertex_emulator.tuning_jobs.study.study import Parameter, Value, every


def arguments(parameters: Mapping[str, Value], kinds: Mapping[str, str]) -> list[str]:
    """One argument for each parameter, such as `--learning_rate=0.001`.

    `kinds` has the kind of each parameter: a discrete value that is a whole number is written as one.
    """
    return [f"--{name}={text(value, kinds.get(name, ''))}" for name, value in parameters.items()]


def text(value: Value, kind: str) -> str:
    """The value in such an argument; a float is read back as the very same."""
    if kind == "DISCRETE" and isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return value if isinstance(value, str) else repr(value)


def kinds_of(parameters: tuple[Parameter, ...]) -> dict[str, str]:
    """The kind of each parameter of a study, by its id."""
    return {each.id: each.kind for each in every(parameters)}


def add_to_pools(job_spec: Any, words: list[str]) -> None:
    """Append the arguments to those of every pool's task in a `CustomJobSpec` message."""
    for pool in job_spec.worker_pool_specs:
        task = pool.WhichOneof("task")
        if task is not None:
            getattr(pool, task).args.extend(words)


def write(trial: Any, parameters: Mapping[str, Value]) -> None:
    """Put the parameters into a `Trial` message."""
    for name, value in parameters.items():
        parameter = trial.parameters.add(parameter_id=name)
        if isinstance(value, str):
            parameter.value.string_value = value
        else:
            parameter.value.number_value = float(value)


def read(trial: Any, kinds: Mapping[str, str]) -> dict[str, Value]:
    """The reverse of `write`."""
    found: dict[str, Value] = {}
    for each in trial.parameters:
        if each.value.WhichOneof("kind") == "string_value":
            found[each.parameter_id] = each.value.string_value
        elif kinds.get(each.parameter_id) == "INTEGER":
            found[each.parameter_id] = int(each.value.number_value)
        else:
            found[each.parameter_id] = each.value.number_value
    return found
