"""The provider of `Model`: settings change in place; other files or another container are another version."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from pulumi.dynamic import CreateResult, DiffResult, UpdateResult

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import AlreadyExists, CloudError, FailedPrecondition, Unavailable
from pulumi_vertex_training.kinds.model import files as model_files
from pulumi_vertex_training.kinds.model import gateway as models
from pulumi_vertex_training.kinds.model import kind as registered_model
from pulumi_vertex_training.kinds.model import versions as model_versions
from pulumi_vertex_training.kinds.model.gateway import ModelRecord
from pulumi_vertex_training.kinds.model.kind import RegisteredModelSpec
from pulumi_vertex_training.kinds.model.spec import DEFAULT_ALIAS
from pulumi_vertex_training.plugin.autonaming import with_own_id
from pulumi_vertex_training.plugin.connection import endpoint_of
from pulumi_vertex_training.plugin.crud import CrudKind, CrudProvider
from pulumi_vertex_training.plugin.operation import OPERATION
from pulumi_vertex_training.plugin.process import say
from pulumi_vertex_training.plugin.provider import clean, complete, inbound, is_unknown, outbound
from pulumi_vertex_training.plugin.running.declaration import ownership_labels, root
from vertex_training.fields.effects import Effect, effect_of
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem

OUTPUTS = ("name", "version_id", "create_time", "update_time")


@dataclass(frozen=True, kw_only=True)
class ModelInputs(RegisteredModelSpec):
    """A model's inputs in Pulumi's state. `marks` say whose it is, `adopt` names a version to take over; they
    never take part in a diff.
    """

    endpoint: str
    project: str
    location: str
    marks: Mapping[str, str] = field(default_factory=dict)
    adopt: str | None = None


def _problems(inputs: ModelInputs, options: CheckOptions) -> Iterator[Problem]:
    yield from registered_model.validate(inputs, options=options)
    if inputs.adopt is not None and not re.fullmatch(r"[^@]+(@[^@]+)?", inputs.adopt):
        yield Problem(
            path="adopt",
            message=f"{inputs.adopt!r} names no version; write MODEL@VERSION, such as digits@3",
        )


def _outputs(record: ModelRecord) -> dict[str, Any]:
    return {
        "name": record.name,
        "version_id": record.version,
        "create_time": create_time(record),
        "update_time": record.wire.get("versionUpdateTime") or record.wire.get("updateTime"),
    }


def create_time(record: ModelRecord) -> str | None:
    return record.wire.get("versionCreateTime") or record.wire.get("createTime")


def _lives(record: ModelRecord, inputs: ModelInputs) -> RegisteredModelSpec:
    """What the service has; which version is the default is not for one of them to take back."""
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
    live_spec=_lives,
    outputs_of=_outputs,
)


_PLACE = ("endpoint", "project", "location")
_SPEC_LABEL = "vertex-training-spec"
_REPLACES_LABEL = "vertex-training-replaces"


class ModelProvider(CrudProvider):
    """Inputs: `ModelInputs`; outputs besides: `OUTPUTS`. The id is the full name of the version."""

    declared = DECLARED

    def prepared(self, olds: dict[str, Any], news: dict[str, Any]) -> dict[str, Any]:
        news = model_files.kept(olds, news)
        if news.get("parent_model") is None:
            news = with_own_id("model_id", registered_model.id_made_from, olds, news)
        if olds:
            _note_recorded(olds, news)
        return news

    def missing(self, prepared: Mapping[str, Any]) -> Sequence[Problem]:
        return () if model_files.are_there(prepared) else (model_files.MISSING,)

    def conflicts(self, inputs: ModelInputs, unknown: Collection[str]) -> Iterator[Problem]:
        open_ = {"project", "location", "model_id", "parent_model", "is_default_version", "version_aliases"}
        me = str(inputs.marks.get("resource", ""))
        if not inputs.is_default_version or not me or open_ & set(map(root, unknown)):
            return
        first = OPERATION.claim(f"the default version of {_model_name(inputs)}", me)
        if first != me:
            model = _model_name(inputs).rpartition("/")[2]
            yield Problem(
                path="is_default_version",
                message=f"is true, as it is in {first!r}, a version of {model}, too; a model has one default "
                "version, the one that is uploaded last. Set it to False in one of the two.",
                level="warning",
            )

    def seen(self, record: ModelRecord, inputs: ModelInputs) -> None:
        if inputs.is_default_version and DEFAULT_ALIAS not in record.aliases:
            say(f"model {record.full_name.rpartition('/')[2]} {_whose_default(inputs, record)}")

    @clean
    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        old, new = DECLARED.canonical(inbound(_olds)), DECLARED.canonical(inbound(_news))
        names = [item.name for item in fields(ModelInputs) if item.name not in ("marks", "adopt")]
        changed = [name for name in names if is_unknown(new.get(name)) or old.get(name) != new.get(name)]
        replaces = [name for name in changed if name in _PLACE or _effect(name) is Effect.REPLACE]
        if not OPERATION.was_checked(_memory(old)):
            # The engine asks before the program does what goes with a job that is about to be replaced. That
            # would go first, and its files may come out as they were, or not at all: it is asked again.
            replaces = [name for name in replaces if not is_unknown(new.get(name))]
        elif not replaces:
            OPERATION.note_kept(_id, _memory(old), inbound(_olds))
        if replaces:
            OPERATION.note_label_of_replaced(_memory(new), _mark_of(_id, inbound(_olds)))
        # The new version is there before the old one goes: a model is never without one.
        return DiffResult(changes=bool(changed), replaces=replaces, delete_before_replace=False)

    @clean
    def create(self, props: dict[str, Any]) -> CreateResult:
        raw = inbound(props)
        inputs = DECLARED.read_inputs(raw)
        endpoint = endpoint_of(raw)
        recorded = _recorded(inputs)
        OPERATION.note_replaced(_memory(complete(inputs)))
        # What replaces a version that was adopted is uploaded.
        adopts = inputs.adopt and (recorded is None or recorded.adopt != inputs.adopt)
        record = _adopt(endpoint, inputs) if adopts else _upload(endpoint, inputs)
        OPERATION.note_made(record.full_name)
        return CreateResult(record.full_name, outbound({**raw, **DECLARED.outputs_of(record)}))

    @clean
    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        raw = inbound(_news)
        old, new = DECLARED.read_inputs(inbound(_olds)), DECLARED.read_inputs(raw)
        endpoint = endpoint_of(raw)
        # It stays what it is, so what was to replace it is nobody's.
        _remove_left_behind(endpoint, _id.partition("@")[0], _mark_of(_id, inbound(_olds)))
        record = models.get(endpoint, _id)
        if old.is_default_version and DEFAULT_ALIAS not in record.aliases:
            # Another version has become the default since: that is not this one's to take back.
            new = replace(new, is_default_version=False)
        _set_right(endpoint, record, old, new)
        return UpdateResult(outbound({**raw, **DECLARED.outputs_of(models.get(endpoint, _id))}))

    @clean
    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        if OPERATION.made(_id) or OPERATION.belongs_to_another_entry(_id):
            # Taken over, in this deployment or a killed one: it is what replaces this one (`up --replace`).
            return
        raw = inbound(_props)
        endpoint, (name, _, version) = endpoint_of(raw), _id.partition("@")

        # A model that was deleted and made anew has the same numbers again.
        def is_ours(record: ModelRecord) -> bool:
            return create_time(record) == (raw.get("create_time") or create_time(record))

        _remove_left_behind(endpoint, name, _mark_of(_id, raw))
        model_versions.remove(endpoint, name, version, say=say, is_ours=is_ours)


def _whose_default(inputs: ModelInputs, record: ModelRecord) -> str:
    """What a version is told whose alias another one has."""
    lost = "is not the default version any more, and stays so"
    remedy = "set is_default_version=False where it is not to be the default"
    return f"{lost}: {_default_of(inputs, record)}. A new version would be; {remedy}"


def _default_of(inputs: ModelInputs, record: ModelRecord) -> str:
    try:
        found = models.get(
            endpoint_of({name: getattr(inputs, name) for name in _PLACE}), f"{record.name}@{DEFAULT_ALIAS}"
        )
    except CloudError:
        return "another version is"
    labels = {name: found.labels.get(f"pulumi-{name}") for name in ("resource", "stack", "project")}
    # A version that was uploaded without labels has those of its model.
    theirs = any(found.labels.get(name) != value for name, value in ownership_labels(inputs.marks).items())
    if labels["resource"] and theirs:
        return f"version {found.version} is, of {labels['resource']} in {labels['project']}/{labels['stack']}"
    pipeline = str(found.wire.get("trainingPipeline") or "").rpartition("/")[2]
    return f"version {found.version} is" + (f", of pipeline {pipeline}" if pipeline else "")


def _upload(endpoint: Endpoint, inputs: ModelInputs) -> ModelRecord:
    """The version that an interrupted deployment of this declaration has uploaded, else a new one."""
    name = _model_name(inputs)
    marks = _marks(inputs)
    models.wait_for_uploads(endpoint, name)
    known = model_versions.of_model(endpoint, name)
    found = _left_behind(known, inputs)
    if found is not None:
        say(f"model {inputs.display_name}: taken over; an interrupted deployment of this stack uploaded it")
        return _settled(endpoint, found, inputs)
    recorded = _recorded(inputs)
    ours = (recorded is not None and _model_name(recorded) == name) or _are_ours(known, inputs)
    if known and not inputs.parent_model and not ours:
        raise AlreadyExists(
            f"model {inputs.model_id} exists already in project {inputs.project}, {inputs.location}. Choose "
            f'another model_id; parent_model="{inputs.model_id}" adds a version to it, and adopt= takes over '
            "the one that is there.",
            resource=inputs.model_id or "",
            endpoint=endpoint,
        )
    try:
        model, version = models.upload(
            endpoint,
            registered_model.to_wire(DECLARED.spec_of(inputs), marks={**marks, **_replaced_by(inputs)}),
            model_id=None if known or inputs.parent_model else inputs.model_id,
            parent_model=name if known or inputs.parent_model else None,
            service_account=inputs.service_account,
        )
    except (AlreadyExists, Unavailable):
        found = _left_behind(model_versions.of_model(endpoint, name), inputs)
        if found is None:
            raise
        return _settled(endpoint, found, inputs)
    record = models.get(endpoint, f"{model}@{version}")
    return _settled(endpoint, record, inputs) if known else record


def _remove_left_behind(endpoint: Endpoint, name: str, mark: str) -> None:
    """Delete the versions that were uploaded to replace the one of this mark and are in no state: those of
    deployments that were killed before they were recorded.
    """
    for record in model_versions.of_model(endpoint, name):
        if record.labels.get(_REPLACES_LABEL) != mark:
            continue
        if OPERATION.made(record.full_name) or OPERATION.belongs_to_another_entry(record.full_name):
            continue
        say(f"model {record.full_name.rpartition('/')[2]} was left behind by an interrupted deployment")
        model_versions.remove(endpoint, name, record.version, say=say)


def _mark_of(id_: str, recorded: Mapping[str, Any]) -> str:
    """A label's value that tells a version from all others, also of a model that is made anew."""
    return hashlib.sha256(f"{id_} {recorded.get('create_time')}".encode()).hexdigest()[:32]


