"""The program of the README, in Python and in YAML, on the real engine with the script of the template."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from support.client.engine import Engine
from support.client.package_plugin import with_plugin
from support.client.pages.pages import DOCS, blocks

README = DOCS.parent / "README.md"
YAML_PAGE = DOCS / "guides" / "programs" / "yaml.md"
SCRIPT = DOCS.parent / "templates" / "vertex-training" / "train.py"


@pytest.fixture(scope="module")
def project(shared_engine: Engine) -> Engine:
    """Return a project with the script beside the program."""
    for folder in (shared_engine.folder, shared_engine.folder / "infra"):
        shutil.copy(SCRIPT, folder)
    return with_plugin(shared_engine)


def trained(project: Engine) -> dict[str, Any]:
    """Deploy the program. Return the inputs of its job."""
    assert project.up().ok()
    assert project.outputs()["metrics"]["accuracy"] > 0.8
    jobs = (one for one in project.checkpoint()["resources"] if one["type"].endswith(":CustomJob"))
    (job,) = (dict(one["inputs"]) for one in jobs)
    return job


def test_both_programs_run_as_they_stand_and_declare_one_job(project: Engine) -> None:
    pulumi_yaml = project.folder / "Pulumi.yaml"
    settings = pulumi_yaml.read_text()
    (python,) = (block.text for block in blocks(README) if block.language == "python")
    project.write_whole(python)
    first = trained(project)
    (declared,) = (
        block.text
        for block in blocks(YAML_PAGE)
        if block.text.startswith("name: ") and "vertex-training:DistributedTraining" in block.text
    )
    project.destroy().ok()
    name = settings.splitlines()[0]
    assert name.startswith("name: ")
    pulumi_yaml.write_text(declared.replace(declared.splitlines()[0], name, 1))
    second = trained(project)
    pools = [normal(job) for job in (first, second)]
    assert pools[0] == pools[1]
    assert [pool["replica_count"] for pool in pools[0]] == [1, 2]


def normal(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the pools in snake case, without the address of the package, which has the bucket's name."""
    found = []
    for pool in job.get("worker_pool_specs") or job["workerPoolSpecs"]:
        named = {snake(key): value for key, value in pool.items()}
        package = {snake(key): value for key, value in named["python_package_spec"].items()}
        package["package_uris"] = [uri.rpartition("/")[2] for uri in package["package_uris"]]
        machine = {snake(key): value for key, value in named["machine_spec"].items()}
        count = int(named["replica_count"])
        found.append({"machine_spec": machine, "python_package_spec": package, "replica_count": count})
    return found


def snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
