"""Metadata stores and their nodes over HTTP. Each test has a store of its own."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from support.emulated.services.experiments import LOCATION, Experiments

_names = iter(range(1000))


@pytest.fixture
def store(api: Experiments) -> str:
    """Return a store of the test's own."""
    return api.store(f"store-{next(_names)}")


def test_a_store_from_its_creation_to_its_deletion(api: Experiments) -> None:
    path = f"{LOCATION}/metadataStores"
    operation = api.post(f"{path}?metadataStoreId=whole", {"description": "mine"})
    name = operation["response"]["name"]
    assert api.get(operation["name"]) == operation
    assert api.get(name)["description"] == "mine"
    assert api.refused("POST", f"{path}?metadataStoreId=whole", {}) == (
        "ALREADY_EXISTS",
        f"MetadataStore with name {name} already exists",
    )
    context = api.node(name, "contexts", "inside")
    api.done("DELETE", name)
    assert api.refused("GET", name)[0] == "NOT_FOUND"
    assert api.refused("GET", context)[0] == "NOT_FOUND"
    assert api.refused("POST", f"{name}/contexts?contextId=a", {})[0] == "NOT_FOUND"


@pytest.mark.parity(
    "Experiments and endpoints: contexts, artifacts and executions",
    own_way="the same methods and words of errors; Google's schemas are accepted without a check",
)
@pytest.mark.parametrize("noun", ["Context", "Artifact", "Execution"])
def test_a_node_from_its_creation_to_its_deletion(api: Experiments, store: str, noun: str) -> None:
    collection = f"{noun.lower()}s"
    fields: dict[str, Any] = {
        "displayName": "one",
        "labels": {"a": "b"},
        "metadata": {" lr ": 0.1, "on": True},
    }
    name = api.node(store, collection, "node", schemaTitle="system.Any", **fields)
    assert name == f"{store}/{collection}/node"
    found = api.get(name)
    assert (found["displayName"], found["labels"]) == ("one", {"a": "b"})
    assert (found["metadata"], found["schemaVersion"]) == ({"lr": 0.1, "on": True}, "0.0.1")
    assert found["createTime"] == found["updateTime"]
    whole = api.done("PATCH", name, {**found, "metadata": {"lr": 0.2}})
    assert (whole["metadata"], whole["displayName"]) == ({"lr": 0.2}, "one")
    part = api.done(
        "PATCH", f"{name}?updateMask=description", {"description": "d", "displayName": "not this"}
    )
    assert (part["description"], part["displayName"]) == ("d", "one")
    words = f"Specified {noun} `etag`: `{found['etag']}` does not match server `etag`: `{part['etag']}`"
    assert api.refused("PATCH", name, {"etag": found["etag"], "description": "x"}) == ("ABORTED", words)
    assert api.refused("DELETE", f"{name}?etag=1")[0] == "FAILED_PRECONDITION"
    assert api.refused("POST", f"{store}/{collection}?{noun.lower()}Id=node", {}) == (
        "ALREADY_EXISTS",
        f"{noun} with name {name} already exists",
    )
    api.done("DELETE", f"{name}?etag={part['etag']}")
    words = f"Resource not found.; Get{noun} is unable to find {noun.lower()} resource with name: {name}"
    assert api.refused("GET", name) == ("NOT_FOUND", words)
    made = api.done("PATCH", f"{name}?allowMissing=true", {"displayName": "again"})
    assert (made["name"], made["displayName"]) == (name, "again")


@pytest.mark.parity("Experiments and endpoints: contexts, artifacts and executions")
def test_filters(api: Experiments, store: str) -> None:
    parent = api.node(store, "contexts", "parent", schemaTitle="system.Experiment")
    for number in range(3):
        metadata = {"lr": number / 10, "a:b": f"v{number}", "on": number == 1}
        api.node(store, "contexts", f"run-{number}", schemaTitle="system.ExperimentRun", metadata=metadata)
    children = [f"{store}/contexts/run-{number}" for number in (0, 2)]
    api.post(f"{parent}:addContextChildren", {"childContexts": children})

    def listed(text: str) -> list[str]:
        return api.names(f"{store}/contexts", "contexts", text)

    assert listed('schema_title="system.Experiment"') == ["parent"]
    assert listed(f'parent_contexts:"{parent}"') == ["run-0", "run-2"]
    by_id = parent.replace(parent.split("/")[1], "local", 1)
    assert listed(f'schema_title="system.ExperimentRun" AND parent_contexts:"{by_id}"') == ["run-0", "run-2"]
    assert listed(f'parent_contexts:"{parent}","{children[0]}"') == []
    assert listed(f'child_contexts:"{children[0]}"') == ["parent"]
    assert listed("metadata.lr.number_value >= 0.1") == ["run-1", "run-2"]
    assert listed('metadata."a:b".string_value = "v1"') == ["run-1"]
    assert listed("metadata.on.bool_value = true OR display_name = x") == ["run-1"]
    assert listed('NOT (schema_title="system.Experiment" OR metadata.lr.number_value = 0)') == [
        "run-1",
        "run-2",
    ]
    assert listed(f'name = "{parent}"') == ["parent"]
    assert listed('create_time > "2020-01-01T00:00:00Z" AND update_time < "2021-01-01T00:00:00Z"') == []
    assert listed('create_time > "2020-01-01"') == listed("")
    assert listed('create_time > "2999-01-01"') == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("color = red", "'color' cannot be filtered by"),
        ("in_context(x", "in_context has one argument"),
        ("metadata.lr = 1", "must be metadata.KEY followed by"),
        ("metadata.lr.number_value = x", "'x' is not a number"),
        ("create_time > yesterday", "'yesterday' is not a time"),
        ("create_time > 2026-02-30", "'2026-02-30' is not a time"),
        ("(" * 7 + "name = a" + " AND name = b)" * 7, "maximum depth"),
        ("display_name : a", "only with = != < <= > >="),
        ('parent_contexts:"nothing"', "is not a name of the form"),
    ],
)
def test_filters_that_cannot_be(api: Experiments, store: str, text: str, words: str) -> None:
    api.node(store, "contexts", "some")
    code, message = api.refused("GET", f"{store}/contexts?filter={quote(text)}")
    assert code == "INVALID_ARGUMENT"
    assert words in message


