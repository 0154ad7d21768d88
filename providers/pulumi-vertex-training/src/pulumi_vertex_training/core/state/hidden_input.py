"""The internals of a job in Pulumi's state: one hidden property, `__run`.

Properties whose name begins with two underscores appear in no diff and no summary of the Pulumi CLI, so a
preview shows what the user changed and nothing that follows from it. The Python SDK keeps them from 3.235 on.
The providers work on properties with the hidden ones beside the others; these functions convert.

Among the inputs, a job hides the identity that its runs have if nothing is recorded (`identity`) and the hash
of its declaration (`spec_hash`), and whether the program keeps the service's retries although `max_cost` is
set (`keeps_retries`). Among the outputs, it hides besides the key of its run (`key`, known as
`run` to the provider), the number of reruns on failure (`reruns`), the code of the reason for the run
(`why`), the limit that `max_cost` set for it (`limit`), the folder of its checkpoints (`checkpoints`), and
the output directory if the run chose it (`output_directory`, with `output_path`, its path among the inputs).
A job with a capacity ladder hides the rung of its run (`rung`), the keys of the rungs that its pass has tried
(`tried`), the number of climbs in a row (`climbs`), and why no rung had machines (`no_capacity`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pulumi_vertex_training.runs.identity import identity_of
from vertex_training.fields.uris import DIRECTORY

RESULTS = ("model_directory", "metrics")
"""Outputs of every job that has ended. A kind has more of them."""
HIDDEN_INPUT = "__run"
LOOKUPS = "lookups"
"""The input in which the program reports what it knows about its job; no state keeps it."""
KEY_INPUT = "__key"
"""The input with the key of a resource. Only a check gets it, and no state keeps it."""
PREVIEW_INPUT = "__preview"
"""The input that is True in a preview, kept as `KEY_INPUT` is."""

INTERNAL = "__internal"
"""The property of the package with inputs that no program gives. Pulumi shows no property of such a name."""
FOUND = "__found"
"""The input with the id that the program looked up and the labels that it found; absent without an answer."""
PROGRAM_INPUT = "__program"
"""The input that is "python" in a program in Python that uses the package, kept as `KEY_INPUT` is."""
COMPONENT = "component"
"""The value of that input in a component that the plugin constructs."""
INTERRUPT_INPUT = "__on_interrupt"
"""The input that is "cancel" if Ctrl-C cancels the job, also while it is submitted."""
CLIMB_INPUT = "__climb_seconds"
"""The input with the seconds for which a deployment waits while a job climbs its ladder, 0 to submit only."""
HANDED_OVER = (KEY_INPUT, PREVIEW_INPUT, FOUND, LOOKUPS, PROGRAM_INPUT, INTERRUPT_INPUT, CLIMB_INPUT)
"""Inputs in which a program tells a check more than it declares; they stay in the resource's context."""

_NAMES = {
    "identity": "identity",
    "run": "key",
    "spec_hash": "spec_hash",
    "reruns": "reruns",
    "why": "why",
    "output_path": "output_path",
    "keeps_retries": "keeps_retries",
    "limit": "limit",
    "checkpoints": "checkpoints",
    "locations": "locations",
    "rung": "rung",
    "tried": "tried",
    "climbs": "climbs",
    "no_capacity": "no_capacity",
}
RECORDED = (
    *("run", "reruns", "why", "output_path", "limit", "checkpoints"),
    *("rung", "tried", "climbs", "no_capacity"),
)
"""The hidden properties that only the outputs have."""


def reveal(props: Mapping[str, Any]) -> dict[str, Any]:
    """Return a job's inputs or outputs with the hidden ones beside the others, as they are declared.

    An output directory that the run chose is left out.
    """
    hidden = _hidden(props)
    shown = {
        **{name: value for name, value in props.items() if name != HIDDEN_INPUT},
        **{name: hidden[inside] for name, inside in _NAMES.items() if inside in hidden},
    }
    path = hidden.get("output_path")
    return _take(shown, path.split("."))[1] if isinstance(path, str) else shown


def reveal_outputs(props: Mapping[str, Any]) -> dict[str, Any]:
    """Return a job's outputs with the hidden ones beside the others, and the directory in its place."""
    hidden = _hidden(props)
    path, shown = hidden.get("output_path"), reveal(props)
    return put(shown, path.split("."), hidden.get("output_directory")) if isinstance(path, str) else shown


def hide(props: Mapping[str, Any]) -> dict[str, Any]:
    """Return a job's inputs as the state keeps them: the reverse of `reveal`.

    Of a job's outputs, those that are inputs: without what its run has, such as the directory that it chose.
    """
    path = props.get("output_path")
    rest = _take(props, path.split("."))[1] if isinstance(path, str) else props
    return _hide({name: value for name, value in rest.items() if name not in RECORDED}, {})


def hide_outputs(props: Mapping[str, Any]) -> dict[str, Any]:
    """Return a job's outputs as the state keeps them: the reverse of `reveal_outputs`.

    `base_output_directory` stays visible: programs read it.
    """
    visible = {DIRECTORY: props[DIRECTORY]} if DIRECTORY in props else {}
    path = props.get("output_path")
    if not isinstance(path, str):
        return {**_hide(props, {}), **visible}
    directory, rest = _take(props, path.split("."))
    return {**_hide(rest, {"output_directory": directory}), **visible}


def recorded_key(props: Mapping[str, Any]) -> str | None:
    """Return the key of the run that a job's recorded properties name, or None if they name none."""
    key = _hidden(props).get("key")
    return key if isinstance(key, str) else None


def recorded_checkpoints(props: Mapping[str, Any]) -> str | None:
    """Return the folder of checkpoints that a job's recorded properties name, or None."""
    folder = _hidden(props).get("checkpoints")
    return folder if isinstance(folder, str) else None


def recorded_identity(props: Mapping[str, Any]) -> str | None:
    """Return the identity of the runs that a job's recorded properties name, or None if they name none.

    Outputs have the key of the last run, inputs the identity alone.
    """
    key, identity = recorded_key(props), _hidden(props).get("identity")
    if key is not None:
        return identity_of(key)
    return identity if isinstance(identity, str) else None


def put(props: Mapping[str, Any], path: Sequence[str], value: object) -> dict[str, Any]:
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


def _hide(props: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    hidden = {inside: props[name] for name, inside in _NAMES.items() if props.get(name) is not None}
    hidden |= {name: value for name, value in more.items() if value is not None}
    return {**{name: value for name, value in props.items() if name not in _NAMES}, HIDDEN_INPUT: hidden}
