"""The Model Registry of the emulator over HTTP."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from support.emulated.job_emulator import PARENT
from support.emulated.services.pipelines import SERVING, Pipelines, serving

MODELS = f"{PARENT}/models"
FILES = {"artifactUri": "gs://work/model"}


def three(registry: Pipelines) -> str:
    """Upload three versions of a model: the first is the default, the third has the alias golden."""
    name = registry.upload(serving(**FILES), modelId="digits")["model"]
    registry.upload(serving(labels={"stage": "second"}), parentModel=name)
    registry.upload(serving(versionAliases=["golden"]), parentModel=name)
    return str(name)


def aliases(registry: Pipelines, name: str) -> dict[str, list[str]]:
    found = registry.done("GET", f"/v1/{name}:listVersions")["models"]
    return {each["versionId"]: each.get("versionAliases", []) for each in found}


def test_operations_are_below_the_model(registry: Pipelines) -> None:
    """Check the names that the SDK prints ("Create Model backing LRO: projects/P/.../operations/O")."""
    uploaded = registry.operation("POST", f"{MODELS}:upload", {"model": serving(**FILES)})
    name = uploaded["response"]["model"]
    body = {"outputConfig": {"artifactDestination": {"outputUriPrefix": "gs://work/out"}}}
    exported = registry.operation("POST", f"/v1/{name}:export", body)
    copied = registry.operation("POST", f"{MODELS}:copy", {"sourceModel": name, "modelId": "twin"})
    assert [each["name"].rpartition("/operations/")[0] for each in (uploaded, exported, copied)] == [
        name,
        name,
        copied["response"]["model"],
    ]


def test_an_operation_is_found_below_its_place(registry: Pipelines) -> None:
    uploaded = registry.operation("POST", f"{MODELS}:upload", {"model": serving(**FILES)})
    place, _, rest = uploaded["name"].partition("/models/")
    number = rest.rpartition("/")[2]
    short = f"/v1/{place}/operations/{number}"
    assert registry.done("GET", short) == uploaded
    assert registry.done("POST", f"{short}:wait", {}) == uploaded
    assert registry.call("GET", short.replace("us-central1", "us-east1")).status == 404
    registry.done("DELETE", short)
    assert registry.call("GET", f"/v1/{uploaded['name']}").status == 404


def test_a_list_of_operations_has_pages(registry: Pipelines) -> None:
    uploaded = registry.operation("POST", f"{MODELS}:upload", {"model": serving(**FILES)})
    listed = f"/v1/{uploaded['response']['model']}/operations"
    exports = [
        registry.operation(
            "POST",
            f"/v1/{uploaded['response']['model']}:export",
            {"outputConfig": {"artifactDestination": {"outputUriPrefix": f"gs://work/out-{number}"}}},
        )
        for number in range(2)
    ]
    first = registry.done("GET", f"{listed}?pageSize=2")
    rest = registry.done("GET", f"{listed}?pageSize=2&pageToken={first['nextPageToken']}")
    names = [each["name"] for each in (*first["operations"], *rest["operations"])]
    assert sorted(names) == sorted(each["name"] for each in (uploaded, *exports))
    refused = registry.call("GET", f"{listed}?pageSize=-1")
    assert refused.status == 400
    assert "The page size is -1. Use 0 or more." in str(refused.json())


@pytest.mark.parity(
    "Models: upload and get of models",
    same="every field is returned; a model without a container, or without files, is refused",
)
def test_a_model_in_the_form_of_the_service(registry: Pipelines) -> None:
    container = {
        "imageUri": SERVING,
        "command": ["serve"],
        "args": ["--fast"],
        "env": [{"name": "A", "value": "b"}],
        "ports": [{"containerPort": 8080}],
        "predictRoute": "/predict",
        "healthRoute": "/health",
    }
    schemata = {"instanceSchemaUri": "gs://work/instance.yaml"}
    body = serving(**FILES, description="of digits", labels={"a": "b"}, predictSchemata=schemata)
    body["containerSpec"] = container
    uploaded = registry.upload({**body, "versionAliases": ["golden"], "versionDescription": "first"})
    assert uploaded["modelVersionId"] == "1"
    model = registry.get(uploaded["model"])
    times = {model.pop(f"{each}Time") for each in ("create", "update", "versionCreate", "versionUpdate")}
    assert len(times) == 1
    assert model.pop("etag")
    assert model == {
        **body,
        "name": uploaded["model"],
        "versionId": "1",
        "versionAliases": ["default", "golden"],
        "versionDescription": "first",
        "supportedExportFormats": [{"id": "custom-trained", "exportableContents": ["ARTIFACT"]}],
        "modelSourceInfo": {"sourceType": "CUSTOM"},
    }


@pytest.mark.parity("Models: upload and get of models")
@pytest.mark.parametrize(
    ("model", "more", "status", "text"),
    [
        pytest.param({}, {}, "INVALID_ARGUMENT", "model.container_spec.image_uri", id="no-container"),
        pytest.param(serving(""), {}, "INVALID_ARGUMENT", "model.display_name", id="no-name"),
        pytest.param(serving(versionAliases=["1"]), {}, "INVALID_ARGUMENT", "version alias", id="alias"),
        pytest.param(serving(), {"modelId": "A"}, "INVALID_ARGUMENT", "[a-z0-9_-]", id="id"),
        pytest.param(
            serving(), {"modelId": "taken"}, "ALREADY_EXISTS", "models/taken already", id="id-taken"
        ),
        pytest.param(
            serving(), {"parentModel": f"{MODELS[4:]}/none"}, "NOT_FOUND", "does not exist", id="no-parent"
        ),
        pytest.param(
            serving(),
            {"parentModel": f"{MODELS[4:]}/taken", "modelId": "other"},
            "INVALID_ARGUMENT",
            "Leave one of the two out",
            id="an-id-beside-the-parent",
        ),
        pytest.param(
            serving(artifactUri="gs://work/nothing"),
            {},
            "FAILED_PRECONDITION",
            'There are no files under "gs://work/nothing" to copy.',
            id="no-files",
        ),
        pytest.param(serving(artifactUri="/tmp/x"), {}, "INVALID_ARGUMENT", "artifact_uri", id="no-address"),
    ],
)
def test_invalid_models(
    registry: Pipelines, model: dict[str, Any], more: dict[str, Any], status: str, text: str
) -> None:
    registry.upload(serving(), modelId="taken")
    error = registry.refused("POST", f"{MODELS}:upload", {"model": model, **more})
    assert (error["status"], text in error["message"]) == (status, True), error


@pytest.mark.parity("Models: versions and aliases", same="numbers of deleted versions are not used again")
@pytest.mark.parametrize(
    ("reference", "version"),
    [
        pytest.param("", "1", id="default"),
        pytest.param("@2", "2", id="number"),
        pytest.param("@golden", "3", id="alias"),
        pytest.param("@default", "1", id="default-by-name"),
    ],
)
def test_versions_by_name(registry: Pipelines, reference: str, version: str) -> None:
    name = three(registry)
    found = registry.get(f"{name}{reference}")
    assert (found["name"], found["versionId"]) == (f"{name}@{version}" if reference else name, version)


@pytest.mark.parametrize("reference", [pytest.param("@4", id="number"), pytest.param("@nobody", id="alias")])
def test_missing_versions(registry: Pipelines, reference: str) -> None:
    assert registry.refused("GET", f"/v1/{three(registry)}{reference}")["status"] == "NOT_FOUND"


def test_the_versions_of_a_model(registry: Pipelines) -> None:
    name = three(registry)
    found = registry.done("GET", f"/v1/{name}:listVersions")["models"]
    assert [each["name"] for each in found] == [f"{name}@1", f"{name}@2", f"{name}@3"]
    assert aliases(registry, name) == {"1": ["default"], "2": [], "3": ["golden"]}


@pytest.mark.parametrize(
    ("query", "versions"),
    [
        pytest.param("filter=labels.stage%3Dsecond", ["2"], id="filter"),
        pytest.param("orderBy=create_time", ["1", "2", "3"], id="order"),
        pytest.param("pageSize=2", ["1", "2"], id="page"),
    ],
)
def test_lists_of_versions(registry: Pipelines, query: str, versions: list[str]) -> None:
    found = registry.done("GET", f"/v1/{three(registry)}:listVersions?{query}")
    assert [each["versionId"] for each in found["models"]] == versions


@pytest.mark.parity("Models: versions and aliases")
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(["best"], {"1": ["default"], "2": ["best"], "3": ["golden"]}, id="new"),
        pytest.param(["golden"], {"1": ["default"], "2": ["golden"], "3": []}, id="moved"),
        pytest.param(["default"], {"1": [], "2": ["default"], "3": ["golden"]}, id="default"),
    ],
)
def test_aliases_are_merged(registry: Pipelines, changes: list[str], expected: dict[str, list[str]]) -> None:
    name = three(registry)
    answer = registry.done("POST", f"/v1/{name}@2:mergeVersionAliases", {"versionAliases": changes})
    assert answer["versionId"] == "2"
    assert aliases(registry, name) == expected


def test_an_alias_is_removed(registry: Pipelines) -> None:
    name = three(registry)
    registry.done("POST", f"/v1/{name}@3:mergeVersionAliases", {"versionAliases": ["-golden"]})
    assert aliases(registry, name)["3"] == []


@pytest.mark.parity("Models: versions and aliases")
def test_a_model_keeps_its_default(registry: Pipelines) -> None:
    name = three(registry)
    path = f"/v1/{name}@1:mergeVersionAliases"
    assert registry.refused("POST", path, {"versionAliases": ["-default"]})["status"] == "FAILED_PRECONDITION"


@pytest.mark.parity("Models: list of models", same="all of them, with pages and read masks")
@pytest.mark.parametrize(
    ("query", "names"),
    [
        pytest.param("", ["two", "one"], id="all"),
        pytest.param("filter=model%3Done", ["one"], id="model"),
        pytest.param("filter=" + quote('display_name="Two"'), ["two"], id="name"),
        pytest.param("filter=" + quote('displayName!="Two"'), ["one"], id="not-the-name"),
        pytest.param("filter=" + quote('labels.kind="x"'), ["one"], id="label"),
        pytest.param("filter=" + quote("labels.kind:*"), ["one"], id="label-is-there"),
        pytest.param("filter=" + quote("labels:kind"), ["one"], id="label-is-there-in-short"),
        pytest.param("filter=" + quote('baseModelName="text-bison"'), [], id="base-model"),
        pytest.param("orderBy=display_name", ["one", "two"], id="order"),
        pytest.param("orderBy=" + quote("display_name desc, create_time"), ["two", "one"], id="two-orders"),
        pytest.param("pageSize=1", ["two"], id="page"),
    ],
)
def test_lists(registry: Pipelines, query: str, names: list[str]) -> None:
    registry.upload(serving("One", labels={"kind": "x"}), modelId="one")
    registry.upload(serving("Two"), modelId="two")
    found = registry.done("GET", f"{MODELS}?{query}").get("models", [])
    assert [each["name"].rpartition("/")[2] for each in found] == names


@pytest.mark.parity("Models: list of models")
def test_the_second_page(registry: Pipelines) -> None:
    for name in ("one", "two", "three"):
        registry.upload(serving(name), modelId=name)
    first = registry.done("GET", f"{MODELS}?pageSize=2&readMask=displayName")
    second = registry.done(
        "GET", f"{MODELS}?pageSize=2&readMask=displayName&pageToken={first['nextPageToken']}"
    )
    assert first["models"] == [{"displayName": "three"}, {"displayName": "two"}]
    assert second == {"models": [{"displayName": "one"}]}


def test_updating_a_model(registry: Pipelines) -> None:
    name = three(registry)
    body = {"displayName": "Digits", "description": "new", "labels": {"x": "y"}}
    answer = registry.done("PATCH", f"/v1/{name}?updateMask=displayName,description,labels", body)
    assert {key: answer[key] for key in body} == body
    assert registry.get(f"{name}@2")["displayName"] == "Digits"
    registry.done("PATCH", f"/v1/{name}@-?updateMask=*", {"displayName": "All", "versionDescription": "x"})
    found = registry.get(f"{name}@2")
    assert (found["displayName"], found["description"]) == ("All", "new")
    assert "versionDescription" not in registry.get(f"{name}@1")


@pytest.mark.parity("Models: update of models", same="by the name with or without a version")
def test_updating_a_version(registry: Pipelines) -> None:
    name = three(registry)
    body = {"versionDescription": "the second", "labels": {"stage": "third"}}
    registry.done("PATCH", f"/v1/{name}@2?updateMask=version_description,labels", body)
    found = registry.get(f"{name}@2")
    assert (found["versionDescription"], found["labels"]) == ("the second", {"stage": "third"})
    assert "versionDescription" not in registry.get(name)


@pytest.mark.parity("Models: update of models")
@pytest.mark.parametrize(
    ("reference", "mask", "status"),
    [
        pytest.param("", "version_description", "FAILED_PRECONDITION", id="a-version's-field"),
        pytest.param("@2", "display_name", "FAILED_PRECONDITION", id="a-model's-field"),
        pytest.param("", "artifact_uri", "INVALID_ARGUMENT", id="a-field-for-good"),
        pytest.param("", "", "INVALID_ARGUMENT", id="no-mask"),
        pytest.param("@9", "version_description", "NOT_FOUND", id="no-version"),
    ],
)
def test_invalid_updates(registry: Pipelines, reference: str, mask: str, status: str) -> None:
    path = f"/v1/{three(registry)}{reference}?updateMask={mask}"
    assert registry.refused("PATCH", path, {"displayName": "x"})["status"] == status


def test_an_update_with_an_outdated_etag(registry: Pipelines) -> None:
    name = three(registry)
    etag = registry.get(name)["etag"]
    registry.done("PATCH", f"/v1/{name}?updateMask=displayName", {"displayName": "a", "etag": etag})
    error = registry.refused(
        "PATCH", f"/v1/{name}?updateMask=displayName", {"displayName": "b", "etag": etag}
    )
    assert error["status"] == "ABORTED"


@pytest.mark.parity("Models: versions and aliases")
def test_deleting_a_version(registry: Pipelines) -> None:
    name = three(registry)
    assert registry.operation("DELETE", f"/v1/{name}@3:deleteVersion")["done"]
    assert list(aliases(registry, name)) == ["1", "2"]
    assert registry.upload(serving(), parentModel=name)["modelVersionId"] == "4"


@pytest.mark.parametrize(
    ("reference", "status"),
    [
        pytest.param("@1", "FAILED_PRECONDITION", id="the-default"),
        pytest.param("@5", "NOT_FOUND", id="none"),
        pytest.param("", "INVALID_ARGUMENT", id="no-version-named"),
    ],
)
def test_versions_that_cannot_be_deleted(registry: Pipelines, reference: str, status: str) -> None:
    assert registry.refused("DELETE", f"/v1/{three(registry)}{reference}:deleteVersion")["status"] == status


def test_the_only_version_cannot_be_deleted(registry: Pipelines) -> None:
    name = registry.upload(serving())["model"]
    error = registry.refused("DELETE", f"/v1/{name}@1:deleteVersion")
    assert "Use DeleteModel for deleting the Model instead." in error["message"]


@pytest.mark.parity(
    "Models: files of a model", own_way="they stay at `artifactUri`, also after the model is deleted"
)
def test_deleting_a_model_keeps_its_files(registry: Pipelines) -> None:
    name = three(registry)
    assert registry.operation("DELETE", f"/v1/{name}")["done"]
    assert registry.refused("GET", f"/v1/{name}")["status"] == "NOT_FOUND"
    assert registry.refused("GET", f"/v1/{name}@2")["status"] == "NOT_FOUND"
    assert registry.done("GET", MODELS) == {}
    assert registry.read("gs://work/model/model.bin") == b"weights"
    assert registry.upload(serving(), modelId="digits")["modelVersionId"] == "1"


@pytest.mark.parity(
    "Models: export and copy of models",
    own_way="an export copies files, not images; a copy shares the files of its original",
)
def test_exporting_a_model(registry: Pipelines) -> None:
    name = three(registry)
    config = {"exportFormatId": "custom-trained", "artifactDestination": {"outputUriPrefix": "gs://work/out"}}
    found = registry.operation("POST", f"/v1/{name}:export", {"outputConfig": config})
    target = found["metadata"]["outputInfo"]["artifactOutputUri"]
    assert target.startswith("gs://work/out/model-export-digits-")
    assert registry.read(f"{target}/model.bin") == b"weights"
    assert registry.read(f"{target}/more/vocabulary.txt") == b"words"


def test_a_model_without_files_cannot_be_exported(registry: Pipelines) -> None:
    name = three(registry)
    config = {"artifactDestination": {"outputUriPrefix": "gs://work/out"}}
    assert registry.refused("POST", f"/v1/{name}@2:export", {"outputConfig": config})["code"] == 400


@pytest.mark.parity("Models: export and copy of models")
def test_copying_a_model(registry: Pipelines) -> None:
    name = three(registry)
    body = {"sourceModel": f"{name}@1", "modelId": "copied"}
    response = registry.operation("POST", "/v1/projects/local/locations/europe-west4/models:copy", body)[
        "response"
    ]
    copied = registry.get(response["model"])
    assert copied["name"].endswith("/locations/europe-west4/models/copied")
    assert copied["originalModelInfo"] == {"model": f"{name}@1"}
    assert (copied["artifactUri"], copied["versionAliases"]) == ("gs://work/model", ["default"])


def test_a_model_of_another_place_is_not_found(registry: Pipelines) -> None:
    three(registry)
    error = registry.refused("GET", "/v1/projects/local/locations/europe-west4/models/digits")
    assert error["status"] == "NOT_FOUND"
