"""The provider of `Model`: settings change in place, other files or another container create a version."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import AlreadyExists, FailedPrecondition, NotFound, Unavailable
from pulumi_vertex_training.core.autonaming import id_from, with_own_id
from pulumi_vertex_training.core.call import Call, Created, Difference, Values
from pulumi_vertex_training.core.connection import endpoint_of
from pulumi_vertex_training.core.crud import CrudKind, CrudProvider
from pulumi_vertex_training.core.engine import print_line
from pulumi_vertex_training.core.identity.conflicts import Identity
from pulumi_vertex_training.core.interrupted import creation_notes, deletion_notes
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.property_changes import property_changes
from pulumi_vertex_training.core.provider import DRIFT, is_unknown
from pulumi_vertex_training.core.running.declaration import ownership_labels, root
from pulumi_vertex_training.kinds.model import files as model_files
from pulumi_vertex_training.kinds.model import gateway as models
from pulumi_vertex_training.kinds.model import kind as registered_model
from pulumi_vertex_training.kinds.model import versions as model_versions
from pulumi_vertex_training.kinds.model.gateway import ModelRecord
from pulumi_vertex_training.kinds.model.kind import RegisteredModelSpec
from pulumi_vertex_training.kinds.model.spec import DEFAULT_ALIAS
from vertex_training.fields.decode import encode
from vertex_training.fields.effects import Effect, effect_of
from vertex_training.fields.labels import key_label
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem

LINEAGE = "lineage"
"""The output with the lineage of the run that wrote the files."""

OUTPUTS = ("name", "version_id", "create_time", "update_time", DRIFT, LINEAGE)


@dataclass(frozen=True, kw_only=True)
class ModelInputs(RegisteredModelSpec):
    """A model's inputs in Pulumi's state.

    `marks` hold the owner, and `adopt` names a version to adopt. Neither takes part in a diff. `on_delete` is
    updated in place.
    """

    endpoint: str
    project: str
    location: str
    marks: Mapping[str, str] = field(default_factory=dict)
    adopt: str | None = None
    on_delete: Literal["keep", "delete"] = "keep"


def _problems(inputs: ModelInputs, options: CheckOptions) -> Iterator[Problem]:
    yield from registered_model.validate(inputs, options=options, is_uploaded=inputs.adopt is None)
    if inputs.adopt is not None and not re.fullmatch(r"[^@]+(@[^@]+)?", inputs.adopt):
        yield Problem(
            path="adopt",
            message=f"{inputs.adopt!r} is not the name of a version; write MODEL@VERSION, such as digits@3",
        )


def _outputs(record: ModelRecord) -> dict[str, Any]:
    return {
        "name": record.name,
        "version_id": record.version,
        "create_time": record.create_time,
        "update_time": record.wire.get("versionUpdateTime") or record.wire.get("updateTime"),
        DRIFT: [],
    }


def _live_spec(record: ModelRecord, inputs: ModelInputs) -> RegisteredModelSpec:
    """Return the live spec, except that a lost default alias is not a difference: it is never taken back."""
    spec = registered_model.from_wire(record.wire, DECLARED.spec_of(inputs))
    return replace(spec, is_default_version=inputs.is_default_version)


DECLARED: CrudKind[ModelInputs, RegisteredModelSpec, ModelRecord] = CrudKind(
    noun="model",
    spec=RegisteredModelSpec,
    inputs=ModelInputs,
    outputs=OUTPUTS,
    label=lambda inputs: inputs.display_name,
    normalise=registered_model.normalise,
    problems=_problems,
    get=models.get,
    live_spec=_live_spec,
    imported=lambda record: encode(registered_model.from_wire(record.wire)),
    outputs_of=_outputs,
)


_TARGET = ("endpoint", "project", "location")
_SPEC_LABEL = "vertex-training-spec"


class ModelProvider(CrudProvider):
    """The provider of `Model`. The inputs are `ModelInputs`, the further outputs `OUTPUTS`.

    The id is the full name of the version.
    """

    declared = DECLARED
    names = ("model_id", "parent_model")
    empty_if_null = ("artifact_uri",)

    def defaults(self, resource: str) -> Values:
        return {"display_name": resource}

    def id_of(self, record: ModelRecord, asked: str) -> str:  # noqa: ARG002
        return record.full_name

    def prepared(self, call: Call) -> dict[str, Any]:
        """Fill in the model id, and keep the files of an existing version while there are no others."""
        news = model_files.keep_recorded(call)
        return news if news.get("parent_model") is not None else with_own_id("model_id", id_from, news, call)

    def missing(self, prepared: Mapping[str, Any]) -> Sequence[Problem]:
        """Report files that come from an output that is None."""
        return () if model_files.are_known(prepared) else (model_files.MISSING,)

    def identity(self, inputs: ModelInputs, key: str) -> Identity | None:  # noqa: ARG002
        if inputs.parent_model or inputs.adopt or not inputs.model_id:
            return None
        id_ = inputs.model_id
        return Identity(
            noun="model",
            field="model_id",
            id=id_,
            place=f"{inputs.endpoint} {inputs.project} {inputs.location}",
            labels=tuple(map(ownership_labels, OPERATION.all_marks(inputs.marks))),
            taken=f"project {inputs.project}, {inputs.location}, has such a model. Choose another model_id; "
            f'or add a version with parent_model="{id_}", or adopt an existing version with adopt=',
        )

    def conflicts(self, inputs: ModelInputs, unknown: Collection[str]) -> Iterator[Problem]:
        """Warn about a second resource that declares the default version of the same model."""
        deciding = {
            "project",
            "location",
            "model_id",
            "parent_model",
            "is_default_version",
            "version_aliases",
        }
        me = str(inputs.marks.get("resource", ""))
        if not inputs.is_default_version or not me or deciding & set(map(root, unknown)):
            return
        first = OPERATION.claim(f"the default version of {_model_name(inputs)}", me)
        if first != me:
            model = _model_name(inputs).rpartition("/")[2]
            yield Problem(
                path="is_default_version",
                message=f"is true here and in {first!r}, which is also a version of {model}. A model has "
                "only one default version: the one that is uploaded last. Set it to False in one "
                "of the two.",
                level="warning",
            )

    def drift(self, record: ModelRecord, inputs: ModelInputs) -> list[str]:
        """Report that another version has become the default."""
        if not inputs.is_default_version or DEFAULT_ALIAS in record.aliases:
            return []
        endpoint = endpoint_of({name: getattr(inputs, name) for name in _TARGET})
        default = model_versions.default_in_words(endpoint, record.name, own=ownership_labels(inputs.marks))
        lost = f"no longer the default version: {default}"
        remedy = (
            "This version does not become the default again, but a new one would. If the version must not be "
            "the default, set is_default_version=False"
        )
        print_line(f"model {record.full_name.rpartition('/')[2]} is {lost}. {remedy}")
        return [f"it is {lost}"]

    def diff(self, call: Call) -> Difference:
        """Decide which changed fields replace the version."""
        old, new = DECLARED.canonical(call.outputs), DECLARED.canonical(call.inputs)
        names = [item.name for item in fields(ModelInputs) if item.name not in ("marks", "adopt")]
        changed = [name for name in names if is_unknown(new.get(name)) or old.get(name) != new.get(name)]
        replaces = [
            name
            for name in changed
            if name in _TARGET
            or (name != "on_delete" and effect_of(name, registered_model.EFFECTS).effect is Effect.REPLACE)
        ]
        if not call.context.recorded:
            # The engine diffs the dependents of a job to be replaced before the program declares
            # them, and would delete them first. Their files may stay the same: the diff comes again.
            replaces = [name for name in replaces if not is_unknown(new.get(name))]
        elif not replaces:
            OPERATION.note_kept(call.id, call.context, call.outputs)
        if replaces:
            call.context.label_of_replaced = model_versions.replaces_label(call.id, call.outputs)
        # The new version exists before the old one is deleted: a model always has a version.
        properties = property_changes(
            call.outputs, call.inputs, changed, replacing=replaces, effects=registered_model.EFFECTS
        )
        difference = Difference(changes=bool(changed), properties=properties)
        return deletion_notes.continued(
            difference,
            call,
            lambda endpoint: models.get(endpoint, call.id),
            title=f"model {call.id.rpartition('/')[2]}",
            created_as=_creation_of(old),
        )

    def create(self, call: Call) -> Created:
        """Upload a version, or adopt an existing one."""
        raw = call.inputs
        inputs = DECLARED.read_inputs(raw)
        endpoint = endpoint_of(raw)
        recorded = _recorded(call)
        call.context.is_replaced = True
        # The replacement of an adopted version is uploaded.
        adopts = inputs.adopt and (recorded is None or recorded.adopt != inputs.adopt)
        if adopts:
            record = _adopt(endpoint, inputs, call.key)
        else:
            title = f"model {inputs.display_name}"
            with creation_notes.noted(self, raw, _creation_of(raw), key=call.key, title=title):
                record = _upload(endpoint, inputs, call)
        OPERATION.note_made(record.full_name)
        deletion_notes.forget(record.full_name)
        made = {**raw, **DECLARED.outputs_of(record), LINEAGE: model_files.lineage_of(endpoint, record)}
        return Created(id=record.full_name, outputs=made)

    def update(self, call: Call) -> Values:
        """Apply changed settings, and delete versions that were uploaded to replace this one."""
        raw = call.inputs
        old, new = DECLARED.read_inputs(call.outputs), DECLARED.read_inputs(raw)
        endpoint = endpoint_of(raw)
        creation_notes.remove_others(_creation_of(raw), call.key)
        # The version stays, so versions that were uploaded to replace it are orphans.
        model_versions.delete_orphans(
            endpoint, call.id.partition("@")[0], model_versions.replaces_label(call.id, call.outputs)
        )
        record = models.get(endpoint, call.id)
        if old.is_default_version and DEFAULT_ALIAS not in record.aliases:
            # Another version has become the default since; this one does not take the alias back.
            new = replace(new, is_default_version=False)
        _apply_settings(endpoint, record, old, new, call.key)
        record = models.get(endpoint, call.id)
        known = call.outputs.get(LINEAGE) or model_files.lineage_of(endpoint, record)
        return {**raw, **DECLARED.outputs_of(record), LINEAGE: known}

    def delete(self, call: Call) -> None:
        """Delete the version, unless it is kept, or was adopted by its own replacement.

        A version that another one replaces is always deleted; `on_delete` is for the end of the resource.
        """
        if OPERATION.made(call.id) or OPERATION.belongs_to_another_entry(call.id):
            # Adopted in this deployment or a killed one: it is its own replacement (`up --replace`).
            return
        raw = call.outputs
        creation_notes.remove_with(_creation_of(raw), recorded_id=call.id)
        endpoint, (name, _, version) = endpoint_of(raw), call.id.partition("@")

        # A model that was deleted and created again has the same version numbers.
        def is_ours(record: ModelRecord) -> bool:
            return record.create_time == (raw.get("create_time") or record.create_time)

        model_versions.delete_orphans(endpoint, name, model_versions.replaces_label(call.id, raw))
        if raw.get("on_delete") != "delete" and not call.context.recorded:
            print_line(f'model {call.id.rpartition("/")[2]} is kept: on_delete="delete" is not set')
            return
        deletion_notes.note(call.id)
        model_versions.delete(endpoint, name, version, print_line=print_line, is_ours=is_ours)

    def remove_interrupted(self, endpoint: Endpoint, id_: str, key: str) -> bool:
        name, _, spec = id_.partition("#")
        models.wait_for_uploads(endpoint, name)
        known = model_versions.versions_of(endpoint, name)
        found = model_versions.with_labels(known, {**key_label(key), _SPEC_LABEL: spec})
        if found is None or OPERATION.made(found.full_name):
            raise NotFound(f"model {id_} has no version of this key", resource=id_, endpoint=endpoint)
        try:
            return model_versions.delete(endpoint, name, found.version, print_line=print_line)
        except FailedPrecondition:  # it is deployed
            return False


def _upload(endpoint: Endpoint, inputs: ModelInputs, call: Call) -> ModelRecord:
    """Adopt the version that an interrupted deployment of this declaration uploaded, or upload a new one."""
    name = _model_name(inputs)
    marks, key = _labels_of(inputs, call.key), call.key
    models.wait_for_uploads(endpoint, name)
    known = model_versions.versions_of(endpoint, name)
    found = _interrupted_upload(known, inputs, key)
    if found is not None:
        print_line(
            f"model {inputs.display_name}: adopted; an interrupted deployment of this stack uploaded it"
        )
        return _with_settings(endpoint, found, inputs, key)
    recorded = _recorded(call)
    ours = (recorded is not None and _model_name(recorded) == name) or _has_own_version(known, inputs)
    if known and not inputs.parent_model and not ours:
        raise AlreadyExists(
            f"model {inputs.model_id} already exists in project {inputs.project}, {inputs.location}. Choose "
            f'another model_id; or add a version with parent_model="{inputs.model_id}", or adopt an '
            "existing version with adopt=.",
            resource=inputs.model_id or "",
            endpoint=endpoint,
        )
    label = call.context.label_of_replaced
    replaced = {model_versions.REPLACES_LABEL: label} if label else {}
    try:
        model, version = models.upload(
            endpoint,
            registered_model.to_wire(DECLARED.spec_of(inputs), marks={**marks, **replaced}),
            model_id=None if known or inputs.parent_model else inputs.model_id,
            parent_model=name if known or inputs.parent_model else None,
            service_account=inputs.service_account,
        )
    except (AlreadyExists, Unavailable):
        models.wait_for_uploads(endpoint, name)
        found = _interrupted_upload(model_versions.versions_of(endpoint, name), inputs, key)
        if found is None:
            raise
        return _with_settings(endpoint, found, inputs, key)
    record = models.get(endpoint, f"{model}@{version}")
    return _with_settings(endpoint, record, inputs, key) if known else record


def _with_settings(endpoint: Endpoint, record: ModelRecord, inputs: ModelInputs, key: str) -> ModelRecord:
    """Apply the declared settings to a version, and to its model if it is ours. Return the version."""
    if not inputs.parent_model:
        models.update(
            endpoint,
            record.name,
            registered_model.model_settings(DECLARED.spec_of(inputs), marks=_labels_of(inputs, key)),
        )
    _apply_settings(
        endpoint, record, registered_model.from_wire(record.wire, DECLARED.spec_of(inputs)), inputs, key
    )
    return models.get(endpoint, record.full_name)


def _adopt(endpoint: Endpoint, inputs: ModelInputs, key: str) -> ModelRecord:
    """Adopt an existing version, and apply the declared settings."""
    wanted = inputs.adopt or ""
    name = wanted if "/" in wanted else f"{endpoint.parent}/models/{wanted}"
    record = models.get(endpoint, name)
    if not registered_model.matches(record.wire, DECLARED.spec_of(inputs)):
        raise FailedPrecondition(
            f"model {record.full_name.rpartition('/')[2]} differs from the declaration in its files, its "
            "container or another part that cannot change. Declare the values that the model has, or leave "
            "adopt out to upload a new version.",
            resource=record.full_name,
            endpoint=endpoint,
        )
    return _with_settings(endpoint, record, inputs, key)


def _apply_settings(
    endpoint: Endpoint, record: ModelRecord, old: RegisteredModelSpec, new: ModelInputs, key: str
) -> None:
    of_model, of_version = registered_model.patches(old, DECLARED.spec_of(new), marks=_labels_of(new, key))
    if of_model:
        models.update(endpoint, record.name, of_model)
    if of_version:
        models.update(endpoint, record.full_name, of_version)
    aliases = registered_model.alias_changes(record.aliases, DECLARED.spec_of(new))
    if aliases:
        models.merge_aliases(endpoint, record.full_name, aliases)


def _interrupted_upload(known: list[ModelRecord], inputs: ModelInputs, key: str) -> ModelRecord | None:
    """Return the version with this resource's key that equals the declaration, or None."""
    labels = {**key_label(key), **_spec_label(inputs)}
    found = model_versions.with_labels(known, labels) if key else None
    return found if found and registered_model.matches(found.wire, DECLARED.spec_of(inputs)) else None


