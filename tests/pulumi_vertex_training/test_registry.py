"""Every kind has the parts that the registry's entry promises, and an entry."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import pulumi_vertex_training
from pulumi_vertex_training import providers, registry
from pulumi_vertex_training.core.provider import Provider
from pulumi_vertex_training.core.running.declaration import JobResourceType
from pulumi_vertex_training.documents.document import DocumentKind
from pulumi_vertex_training.dynamic.adapter import DynamicProvider
from pulumi_vertex_training.kinds import get_functions
from pulumi_vertex_training.package import functions, kinds
from pulumi_vertex_training.registry import ENTRIES, Entry
from pulumi_vertex_training.runs.gateway import RunGateway
from pulumi_vertex_training.runs.persistent import PersistentKind
from pulumi_vertex_training.views.kind_view import KindView
from vertex_training.job.job_kind import JobKind
from vertex_training.policy.subject import KINDS

OF_A_JOB = {
    ("kind", "KIND"): JobKind,
    ("gateway", "GATEWAY"): RunGateway,
    ("provider", "DECLARED"): JobResourceType,
    ("document", "DOCUMENT"): DocumentKind,
    ("view", "VIEW"): KindView,
}
PARTS = [
    *((entry, *part, of) for entry in registry.RUNNABLE for part, of in OF_A_JOB.items()),
    *((entry, "gateway", "PERSISTENT", PersistentKind) for entry in registry.PERSISTENT),
]


@pytest.mark.parametrize(
    ("entry", "module", "name", "of"), PARTS, ids=lambda one: one.folder if isinstance(one, Entry) else None
)
def test_every_part_of_a_kind_is_there(entry: Entry, module: str, name: str, of: type) -> None:
    assert isinstance(entry.part(module, name, of), of)


def test_the_parts_of_a_kind_are_of_one_kind() -> None:
    for entry in registry.RUNNABLE:
        declared = entry.part("provider", "DECLARED", JobResourceType)
        assert declared.gateway is entry.part("gateway", "GATEWAY", RunGateway)
        assert declared.spec is entry.part("kind", "KIND", JobKind)
        assert declared.gateway.collection == entry.collection


def test_another_type_than_the_one_that_is_asked_for_is_refused() -> None:
    with pytest.raises(TypeError, match="is a JobKind, not a Entry"):
        registry.CUSTOM_JOB.part("kind", "KIND", Entry)


def test_the_package_has_the_shape_of_every_resource_that_is_no_job() -> None:
    jobs = {name for entry in registry.RUNNABLE for name in entry.resources}
    assert set(kinds.SHAPES) == set(registry.RESOURCES) - jobs


def test_a_kind_with_a_lookup_has_its_functions() -> None:
    names = {f"get_{re.sub('(?<!^)(?=[A-Z])', '_', name).lower()}" for name in functions.RESOURCES}
    assert names == {name for name in vars(get_functions) if name.startswith("get_")}


@pytest.mark.parametrize("name", registry.PROVIDERS)
def test_every_provider_has_its_address(name: str) -> None:
    found = getattr(providers, name)
    assert issubclass(found, DynamicProvider)
    assert isinstance(found.provider, Provider)
    assert type(found.provider).__name__ == name


def test_another_name_has_no_address() -> None:
    with pytest.raises(AttributeError, match="OtherProvider"):
        _ = providers.OtherProvider


def test_every_resource_is_a_class_of_its_kind_and_public() -> None:
    for entry in ENTRIES:
        for name in entry.resources:
            assert entry.part("resource", name, type) is getattr(pulumi_vertex_training, name)


def test_every_folder_of_a_kind_has_an_entry() -> None:
    kinds = Path(registry.__file__).parent / "kinds"
    folders = {one.name for one in kinds.iterdir() if (one / "__init__.py").exists()}
    assert folders == {entry.folder for entry in ENTRIES} | {"distributed_training"}


def test_the_registry_imports_no_kind() -> None:
    code = (
        "import sys, pulumi_vertex_training.registry; print([one for one in sys.modules if '.kinds' in one])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_every_kind_that_policies_read_is_a_resource() -> None:
    assert set(KINDS) <= set(registry.TYPES.values())