def _settled(endpoint: Endpoint, record: ModelRecord, inputs: ModelInputs) -> ModelRecord:
    """The version with the settings that are declared, also those that its model has."""
    if not inputs.parent_model:
        models.update(
            endpoint,
            record.name,
            registered_model.model_settings(DECLARED.spec_of(inputs), marks=_marks(inputs)),
        )
    _set_right(endpoint, record, registered_model.from_wire(record.wire, DECLARED.spec_of(inputs)), inputs)
    return models.get(endpoint, record.full_name)


def _adopt(endpoint: Endpoint, inputs: ModelInputs) -> ModelRecord:
    """A version that is there already, with the settings that are declared."""
    wanted = inputs.adopt or ""
    name = wanted if "/" in wanted else f"{endpoint.parent}/models/{wanted}"
    record = models.get(endpoint, name)
    if not registered_model.is_of(record.wire, DECLARED.spec_of(inputs)):
        raise FailedPrecondition(
            f"model {record.full_name.rpartition('/')[2]} is not what is declared: its files, container or "
            "another part that cannot change differ. Declare it as it is, or leave adopt out: a new version "
            "is uploaded then.",
            resource=record.full_name,
            endpoint=endpoint,
        )
    return _settled(endpoint, record, inputs)


def _set_right(endpoint: Endpoint, record: ModelRecord, old: RegisteredModelSpec, new: ModelInputs) -> None:
    of_model, of_version = registered_model.patches(old, DECLARED.spec_of(new), marks=_marks(new))
    if of_model:
        models.update(endpoint, record.name, of_model)
    if of_version:
        models.update(endpoint, record.full_name, of_version)
    aliases = registered_model.alias_changes(record.aliases, DECLARED.spec_of(new))
    if aliases:
        models.merge_aliases(endpoint, record.full_name, aliases)


