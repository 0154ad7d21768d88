"""The manifests of gitops/kubernetes-operator against the fields of the operator's resource definitions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml
from click.testing import Result

from support.client.gitops.schema_checker import checked
from support.tables import not_empty

FOLDER = Path(__file__).resolve().parents[3] / "gitops" / "kubernetes-operator"
SCHEMA = Path(__file__).parent / "stack.schema.json"


def manifests() -> list[dict[str, Any]]:
    files = [file for file in sorted(FOLDER.glob("*.yaml")) if file.name != "kustomization.yaml"]
    return [document for file in files for document in yaml.safe_load_all(file.read_text())]


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [one for one in manifests() if one["kind"] == kind]


def compared(stacks: list[dict[str, Any]], folder: Path) -> Result:
    """Compare manifests with the schema."""
    files = [folder / f"{stack['metadata']['name']}.json" for stack in stacks]
    for file, stack in zip(files, stacks, strict=True):
        file.write_text(json.dumps(stack))
    return checked("--schemafile", str(SCHEMA), *map(str, files))


def test_stacks_have_fields_of_the_operator(tmp_path: Path) -> None:
    done = compared(of_kind("Stack"), tmp_path)
    assert done.exit_code == 0, done.output


def test_a_mistyped_field_is_found(tmp_path: Path) -> None:
    (stack, *_) = of_kind("Stack")
    spec = {**stack["spec"], "projectRepository": "https://example.com", "refresh": "yes"}
    done = compared([{**stack, "spec": spec}], tmp_path)
    assert done.exit_code == 1
    assert "'projectRepository' was unexpected" in done.output
    assert "$.spec.refresh: 'yes' is not of type 'boolean'" in done.output


def test_a_stack_names_one_source_and_one_revision() -> None:
    for stack in not_empty(of_kind("Stack")):
        spec = stack["spec"]
        assert [name for name in ("projectRepo", "fluxSource", "programRef") if name in spec] == [
            "projectRepo"
        ]
        assert [name for name in ("branch", "commit") if name in spec] == ["branch"]


def test_only_a_preview_environment_is_destroyed_with_its_object() -> None:
    destroyed = {one["metadata"]["name"]: one["spec"]["destroyOnFinalize"] for one in of_kind("Stack")}
    assert destroyed == {"prod": False, "prod-next": False, "pr-7": True}


def test_stacks_run_as_the_service_account_of_their_namespace() -> None:
    (account,) = of_kind("ServiceAccount")
    (namespace,) = of_kind("Namespace")
    (binding,) = of_kind("ClusterRoleBinding")
    name, inside = account["metadata"]["name"], account["metadata"]["namespace"]
    assert inside == namespace["metadata"]["name"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": name, "namespace": inside}]
    for stack in of_kind("Stack"):
        assert (stack["spec"]["serviceAccountName"], stack["metadata"]["namespace"]) == (name, inside)


def test_the_manifests_hold_no_key() -> None:
    assert of_kind("Secret") == []
    assert "iam.gke.io/gcp-service-account" in of_kind("ServiceAccount")[0]["metadata"]["annotations"]


def test_every_applied_file_exists() -> None:
    applied = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
    assert all((FOLDER / name).exists() for name in not_empty(applied))