@pytest.mark.parity("Experiments and endpoints: contexts, artifacts and executions")
def test_artifacts_and_executions_of_a_context(api: Experiments, store: str) -> None:
    context = api.node(store, "contexts", "run")
    data, model, other = (
        api.node(store, "artifacts", each, uri=f"gs://a/{each}") for each in ("data", "model", "other")
    )
    step = api.node(store, "executions", "step", state="RUNNING")
    body = {"artifacts": [data, model], "executions": [step]}
    api.post(f"{context}:addContextArtifactsAndExecutions", body)
    api.post(f"{context}:addContextArtifactsAndExecutions", body)
    events = [{"artifact": data, "type": "INPUT"}, {"artifact": model, "type": "OUTPUT"}]
    api.post(f"{step}:addExecutionEvents", {"events": events})
    assert api.names(f"{store}/artifacts", "artifacts", f'in_context("{context}")') == ["data", "model"]
    assert api.names(f"{store}/executions", "executions", f'in_context("{context}") AND state = RUNNING') == [
        "step"
    ]
    assert api.names(f"{store}/artifacts", "artifacts", 'uri = "gs://a/other"') == ["other"]
    lineage = api.get(f"{context}:queryContextLineageSubgraph")
    assert [each["name"] for each in lineage["artifacts"]] == [data, model]
    assert [each["name"] for each in lineage["executions"]] == [step]
    assert [(each["artifact"], each["type"]) for each in lineage["events"]] == [
        (data, "INPUT"),
        (model, "OUTPUT"),
    ]
    assert api.get(f"{step}:queryExecutionInputsAndOutputs") == lineage
    missing = {"artifacts": [other, f"{store}/artifacts/missing"]}
    assert api.refused("POST", f"{context}:addContextArtifactsAndExecutions", missing)[0] == "NOT_FOUND"
    assert api.names(f"{store}/artifacts", "artifacts", f'in_context("{context}")') == ["data", "model"]
    api.done("DELETE", model)
    lineage = api.get(f"{context}:queryContextLineageSubgraph")
    assert [each["name"] for each in lineage["artifacts"]] == [data]
    assert len(lineage["events"]) == 1


@pytest.mark.parity("Experiments and endpoints: contexts, artifacts and executions")
def test_the_lineage_of_an_artifact(api: Experiments, store: str) -> None:
    names = [
        api.node(store, "artifacts", f"artifact-{number}", displayName=f"{number}") for number in range(4)
    ]
    for number in range(3):
        step = api.node(store, "executions", f"step-{number}")
        events = [
            {"artifact": names[number], "type": "INPUT"},
            {"artifact": names[number + 1], "type": "OUTPUT"},
        ]
        api.post(f"{step}:addExecutionEvents", {"events": events})

    def artifacts(query: str) -> list[str]:
        found = api.get(f"{names[0]}:queryArtifactLineageSubgraph{query}").get("artifacts", [])
        return [each["displayName"] for each in found]

    assert artifacts("") == ["0", "1", "2", "3"]
    assert artifacts("?maxHops=2") == ["0", "1"]
    assert artifacts("?filter=display_name%21%3D2") == ["0", "1"]
    assert api.refused("GET", f"{names[0]}:queryArtifactLineageSubgraph?maxHops=-1")[0] == "INVALID_ARGUMENT"