def _left_behind(known: list[ModelRecord], inputs: ModelInputs) -> ModelRecord | None:
    """The version that carries the marks of this very declaration, and was uploaded as it says."""
    if not inputs.marks:
        return None
    found = model_versions.marked(known, _marks(inputs))
    return found if found and registered_model.is_of(found.wire, DECLARED.spec_of(inputs)) else None


def _replaced_by(inputs: ModelInputs) -> dict[str, str]:
    """The label of a version that replaces a recorded one."""
    mark = OPERATION.label_of_replaced(_memory(complete(inputs)))
    return {_REPLACES_LABEL: mark} if mark else {}


def _are_ours(known: list[ModelRecord], inputs: ModelInputs) -> bool:
    marks = ownership_labels(inputs.marks)
    return bool(marks) and model_versions.marked(known, marks) is not None


def _note_recorded(olds: Mapping[str, Any], news: Mapping[str, Any]) -> None:
    """That the program declares a version of which the state has one already."""
    OPERATION.note_checked(_memory(olds))
    recorded = DECLARED.decode(olds).draft
    if recorded is not None:
        OPERATION.note_recorded_inputs(_memory(news), recorded)


def _recorded(inputs: ModelInputs) -> ModelInputs | None:
    """The version of this resource that the state has; None for a resource that is new. Its model is the
    stack's own, also when its marks are those of an older name of stack or resource.
    """
    return OPERATION.recorded_inputs(_memory(complete(inputs)), ModelInputs)


def _memory(props: Mapping[str, Any]) -> str:
    model = [props.get(name) for name in (*_PLACE, "model_id", "parent_model")]
    return f"model {props.get('marks', {}).get('resource')} {model}"


def _marks(inputs: ModelInputs) -> dict[str, str]:
    return {
        **ownership_labels(inputs.marks),
        _SPEC_LABEL: registered_model.spec_hash(DECLARED.spec_of(inputs)),
    }


def _model_name(inputs: ModelInputs) -> str:
    return registered_model.full_name(inputs.project, inputs.location, inputs)


def _effect(name: str) -> Effect:
    return effect_of(name, registered_model.EFFECTS).effect
