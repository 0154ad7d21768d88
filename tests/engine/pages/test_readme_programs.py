"""The program of the README, in Python and in YAML, on the real engine with the script of the template."""

from __future__ import annotations

import re
import shutil
from typing import Any

from support.client.engine import Engine
from support.client.package_plugin import with_plugin
from support.client.pages.pages import DOCS, blocks


def test_both_programs_run_as_they_stand_and_declare_the_same_job(shared_engine: Engine) -> None:
    (python,) = (one.text for one in blocks(DOCS.parent / "README.md") if one.language == "python")
    page = blocks(DOCS / "guides" / "programs" / "yaml.md")
    (in_yaml,) = (one.text for one in page if one.text.startswith("name: roles\n"))
    project = with_plugin(shared_engine)
    for folder in (project.folder, project.folder / "infra"):
        shutil.copy(DOCS.parent / "templates" / "vertex-training" / "train.py", folder)
    project.write_whole(python)
    first = trained(project)
    project.destroy().ok()
    (project.folder / "Pulumi.yaml").write_text(in_yaml.replace("roles", "engine-test", 1))
    assert trained(project) == first
    assert [pool["replicaCount"] for pool in first] == [1, 2]


def trained(project: Engine) -> Any:
    """Deploy the program. Return the pools of its job."""
    project.up().ok()
    assert project.outputs()["metrics"]["accuracy"] > 0.8
    resources = project.checkpoint()["resources"]
    (job,) = (normal(one["inputs"]) for one in resources if one["type"].endswith(":CustomJob"))
    return job["workerPoolSpecs"]


def normal(value: Any) -> Any:
    """Return the value with names in camel case, and addresses without their bucket."""
    if isinstance(value, dict):
        pairs = ((re.sub(r"_(\w)", lambda found: found[1].upper(), key), one) for key, one in value.items())
        return {key: normal(one) for key, one in pairs}
    if isinstance(value, list):
        return [normal(one) for one in value]
    return value.rpartition("/")[2] if isinstance(value, str) else value
