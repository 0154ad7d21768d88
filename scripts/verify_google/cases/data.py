"""Models and datasets, which are records: they cost nothing while nothing is deployed."""

from __future__ import annotations

from scripts.verify_google.cases.case import SERVING, Case, Json, make_bucket, put
from scripts.verify_google.comparison import Allowed
from scripts.verify_google.recorder import Recorder

_DETAILS = Allowed(
    step="*", path="error.details*", reason="the details of errors have more parts on Google Cloud"
)
_RESERVED = Allowed(step="*", path="*satisfiesPz?", reason="reserved for internal use of the service")
_TABLES = "gs://google-cloud-aiplatform/schema/dataset/metadata/tabular_1.0.0.yaml"


def _models(at: Recorder) -> None:
    make_bucket(at)
    put(at, "model/model.joblib", b"weights")
    names = at.names
    model: Json = {
        "displayName": names.display_name,
        "labels": names.labels,
        "artifactUri": f"gs://{names.bucket}/model",
        "containerSpec": {"imageUri": SERVING},
    }
    upload = at.vertex("models:upload")
    identifier = names.run
    body = {"modelId": identifier, "model": model}
    at.operation(at.create("models", upload, body, step=None), step="upload")
    name = at.vertex(f"models/{identifier}")
    at.call("GET", name, step="get")
    parent = f"{at.endpoint.parent}/models/{identifier}"
    second = {**model, "versionAliases": ["golden"], "versionDescription": "second"}
    body = {"parentModel": parent, "model": second}
    at.operation(at.create("models", upload, body, step=None), step="upload version")
    at.call("GET", f"{name}@golden", step="get by alias")
    at.call("GET", f"{name}@7", step="get missing version")
    at.call("GET", f"{name}:listVersions", step="versions")
    at.call("POST", f"{name}@1:mergeVersionAliases", {"versionAliases": ["golden"]}, step="move alias")
    at.call("POST", f"{name}@1:mergeVersionAliases", {"versionAliases": ["Not valid"]}, step="bad alias")
    change = {"description": "changed"}
    at.call("PATCH", name, change, query={"updateMask": "description"}, step="patch")
    at.call("PATCH", name, change, query={"updateMask": "nonsense"}, step="patch, bad mask")
    at.call("DELETE", f"{name}@1:deleteVersion", step="delete the default version")
    at.operation(at.call("DELETE", f"{name}@2:deleteVersion"), step="delete version")
    at.operation(at.call("DELETE", name), step="delete")
    at.call("GET", name, step="get after delete")


def _datasets(at: Recorder) -> None:
    make_bucket(at)
    put(at, "rows.csv", b"a,b\n1,2\n")
    body = {
        "displayName": at.names.display_name,
        "labels": at.names.labels,
        "metadataSchemaUri": _TABLES,
        "metadata": {"inputConfig": {"gcsSource": {"uri": [f"gs://{at.names.bucket}/rows.csv"]}}},
    }
    created = at.operation(at.create("datasets", at.vertex("datasets"), body, step=None), step="create")
    name = at.vertex(str(created.get("response", {}).get("name", "")))
    at.call("GET", name, step="get")
    query = {"updateMask": "displayName"}
    at.call("PATCH", name, {"displayName": f"{at.names.display_name}-2"}, query=query, step="patch")
    text = f'display_name="{at.names.display_name}-2"'
    at.call("GET", at.vertex("datasets"), query={"filter": text}, step="list")
    wrong = {**body, "metadataSchemaUri": ""}
    at.create("datasets", at.vertex("datasets"), wrong, step="create without schema")
    at.operation(at.call("DELETE", name), step="delete")
    at.call("GET", name, step="get after delete")


CASES = (
    Case(
        name="models",
        about="a model: upload, versions, aliases, update, delete",
        rows=(
            "Models: upload and get of models",
            "Models: versions and aliases",
            "Models: update of models",
        ),
        steps=_models,
        stores=True,
        allowed=(_DETAILS, _RESERVED),
    ),
    Case(
        name="datasets",
        about="a dataset of a table: create, get, list, update, delete",
        rows=("Datasets: create, get, list, update, delete of datasets",),
        steps=_datasets,
        stores=True,
        allowed=(_DETAILS, _RESERVED),
    ),
)
