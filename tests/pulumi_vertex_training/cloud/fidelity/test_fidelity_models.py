"""The requests for models equal those of Google's own client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.cloud.aiplatform_v1 import ModelServiceClient
from google.cloud.aiplatform_v1 import types as api
from google.protobuf.field_mask_pb2 import FieldMask

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.model import gateway as models
from pulumi_vertex_training.kinds.model import kind as registered_model
from pulumi_vertex_training.kinds.model.kind import RegisteredModelSpec
from pulumi_vertex_training.kinds.model.spec import ModelSpec
from support.client.clients.recorded_requests import Recorder, all_fields, created, fields_in
from support.client.specs.model_requests import EVERY_MODEL, PARENT, as_googles
from support.scripted_service import Answer, Asked
from vertex_training.fields.decode import decode

MODEL = f"{PARENT}/models/digits"
PLACES: dict[str, Any] = {
    "model_id": "digits",
    "parent_model": MODEL,
    "service_account": "t@my-project.iam.gserviceaccount.com",
}


def answer(asked: Asked) -> Answer:
    """Answer an upload with a finished operation."""
    if not asked.path.endswith("models:upload"):
        return created(asked)
    response = {
        "@type": "type.googleapis.com/google.cloud.aiplatform.v1.UploadModelResponse",
        "model": MODEL,
        "modelVersionId": "1",
    }
    return Answer(document={"name": f"{PARENT}/operations/1", "done": True, "response": response})


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with Recorder(answer) as made:
        yield made


@pytest.fixture
def client(recorder: Recorder) -> ModelServiceClient:
    return recorder.client(ModelServiceClient)


def sent_for(declared: dict[str, Any]) -> dict[str, Any]:
    spec = decode(RegisteredModelSpec, {**declared, "is_default_version": False}).draft
    assert spec is not None
    return registered_model.to_wire(spec)


@pytest.mark.parametrize("name", EVERY_MODEL)
def test_an_upload(recorder: Recorder, client: ModelServiceClient, name: str) -> None:
    declared = EVERY_MODEL[name]
    client.upload_model(
        request=api.UploadModelRequest(parent=PARENT, model=api.Model(as_googles(declared)), **PLACES)
    )
    theirs = recorder.one()
    found = models.upload(recorder.google(), sent_for(declared), **PLACES)
    assert recorder.one().normal(api.UploadModelRequest) == theirs.normal(api.UploadModelRequest)
    assert found == (MODEL, "1")


def test_every_field_of_the_api_is_sent_once() -> None:
    sent: set[str] = set()
    for declared in EVERY_MODEL.values():
        sent |= fields_in(api.Model, sent_for(declared))
    assert all_fields(api.Model, leave_out=ModelSpec.SERVER_OWNED) - sent == set()


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        pytest.param(
            lambda client: client.get_model(name=f"{MODEL}@1"),
            lambda endpoint: models.get(endpoint, f"{MODEL}@1"),
            id="get",
        ),
        pytest.param(
            lambda client: list(
                client.list_model_versions(request=api.ListModelVersionsRequest(name=MODEL, page_size=100))
            ),
            lambda endpoint: models.versions(endpoint, MODEL),
            id="versions",
        ),
        pytest.param(
            lambda client: client.delete_model_version(name=f"{MODEL}@1"),
            lambda endpoint: models.delete_version(endpoint, f"{MODEL}@1"),
            id="delete a version",
        ),
        pytest.param(
            lambda client: client.delete_model(name=MODEL),
            lambda endpoint: models.delete(endpoint, MODEL),
            id="delete",
        ),
    ],
)
def test_a_call_without_a_body(
    recorder: Recorder,
    client: ModelServiceClient,
    theirs: Callable[[ModelServiceClient], object],
    ours: Callable[[Endpoint], object],
) -> None:
    theirs(client)
    wanted = recorder.one()
    ours(recorder.google())
    found = recorder.one()
    assert (found.method, found.path, found.query) == (wanted.method, wanted.path, wanted.query)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        pytest.param(MODEL, {"displayName": "new", "description": "", "labels": {"a": "b"}}, id="model"),
        pytest.param(f"{MODEL}@2", {"versionDescription": "new"}, id="version"),
    ],
)
def test_an_update(recorder: Recorder, client: ModelServiceClient, name: str, fields: dict[str, Any]) -> None:
    mask = FieldMask()
    mask.FromJsonString(",".join(sorted(fields)))
    message = api.Model.from_json(api.Model.to_json(api.Model(name=name)))
    for key, value in fields.items():
        setattr(
            message,
            {"displayName": "display_name", "versionDescription": "version_description"}.get(key, key),
            value,
        )
    client.update_model(model=message, update_mask=mask)
    theirs = recorder.one()
    models.update(recorder.google(), name, fields)
    assert recorder.one().normal(api.Model) == theirs.normal(api.Model)


def test_aliases(recorder: Recorder, client: ModelServiceClient) -> None:
    client.merge_version_aliases(name=f"{MODEL}@1", version_aliases=["golden", "-old"])
    theirs = recorder.one()
    models.merge_aliases(recorder.google(), f"{MODEL}@1", ["golden", "-old"])
    assert recorder.one().normal(api.MergeVersionAliasesRequest) == theirs.normal(
        api.MergeVersionAliasesRequest
    )
