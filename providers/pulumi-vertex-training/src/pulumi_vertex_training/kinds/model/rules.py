"""The rules of a model that is uploaded by itself or by a training pipeline."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pulumi_vertex_training.kinds.model.explanation_rules import explanation_problems
from pulumi_vertex_training.kinds.model.serving_rules import container_problems
from pulumi_vertex_training.kinds.model.spec import ModelSpec
from vertex_training.fields import uris
from vertex_training.fields.labels import MAX_PROVIDER_LABELS, label_problems
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import all_of, shown
from vertex_training.job.rules import envelope as envelope_rules

MAX_DISPLAY_NAME = 128
MAX_MODEL_ID = 63

_API = "Vertex AI API, Model"
_UPLOAD = "Vertex AI API, UploadModelRequest"

MODEL_NAME = Rule(
    name="model-display-name",
    says=f"a model's display name has 1 to {MAX_DISPLAY_NAME} characters",
    source=f"{_API}.display_name",
)
MODEL_ID = Rule(
    name="model-id",
    says=f"a model's id has 1 to {MAX_MODEL_ID} lowercase letters, digits, dashes and underscores, and "
    "begins with a letter or an underscore",
    source=f"{_UPLOAD}.model_id",
)
MODEL_ID_OR_PARENT = Rule(
    name="model-id-or-parent",
    says="model_id and parent_model exclude each other",
    source=f"{_UPLOAD}.parent_model; ours: a version of a model that exists has the id of that model",
)
PARENT_MODEL = Rule(
    name="parent-model",
    says="a parent model is given by its resource name or its id, without a version, and is in the location",
    source=f"{_UPLOAD}.parent_model",
)
MODEL_ALIAS = Rule(
    name="model-alias",
    says="an alias has 2 to 128 letters, digits and dashes, begins with a lowercase letter and ends with "
    "a lowercase letter, a digit or a dash",
    source="Vertex AI API, MergeVersionAliasesRequest.version_aliases",
)
MODEL_CONTAINER = Rule(
    name="model-container",
    says="a model that is uploaded has a serving container",
    source="google-cloud-aiplatform, CustomTrainingJob.run and Model.upload",
)
MODEL_ARTIFACTS = Rule(
    name="model-artifacts",
    says="a model's files are in a directory of a bucket",
    source=f"{_API}.artifact_uri",
)
MODEL_SCHEMA = Rule(
    name="model-schema",
    says="a model's schemas are files in a bucket",
    source="Vertex AI API, PredictSchemata and Model.metadata_schema_uri",
)
MODEL_SOURCE = Rule(
    name="model-source",
    says="a base model is of the Model Garden or given by its address, not both",
    source="Vertex AI API, Model.BaseModelSource",
)

_ID = re.compile(r"[a-z_][a-z0-9_-]{0,62}")
_ALIAS = re.compile(r"[a-z][a-zA-Z0-9-]{0,126}[a-z0-9-]")
_FULL_NAME = re.compile(r"projects/[^/]+/locations/([^/]+)/models/([^/@]+)")
_PARENT_ID = re.compile(r"[a-z0-9_][a-z0-9_-]{0,62}")


def model_problems(
    spec: ModelSpec, *, path: str, options: CheckOptions, needs_container: bool
) -> Iterator[Problem]:
    """Yield every finding about a model, in the order of its fields; `path` is "" or ends with a dot."""
    if not 1 <= len(spec.display_name) <= MAX_DISPLAY_NAME:
        yield MODEL_NAME.broken(
            f"{path}display_name",
            f"has {len(spec.display_name)} characters; a model's name has 1 to {MAX_DISPLAY_NAME}",
        )
    for i, alias in enumerate(spec.version_aliases):
        yield from _alias_problems(alias, f"{path}version_aliases[{i}]")
    if spec.container_spec is not None:
        yield from container_problems(spec.container_spec, f"{path}container_spec")
    elif needs_container:
        yield MODEL_CONTAINER.broken(
            f"{path}container_spec",
            "is missing; an uploaded model needs a container. Set container_spec.image_uri to the image "
            "that serves it, such as one of Google's prebuilt ones "
            "(us-docker.pkg.dev/vertex-ai/prediction/...)",
        )
    if spec.artifact_uri:
        yield from _address_problems(
            MODEL_ARTIFACTS,
            spec.artifact_uri,
            f"{path}artifact_uri",
            "directory in a bucket; write gs://BUCKET/PREFIX",
        )
    yield from _schema_problems(spec, path)
    if spec.explanation_spec is not None:
        yield from explanation_problems(spec.explanation_spec, f"{path}explanation_spec")
    yield from _source_problems(spec, path)
    for problem in label_problems(spec.labels, path=f"{path}labels", spare=MAX_PROVIDER_LABELS):
        yield envelope_rules.LABELS.broken(problem.path, problem.message, rests_on=problem.rests_on)
    yield from envelope_rules.key_problems(spec.encryption_spec, options, f"{path}encryption_spec")


def registry_problems(model_id: str | None, parent: str | None, options: CheckOptions) -> Iterator[Problem]:
    """Yield every finding about the id of a model, or about the parent model of a version."""
    if model_id and parent:
        yield MODEL_ID_OR_PARENT.broken(
            "model_id",
            f"{shown(model_id)} is given together with parent_model; a new version has the id of its model. "
            "Leave one of them out",
            rests_on=("model_id", "parent_model"),
        )
    elif model_id and not _ID.fullmatch(model_id):
        better = (
            re.sub(r"[^a-z0-9_-]+", "-", model_id.lower()).lstrip("-0123456789")[:MAX_MODEL_ID].rstrip("-")
        )
        example = f"; for example {better}" if better and better != model_id else ""
        yield MODEL_ID.broken(
            "model_id",
            f"{shown(model_id)} is not a model id; an id has 1 to {MAX_MODEL_ID} lowercase letters, digits, "
            f"dashes and underscores, and no digit or dash first{example}",
        )
    if not parent:
        return
    full_name = _FULL_NAME.fullmatch(parent)
    if full_name is None and not _PARENT_ID.fullmatch(parent):
        version = ". Leave out the version: a new one is created" if "@" in parent else ""
        yield PARENT_MODEL.broken(
            "parent_model",
            f"{shown(parent, longest=120)} is not a model; write "
            f"projects/PROJECT/locations/LOCATION/models/ID, or the id{version}",
        )
    elif full_name and options.location and full_name[1] != options.location:
        yield PARENT_MODEL.broken(
            "parent_model",
            f"the model is in {full_name[1]}, but its version would be in {options.location}; a model and "
            "its versions must be in the same location",
            rests_on=("parent_model", "location"),
        )


def _alias_problems(alias: str, path: str) -> Iterator[Problem]:
    if _ALIAS.fullmatch(alias):
        return
    if alias.isdigit():
        what = "is the number of a version; an alias begins with a lowercase letter"
    elif alias.startswith("-"):
        what = "would remove an alias, but this is the list of all aliases of the version; leave it out"
    else:
        what = (
            "is not an alias; an alias has 2 to 128 letters, digits and dashes, and begins with a lowercase "
            "letter and ends with a lowercase letter, a digit or a dash"
        )
    yield MODEL_ALIAS.broken(path, f"{shown(alias)} {what}")


def _source_problems(spec: ModelSpec, path: str) -> Iterator[Problem]:
    source = spec.base_model_source
    if source is not None and (source.model_garden_source is None) == (source.genie_source is None):
        both = ("model_garden_source", "genie_source")
        yield MODEL_SOURCE.broken(
            f"{path}base_model_source",
            f"has {all_of(both) if source.genie_source else 'neither of ' + all_of(both)}; give one of them",
            rests_on=tuple(f"{path}base_model_source.{name}" for name in both),
        )


def _schema_problems(spec: ModelSpec, path: str) -> Iterator[Problem]:
    addresses = {"metadata_schema_uri": spec.metadata_schema_uri}
    if spec.predict_schemata is not None:
        for name in ("instance_schema_uri", "parameters_schema_uri", "prediction_schema_uri"):
            addresses[f"predict_schemata.{name}"] = getattr(spec.predict_schemata, name)
    for name, address in addresses.items():
        if address:
            yield from _address_problems(
                MODEL_SCHEMA, address, path + name, "file in a bucket; write gs://BUCKET/NAME.yaml"
            )


def _address_problems(rule: Rule, text: str, path: str, what: str) -> Iterator[Problem]:
    try:
        uris.parse(text)
    except ValueError:
        yield rule.broken(path, f"{shown(text)} is not a {what}")
