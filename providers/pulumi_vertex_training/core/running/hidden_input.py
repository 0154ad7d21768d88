"""The internals of a run in Pulumi's state: one hidden property, `__run`, of a job and of its `Run`.

Properties whose name begins with two underscores appear in no diff and no summary of the Pulumi CLI, so a
preview shows what the user changed and nothing that follows from it. The Python SDK keeps them from 3.235 on.
The providers work on properties with the hidden ones beside the others; these functions convert.

A job hides the key of its run (`key`, known as `run` to the provider), the hash of its declaration
(`spec_hash`), and the output directory if the run chose it (`output_directory`, with `output_path`, its path
among the inputs). A `Run` hides the job's name (`job`), the hash of the declaration (`spec`), the
collection of the job's kind (`collection`), and the code of the reason for the run (`why`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vertex_training.fields.uris import DIRECTORY

HIDDEN_INPUT = "__run"
LOOKUPS = "lookups"
"""The input of a `Run` in which the program reports what it knows about its job; no state keeps it."""
KEY_INPUT = "__key"
"""The input with the key of a resource. Only a check gets it, and no state keeps it."""
ROW_INPUT = "__row"
"""The input with the URN of a resource that reports progress on its row, kept as `KEY_INPUT` is."""

_OF_JOB = {"run": "key", "spec_hash": "spec_hash", "output_path": "output_path"}
_OF_RUN = {name: name for name in ("job", "spec", "collection", "why")}


def reveal_job(props: Mapping[str, Any]) -> dict[str, Any]:
    """Return a job's inputs or outputs with the hidden ones beside the others."""
    hidden = _hidden(props)
    shown = _reveal(props, _OF_JOB)
    path = hidden.get("output_path")
    return put(shown, path.split("."), hidden.get("output_directory")) if isinstance(path, str) else shown


def hide_in_job(props: Mapping[str, Any]) -> dict[str, Any]:
    """Return a job's inputs as the state keeps them: the reverse of `reveal_job`."""
    path = props.get("output_path")
    if not isinstance(path, str):
        return _hide(props, _OF_JOB, {})
    directory, rest = _take(props, path.split("."))
    return _hide(rest, _OF_JOB, {"output_directory": directory})


def hide_in_job_outputs(props: Mapping[str, Any]) -> dict[str, Any]:
    """Return a job's outputs as the state keeps them.

    `base_output_directory` stays visible: programs read it.
    """
    directory = {DIRECTORY: props[DIRECTORY]} if DIRECTORY in props else {}
    return {**hide_in_job(props), **directory}


def reveal_run(props: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a `Run` with the hidden ones beside the others."""
    return _reveal(props, _OF_RUN)


def hide_in_run(props: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a `Run` as the state keeps them: the reverse of `reveal_run`."""
    return _hide(props, _OF_RUN, {})


def state_names(names: Sequence[str]) -> list[str]:
    """Return the names under which the state has these inputs of a job, each once."""
    return list(dict.fromkeys(HIDDEN_INPUT if name in _OF_JOB else name for name in names))


def recorded_key(props: Mapping[str, Any]) -> str | None:
    """Return the key of the run that a job's recorded properties name, or None if they name none."""
    key = _hidden(props).get("key")
    return key if isinstance(key, str) else None


def put(props: Mapping[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    """Return the properties with a value at a path; unchanged if something on the way is not an object."""
    first, *rest = path
    inner = props.get(first)
    if rest and not isinstance(inner, Mapping):
        return dict(props)
    return {**props, first: put(inner, rest, value) if rest and inner is not None else value}


def _take(props: Mapping[str, Any], path: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """Return the value at a path, and the properties without it."""
    first, *rest = path
    if not rest:
        return props.get(first), {name: value for name, value in props.items() if name != first}
    inner = props.get(first)
    if not isinstance(inner, Mapping):
        return None, dict(props)
    value, remaining = _take(inner, rest)
    return value, {**props, first: remaining}


def _hidden(props: Mapping[str, Any]) -> Mapping[str, Any]:
    hidden = props.get(HIDDEN_INPUT)
    return hidden if isinstance(hidden, Mapping) else {}


def _reveal(props: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    hidden = _hidden(props)
    return {
        **{name: value for name, value in props.items() if name != HIDDEN_INPUT},
        **{name: hidden[inside] for name, inside in names.items() if inside in hidden},
    }


def _hide(props: Mapping[str, Any], names: Mapping[str, str], more: Mapping[str, Any]) -> dict[str, Any]:
    hidden = {inside: props[name] for name, inside in names.items() if props.get(name) is not None}
    hidden |= {name: value for name, value in more.items() if value is not None}
    return {**{name: value for name, value in props.items() if name not in names}, HIDDEN_INPUT: hidden}