def _has_own_version(known: list[ModelRecord], inputs: ModelInputs) -> bool:
    labels = map(ownership_labels, OPERATION.all_marks(inputs.marks))
    return any(model_versions.with_labels(known, each) is not None for each in labels)


def _recorded(call: Call) -> ModelInputs | None:
    """Return the recorded inputs of this resource, or None for a new resource.

    The model belongs to the stack even if its labels have an older name of stack or resource.
    """
    return DECLARED.decode(call.context.recorded).draft if call.context.recorded else None


def _labels_of(inputs: ModelInputs, key: str) -> dict[str, str]:
    return {**ownership_labels(inputs.marks), **key_label(key), **_spec_label(inputs)}


def _spec_label(inputs: ModelInputs) -> dict[str, str]:
    return {_SPEC_LABEL: registered_model.spec_hash(DECLARED.spec_of(inputs))}


def _creation_of(props: Mapping[str, Any]) -> str:
    """Return the id of the creation of a version: of its model and its spec."""
    inputs = DECLARED.decode(props).draft
    if inputs is None or is_unknown([props.get(name) for name in ("project", "location", "parent_model")]):
        return ""
    return f"{_model_name(inputs)}#{registered_model.spec_hash(DECLARED.spec_of(inputs))}"


def _model_name(inputs: ModelInputs) -> str:
    return registered_model.full_name(inputs.project, inputs.location, inputs)