@pytest.mark.parity("Experiments and endpoints: contexts, artifacts and executions")
def test_rules_of_parents(api: Experiments, store: str) -> None:
    contexts = [api.node(store, "contexts", f"c-{number}") for number in range(12)]
    api.post(f"{contexts[0]}:addContextChildren", {"childContexts": [contexts[1]]})
    api.post(f"{contexts[1]}:addContextChildren", {"childContexts": [contexts[2]]})
    code, words = api.refused("POST", f"{contexts[2]}:addContextChildren", {"childContexts": [contexts[0]]})
    assert (code, "above it" in words) == ("INVALID_ARGUMENT", True)
    code, _ = api.refused("POST", f"{contexts[2]}:addContextChildren", {"childContexts": [contexts[2]]})
    assert code == "INVALID_ARGUMENT"
    for parent in contexts[1:11]:
        api.post(f"{parent}:addContextChildren", {"childContexts": [contexts[11]]})
    code, words = api.refused("POST", f"{contexts[0]}:addContextChildren", {"childContexts": [contexts[11]]})
    assert (code, "10 parent contexts" in words) == ("FAILED_PRECONDITION", True)
    etag = api.get(contexts[11])["etag"]
    api.post(f"{contexts[1]}:removeContextChildren", {"childContexts": [contexts[11]]})
    assert len(api.get(contexts[11])["parentContexts"]) == 9
    assert api.get(contexts[11])["etag"] == etag  # the SDK updates a run after adding it to its experiment
    other = api.node(api.store("elsewhere"), "contexts", "c")
    code, words = api.refused("POST", f"{contexts[0]}:addContextChildren", {"childContexts": [other]})
    assert (code, "another metadata store" in words) == ("INVALID_ARGUMENT", True)


@pytest.mark.parity("Experiments and endpoints: contexts, artifacts and executions")
def test_schemas(api: Experiments, store: str) -> None:
    body = {
        "schema": "title: my.Digits\ntype: object\n",
        "schemaVersion": "1.0.0",
        "schemaType": "ARTIFACT_TYPE",
    }
    name = api.post(f"{store}/metadataSchemas?metadataSchemaId=digits", body)["name"]
    assert api.get(name)["schema"] == body["schema"]
    api.post(f"{store}/metadataSchemas", {**body, "schemaVersion": "1.10.0"})
    code, words = api.refused("POST", f"{store}/metadataSchemas", body)
    assert (code, "already exists" in words) == ("ALREADY_EXISTS", True)
    made = api.node(store, "artifacts", "with-a-schema", schemaTitle="my.Digits")
    assert api.get(made)["schemaVersion"] == "1.10.0"
    code, words = api.refused("POST", f"{store}/artifacts?artifactId=other", {"schemaTitle": "my.Letters"})
    assert (code, "artifact.schema_title" in words) == ("INVALID_ARGUMENT", True)
    for bad, field in (({"schema": "a: ["}, "not YAML"), ({"schema": "type: object"}, "no title")):
        code, words = api.refused("POST", f"{store}/metadataSchemas", bad)
        assert (code, field in words) == ("INVALID_ARGUMENT", True)


def test_rules_of_nodes(api: Experiments, store: str) -> None:
    body = {"displayName": "x" * 129, "labels": {"A": "b"}, "metadata": {"text": "x" * 210_000}}
    code, words = api.refused("POST", f"{store}/contexts?contextId=good", body)
    assert code == "INVALID_ARGUMENT"
    assert all(f"context.{field}" in words for field in ("display_name", "labels", "metadata"))
    code, words = api.refused("POST", f"{store}/contexts?contextId=not_good", {})
    assert (code, "'not_good' is not a valid ID" in words) == ("INVALID_ARGUMENT", True)


@pytest.mark.parity("Experiments and endpoints: contexts, artifacts and executions")
def test_purges(api: Experiments, store: str) -> None:
    for number in range(3):
        api.node(store, "artifacts", f"a-{number}", displayName="old" if number else "new")
    tried = api.post(f"{store}/artifacts:purge", {"filter": 'display_name="old"'})["response"]
    assert (tried["purgeCount"], len(tried["purgeSample"])) == ("2", 2)
    assert len(api.names(f"{store}/artifacts", "artifacts")) == 3
    api.post(f"{store}/artifacts:purge", {"filter": 'display_name="old"', "force": True})
    assert api.names(f"{store}/artifacts", "artifacts") == ["a-0"]
    assert api.refused("POST", f"{store}/artifacts:purge", {})[0] == "INVALID_ARGUMENT"


def test_orders_and_pages(api: Experiments, store: str) -> None:
    for number in range(5):
        api.node(store, "executions", f"e-{number}", displayName=f"{4 - number}")
    path = f"{store}/executions?orderBy=display_name%20desc&pageSize=3"
    first = api.get(path)
    rest = api.get(f"{path}&pageToken={first['nextPageToken']}")
    found = [each["displayName"] for page in (first, rest) for each in page["executions"]]
    assert found == ["4", "3", "2", "1", "0"]
    assert "nextPageToken" not in rest
