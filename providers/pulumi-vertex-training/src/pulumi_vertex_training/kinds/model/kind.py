"""A version of a model that is uploaded by itself: its spec, its JSON, and the effects of its fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from pulumi_vertex_training.kinds.model import spec as model
from pulumi_vertex_training.kinds.model.rules import model_problems, registry_problems
from pulumi_vertex_training.kinds.model.spec import DEFAULT_ALIAS, IN_PLACE, ModelSpec
from vertex_training.fields.effects import CHANGES, Effect, FieldEffect, effect_of, field_table
from vertex_training.fields.schema import camel_case
from vertex_training.findings.options import DEFAULT_OPTIONS, CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.job.job_spec import hash_of

_MODEL = {CHANGES: FieldEffect(effect=Effect.REPLACE, reason="{noun} cannot move to another model")}


@dataclass(frozen=True, kw_only=True)
class RegisteredModelSpec(ModelSpec):
    """One version of a model: the first of `model_id`, or the next of `parent_model`.

    `is_default_version` gives it the alias "default", which the first version always has. `service_account`
    reads the files during the upload.
    """

    model_id: str | None = field(default=None, metadata=_MODEL)
    """Id of the model. The first version creates the model. Default: see
    docs/guides/programs/previews.md#ids.
    """
    parent_model: str | None = field(default=None, metadata=_MODEL)
    """Model that gets this version: a `Model`, or its id or full name."""
    is_default_version: bool = field(default=True, metadata=IN_PLACE)
    """Make this version the one that is used when none is named."""
    service_account: str | None = field(
        default=None,
        metadata={CHANGES: FieldEffect(effect=Effect.NONE, reason="it only applies to the upload")},
    )
    """Address of the account that reads the files during the upload."""


EFFECTS = field_table(RegisteredModelSpec, noun="a version")


def normalise(spec: model.Model) -> model.Model:
    """Return the normal form, in which the alias "default" is `is_default_version`."""
    normal = model.normalise(spec)
    if not isinstance(normal, RegisteredModelSpec):
        return normal
    return replace(
        normal,
        model_id=normal.model_id or None,
        parent_model=normal.parent_model or None,
        service_account=normal.service_account or None,
        is_default_version=normal.is_default_version or DEFAULT_ALIAS in normal.version_aliases,
        version_aliases=tuple(alias for alias in normal.version_aliases if alias != DEFAULT_ALIAS),
    )


def validate(
    spec: RegisteredModelSpec, *, options: CheckOptions = DEFAULT_OPTIONS, is_uploaded: bool = False
) -> list[Problem]:
    """Return every finding about a version.

    One with files needs a container (SDK, `Model.upload`), and so does one that is uploaded, unless it comes
    from a base model.
    """
    needs_container = bool(spec.artifact_uri) or (is_uploaded and spec.base_model_source is None)
    return [
        *model_problems(spec, path="", options=options, needs_container=needs_container),
        *registry_problems(spec.model_id, spec.parent_model, options),
    ]


def full_name(project: str, location: str, spec: RegisteredModelSpec) -> str:
    """Return the full name of the model to which the version belongs."""
    own = spec.parent_model or spec.model_id or ""
    return own if "/" in own else f"projects/{project}/locations/{location}/models/{own}"


def to_wire(spec: RegisteredModelSpec, *, marks: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the version as the API's message Model; `marks` are added to the declared labels."""
    plain = ModelSpec(**{name: getattr(spec, name) for name in _FIELDS})
    return model.to_wire(replace(plain, version_aliases=aliases(spec)), marks=marks)


def aliases(spec: RegisteredModelSpec) -> tuple[str, ...]:
    """Return the declared aliases, including "default" for the default version."""
    more = (DEFAULT_ALIAS,) if spec.is_default_version else ()
    return tuple(sorted({*spec.version_aliases, *more}))


