"""Templates of notebook runtimes: what a resource has that is stored only."""

from __future__ import annotations

import pytest

from support.emulated.services.experiments import LOCATION, Experiments

TEMPLATES = f"{LOCATION}/notebookRuntimeTemplates"


@pytest.mark.parity(
    "Experiments and endpoints: templates of notebook runtimes",
    own_way="stored only; runtimes and executions are refused by name",
)
def test_a_template_from_its_creation_to_its_deletion(api: Experiments) -> None:
    operation = api.post(
        f"{TEMPLATES}?notebookRuntimeTemplateId=small",
        {
            "displayName": "whole",
            "labels": {"team": "a"},
            "machineSpec": {"machineType": "e2-standard-4"},
            "isDefault": True,
            "softwareConfig": {"colabImage": {"releaseName": "py311", "description": "a client's"}},
        },
    )
    made = operation["response"]
    name = made["name"]
    assert name.endswith("/notebookRuntimeTemplates/small")
    assert operation["metadata"]["@type"].endswith(".CreateNotebookRuntimeTemplateOperationMetadata")
    assert ("isDefault" in made, made["softwareConfig"]) == (False, {"colabImage": {"releaseName": "py311"}})
    assert api.get(operation["name"]) == operation
    assert api.names(TEMPLATES, "notebookRuntimeTemplates", "machineType=e2-standard-4") == ["small"]
    changed = api.done(
        "PATCH", f"{name}?updateMask=encryptionSpec.kmsKeyName", {"encryptionSpec": {"kmsKeyName": "k"}}
    )
    assert (changed["displayName"], changed["encryptionSpec"]) == ("whole", {"kmsKeyName": "k"})
    assert api.get(name) == changed
    api.done("DELETE", name)
    assert api.refused("GET", name) == ("NOT_FOUND", f"The NotebookRuntimeTemplate does not exist: {name}.")


@pytest.mark.parity("Experiments and endpoints: templates of notebook runtimes")
def test_faults_of_templates_are_reported_together(api: Experiments) -> None:
    code, words = api.refused("POST", f"{TEMPLATES}?notebookRuntimeTemplateId=UPPER", {"labels": {"A": "b"}})
    assert code == "INVALID_ARGUMENT"
    for field in ("notebook_runtime_template_id", ".display_name", ".labels"):
        assert field in words


@pytest.mark.parity("Experiments and endpoints: templates of notebook runtimes")
@pytest.mark.parametrize("path", ["notebookRuntimes:assign", "notebookExecutionJobs"])
def test_runtimes_are_refused_by_name(api: Experiments, path: str) -> None:
    code, words = api.refused("POST", f"{LOCATION}/{path}", {})
    assert (code, "starts no runtime" in words) == ("UNIMPLEMENTED", True)
