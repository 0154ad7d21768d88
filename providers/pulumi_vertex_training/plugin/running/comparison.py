"""Recorded inputs beside declared ones: what makes it another job, and that in words."""

from __future__ import annotations

from typing import Any

from pulumi_vertex_training.plugin.process import PLUGIN, say
from pulumi_vertex_training.plugin.provider import is_unknown
from pulumi_vertex_training.plugin.running.declaration import PLACES, Declared, root
from vertex_training.fields.decode import encode
from vertex_training.fields.values import NOT_KNOWN

MACHINE_TYPE = ".machine_spec.machine_type"


def replaced_by(declared: Declared, recorded: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """The inputs that make it another job; what changes is said where a deployment asks."""
    replacing = (*declared.spec_fields, *PLACES, "run", "spec_hash")
    if all(recorded.get(name) == new.get(name) for name in replacing) and not is_unknown(new):
        return []
    was, will = _canonical(declared, recorded), _canonical(declared, new)
    replaces = [name for name in replacing if is_unknown(will.get(name)) or was.get(name) != will.get(name)]
    asked = PLUGIN.was_checked(declared.memory(will))
    if asked and recorded.get("spec_hash") and recorded.get("spec_hash") == new.get("spec_hash"):
        # The same declaration, with defaults that another version filled in otherwise.
        replaces = [name for name in replaces if name not in declared.spec_fields]
    if replaces and asked and (sentence := _sentence(declared, was, will)):
        say(f"{declared.resource(will)}: {sentence}")
    return replaces


def _canonical(declared: Declared, props: dict[str, Any]) -> dict[str, Any]:
    """Inputs or recorded outputs in one shape, also those that an older version recorded."""
    decoded = declared.read_inputs({name: props[name] for name in declared.input_names if name in props})
    inputs, unknown = decoded.draft, decoded.unknown
    if inputs is None:
        return props
    directory = declared.spec.directory_path(inputs)
    if declared.follows_run(inputs) or (inputs.staging_bucket and {"run", directory} <= unknown):
        # It changes with every run, and says nothing of its own.
        inputs = declared.spec.with_output_directory(inputs, None)
        unknown -= {directory}
    return dict(encode(inputs, unknown=unknown))


def _sentence(declared: Declared, old: dict[str, Any], new: dict[str, Any]) -> str:
    """What changes, pool by pool and in words, and what becomes of the job; "" when its spec stays."""
    was, will = declared.read_inputs(old), declared.read_inputs(new)
    if was.draft is None or will.draft is None:
        return ""
    unknown = {
        path
        for path in will.unknown
        if root(path) in declared.spec_fields
        # A disk that follows from a machine which is not known yet is no change of its own.
        and path.removesuffix(".disk_spec") + MACHINE_TYPE not in will.unknown
    }
    difference = declared.spec.compare(
        declared.spec_of(was.draft), declared.spec_of(will.draft), unknown=unknown
    )
    moved = [
        f"{name}: {old.get(name)} -> {_shown(new.get(name))}"
        for name in PLACES
        if old.get(name) != new.get(name)
    ]
    if not moved:
        return difference.words
    it = declared.spec.it
    reason = f"{it} is replaced, because a {it.removeprefix('the ')} stays where it was created"
    return "; ".join([*moved, *difference.changes, reason])


def _shown(value: Any) -> str:
    return NOT_KNOWN if is_unknown(value) else str(value)