def patches(
    old: RegisteredModelSpec, new: RegisteredModelSpec, *, marks: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the bodies of the updates of the model and of the version, each empty for no change.

    One request cannot change both (Vertex AI API, UpdateModelRequest). An empty value clears a field. A
    model's own labels are those of its first version, and an answer has both, so they change together. The
    labels of `parent_model` belong to its owner and never change.
    """
    of_model = _changed(old, new, ("display_name", "description", *(() if new.parent_model else ("labels",))))
    of_version = _changed(old, new, ("version_description", "labels"))
    for patch in (of_model, of_version):
        if "labels" in patch:
            patch["labels"] = {**patch["labels"], **marks}
    return of_model, of_version


def model_settings(spec: RegisteredModelSpec, *, marks: Mapping[str, str]) -> dict[str, Any]:
    """Return all settings of a model itself, without its versions'."""
    labels = {**spec.labels, **marks}
    return {"displayName": spec.display_name, "description": spec.description or "", "labels": labels}


def matches(version: Mapping[str, Any], spec: RegisteredModelSpec) -> bool:
    """Return whether a live version equals the spec in all fields that cannot change."""
    live, wanted = from_wire(version, normalise(spec)), normalise(spec)
    return all(
        getattr(live, name) == getattr(wanted, name)
        for name in (each.name for each in fields(RegisteredModelSpec))
        if effect_of(name, EFFECTS).effect is Effect.REPLACE
    )


def spec_hash(spec: RegisteredModelSpec) -> str:
    """Return "v1-" and 16 hex digits, equal for specs that are equal in all fields that cannot change."""
    bare = replace(
        normalise(spec),
        display_name="",
        description=None,
        version_description=None,
        version_aliases=(),
        labels={},
        is_default_version=False,
        service_account=None,
    )
    return hash_of(bare, to_wire)


def _changed(old: RegisteredModelSpec, new: RegisteredModelSpec, names: tuple[str, ...]) -> dict[str, Any]:
    empty: dict[str, Any] = {"labels": {}}
    return {
        camel_case(name): getattr(new, name) or empty.get(name, "")
        for name in names
        if getattr(old, name) != getattr(new, name)
    }


def alias_changes(live: tuple[str, ...], spec: RegisteredModelSpec) -> tuple[str, ...]:
    """Return the aliases to merge into those of a version: names to add, and names with a dash to remove.

    "default" is never removed: exactly one version has it, and it moves when another version gets it.
    """
    wanted = set(aliases(spec))
    gone = {alias for alias in live if alias not in wanted and alias != DEFAULT_ALIAS}
    return (*sorted(wanted - set(live)), *(f"-{alias}" for alias in sorted(gone)))


def from_wire(version: Mapping[str, Any], declared: RegisteredModelSpec | None = None) -> RegisteredModelSpec:
    """Return the spec, in normal form, of a live version.

    `declared` supplies fields that an answer lacks: the model, and input-only fields such as
    `container_spec`. A version that is the default without being declared so is not a difference. Raises
    ValueError if `version` is not a model.
    """
    spec = model.from_wire(version)
    name = str(version.get("name") or "").partition("@")[0].rpartition("/")[2]
    is_default = DEFAULT_ALIAS in spec.version_aliases
    live = RegisteredModelSpec(**{each: getattr(spec, each) for each in _FIELDS}, model_id=name or None)
    live = normalise(replace(live, is_default_version=is_default))
    if declared is None:
        return live
    input_only = {
        name: getattr(declared, name)
        for name in ("container_spec", "artifact_uri", "default_checkpoint_id", "explanation_spec")
        if getattr(live, name) is None
    }
    return replace(
        live,
        model_id=declared.model_id,
        parent_model=declared.parent_model,
        service_account=declared.service_account,
        is_default_version=is_default and declared.is_default_version,
        **input_only,
    )


_FIELDS = tuple(each.name for each in fields(ModelSpec))
