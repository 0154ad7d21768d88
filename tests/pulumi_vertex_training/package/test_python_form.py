"""A program in Python with the package: what it sends, and what the plugin makes of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import empty_pb2

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobState
from pulumi_vertex_training.core.state.hidden_input import INTERRUPT_INPUT, PROGRAM_INPUT
from pulumi_vertex_training.kinds.custom_job.gateway import GATEWAY
from support.client.package_process import JOB, PackageProcess
from support.mocked_program import run
from support.waiting import eventually

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
POOL = {
    "machine_spec": {"machine_type": "n1-standard-4"},
    "replica_count": 1,
    "container_spec": {"image_uri": IMAGE, "command": ["false"]},
}
NEWS = {"workerPoolSpecs": [POOL], PROGRAM_INPUT: "python"}
PROGRAM = f"""
import pulumi
import pulumi_vertex_training as vt
from pulumi_vertex_training.program import form

job = vt.CustomJob("train", worker_pool_specs=[{POOL!r}], labels={{"my_team": "a"}}, wait="none")
opts = pulumi.ResourceOptions(ignore_changes=["worker_pool_specs[0].replica_count", "labels.my_team"])
pools = pulumi.Output.secret([{POOL!r}])
vt.CustomJob("ignoring", worker_pool_specs=pools, labels={{"my_team": "a"}}, wait="none", opts=opts)
print("ignored", form._with_paths("{JOB}", {{}}, opts)[1].ignore_changes)
pulumi.Output.all(job.worker_pool_specs, job.labels).apply(lambda known: print("outputs", known))
"""


@pytest.fixture
def plugin(data_dir: Path) -> Iterator[PackageProcess]:
    config = {"endpoint": "emulator", "dataDir": str(data_dir), "form": "package", "maxRunCost": "1"}
    with PackageProcess(config) as process:
        yield process


def test_the_names_of_a_program_are_converted_at_the_top_alone() -> None:
    config = {"vertex-training:form": "package"}
    done = run("dev", config, program=PROGRAM, preview=False)
    declared, ignoring = sorted(done.declared, key=lambda one: str(one["name"]), reverse=True)
    assert declared["type"] == JOB
    inputs = declared["inputs"]
    assert inputs["workerPoolSpecs"] == [POOL]
    assert inputs["labels"] == {"my_team": "a"}
    assert not {"endpoint", "marks", "__key"} & inputs.keys()
    assert "ignored ['workerPoolSpecs[0].replicaCount', 'labels.my_team']" in done.printed
    assert '"replicaCount"' in json.dumps(ignoring["inputs"]["workerPoolSpecs"])
    assert ignoring["inputs"]["labels"] == {"my_team": "a"}
    (shown,) = [line for line in done.printed.splitlines() if line.startswith("outputs ")]
    assert "'machine_type': 'n1-standard-4'" in shown
    assert "{'my_team': 'a'}]" in shown


def test_another_form_is_refused() -> None:
    program = "import pulumi_vertex_training as vt\nvt.StagingBucket('data')"
    done = run("dev", {"vertex-training:form": "packages"}, program=program)
    assert done.error.startswith(
        "vertex-training:form is 'packages'; it must be 'dynamic' or 'package'. Run "
    )


def test_errors_have_the_names_of_python(plugin: PackageProcess) -> None:
    wrong = {
        "workerPoolSpecs": [{**POOL, "replica_count": -1}],
        "displayNam": "<pulumi.output.Output object at 1>",
    }
    _, reasons = plugin.check(JOB, "train", {**NEWS, **wrong})
    text = "\n".join(reasons)
    assert "worker_pool_specs[0].replica_count" in text
    assert "display_nam: has an Output in a string" in text


def test_the_program_waits_and_not_the_plugin(plugin: PackageProcess) -> None:
    inputs, reasons = plugin.check(JOB, "bad", NEWS)
    assert not reasons
    assert "wait" not in inputs.values
    assert inputs.values["workerPoolSpecs"][0]["replicaCount"] == 1
    id_, outputs = plugin.create(JOB, "bad", inputs)
    failed = {**outputs.values, "state": "FAILED"}
    again, _ = plugin.check(JOB, "bad", NEWS, inputs.values)
    assert plugin.diff(JOB, "bad", failed, again.values) == ("NONE", {})
    assert plugin.read(JOB, "bad", id_, failed)[0] == id_
    # As an import and a program in YAML have left it.
    hidden = {name: value for name, value in failed["__internal"].items() if name != "in_program"}
    imported = {**failed, "__internal": hidden}
    assert plugin.diff(JOB, "bad", imported, again.values) == ("NONE", {})
    waited = {**imported, "wait": "done"}
    assert plugin.diff(JOB, "bad", waited, again.values) == ("SOME", {"wait": "UPDATE"})
    assert plugin.update(JOB, "bad", waited, again.values, id_=id_)["state"] == "FAILED"


def test_ctrl_c_cancels_a_job_that_is_being_submitted(plugin: PackageProcess, endpoint: Endpoint) -> None:
    pool = {**POOL, "container_spec": {"image_uri": IMAGE, "command": ["sleep", "600"]}}
    news = {**NEWS, "workerPoolSpecs": [pool]}
    left, _ = plugin.check(JOB, "left", news)
    cancelled, _ = plugin.check(JOB, "cancelled", {**news, INTERRUPT_INPUT: "cancel"})
    plugin.stub.Cancel(empty_pb2.Empty())
    found = [plugin.create(JOB, name, each)[0] for name, each in (("left", left), ("cancelled", cancelled))]
    eventually(lambda: GATEWAY.get(endpoint, found[1]).state is JobState.JOB_STATE_CANCELLED)
    assert not GATEWAY.get(endpoint, found[0]).state.is_terminal


def test_another_language_may_not_exceed_a_limit_that_only_python_keeps_to(plugin: PackageProcess) -> None:
    news: dict[str, Any] = {name: value for name, value in NEWS.items() if name != PROGRAM_INPUT}
    _, reasons = plugin.check(JOB, "train", news)
    assert any("vertex-training:form: is for programs in Python" in reason for reason in reasons)
