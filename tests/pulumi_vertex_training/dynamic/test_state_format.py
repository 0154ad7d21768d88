"""The parts of every state that name our code: type tokens, and the import path of each pickled provider.

A change here makes existing states unreadable. Leave an alias behind instead.
"""

from __future__ import annotations

import base64
import importlib
import pickletools
import subprocess
import sys

import dill
import pytest
from pulumi.dynamic import ResourceProvider
from pulumi.dynamic.dynamic import serialize_provider

from pulumi_vertex_training import providers, registry
from pulumi_vertex_training.kinds.custom_job.resource import CustomJob
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.resource import (
    HyperparameterTuningJob,
)
from pulumi_vertex_training.kinds.image_repository.resource import ImageRepository
from pulumi_vertex_training.kinds.model.resource import Model
from pulumi_vertex_training.kinds.persistent_resource.resource import PersistentResource
from pulumi_vertex_training.kinds.staged.resource import StagedFile, StagedPackage
from pulumi_vertex_training.kinds.staged_folder.resource import StagedFolder
from pulumi_vertex_training.kinds.staging_bucket.resource import StagingBucket
from pulumi_vertex_training.kinds.training_image.resource import TrainingImage
from pulumi_vertex_training.kinds.training_pipeline.resource import TrainingPipeline
from pulumi_vertex_training.kinds.training_schedule.resource import TrainingSchedule
from pulumi_vertex_training.program.resource import ProviderReference
from pulumi_vertex_training.program.stack_key import StackKey

MODULE = "pulumi_vertex_training.providers"
"""The only module that states name; never rename it."""

PROVIDERS = tuple(
    getattr(providers, name)
    for name in (
        "CustomJobProvider",
        "HyperparameterTuningJobProvider",
        "ImageRepositoryProvider",
        "ModelProvider",
        "PersistentResourceProvider",
        "StackKeyProvider",
        "StagedFileProvider",
        "StagedFolderProvider",
        "StagedPackageProvider",
        "StagingBucketProvider",
        "TrainingImageProvider",
        "TrainingPipelineProvider",
        "TrainingScheduleProvider",
    )
)


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.__name__)
def test_a_provider_is_pickled_by_reference(provider: type[ResourceProvider]) -> None:
    pickled = base64.b64decode(serialize_provider(provider()))
    strings = [value for _, value, _ in pickletools.genops(pickled) if isinstance(value, str)]
    assert strings == [MODULE, provider.__name__]
    assert len(pickled) < 120
    assert getattr(importlib.import_module(MODULE), provider.__name__) is provider


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.__name__)
def test_a_program_names_a_provider_that_it_does_not_import(provider: type[ResourceProvider]) -> None:
    pickled = base64.b64decode(serialize_provider(ProviderReference(provider.__name__)))
    strings = [value for _, value, _ in pickletools.genops(pickled) if isinstance(value, str)]
    assert strings == [MODULE, "provider_of", provider.__name__]
    assert type(dill.loads(pickled)) is provider


def test_a_declared_job_imports_no_provider() -> None:
    code = (
        "import sys, pulumi_vertex_training as vt; vt.CustomJob; "
        "print([name for name in sys.modules if name.endswith('.provider')])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "resource",
    [
        CustomJob,
        HyperparameterTuningJob,
        ImageRepository,
        PersistentResource,
        StackKey,
        StagedFile,
        StagedFolder,
        StagedPackage,
        StagingBucket,
        TrainingImage,
        Model,
        TrainingPipeline,
        TrainingSchedule,
    ],
)
def test_type_tokens(resource: type) -> None:
    name = resource.__name__
    token = resource._resource_type_name  # type: ignore[attr-defined]
    assert token == f"dynamic/{name[0].lower()}{name[1:]}:{name}"
    assert resource is StackKey or registry.TYPES[f"pulumi-python:{token}"] == name


def test_the_registry_names_every_provider() -> None:
    assert set(registry.PROVIDERS) == {provider.__name__ for provider in PROVIDERS}


def test_every_provider_unpickles_in_a_bare_process() -> None:
    """Unpickle as the plugin does: nothing of ours is imported before, and there is no program.

    Each provider has a fork of its own, of an interpreter with Pulumi's host.
    """
    names = [provider.__name__ for provider in PROVIDERS]
    pickled = {name: serialize_provider(ProviderReference(name)) for name in names}
    code = (
        "import base64, dill, os, sys, pulumi.dynamic\n"
        f"for name, pickled in {pickled!r}.items():\n"
        "    if (child := os.fork()) == 0:\n"
        "        dill.loads(base64.b64decode(pickled)).check\n"
        "        sys.exit()\n"
        "    print(name, os.waitpid(child, 0)[1], flush=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-W", "error", "-c", code], capture_output=True, text=True, timeout=600
    )
    assert done.stdout.splitlines() == [f"{name} 0" for name in names], done.stderr


def test_importing_the_package_loads_no_google_package() -> None:
    code = (
        "import sys, pulumi_vertex_training; "
        "print([name for name in sys.modules if name.startswith(('google.cloud.', 'google.api_core'))])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    assert found.stdout.strip() == "[]"
