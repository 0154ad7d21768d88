"""The state of a stack, as a provider of the real Pulumi CLI asks for it while the stack is deployed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from support.client.engine import Engine

URN = "urn:pulumi:test::engine-test::pulumi-python:dynamic/test:Job::"
PROGRAM = f"""
URN = "{URN}"

from pulumi.dynamic import CreateResult, Resource, ResourceProvider


class Asking(ResourceProvider):
    def create(self, props):
        import shutil
        from pulumi_vertex_training.core.state import running_stack

        found = running_stack.ask(props["asked_for"])
        outs = {{
            "on_path": shutil.which("pulumi") or "",
            "ids": sorted(found.ids),
            "identities": sorted(found.identities),
            "begun": {{urn: sorted(each) for urn, each in found.begun.items()}},
        }}
        key = props["__run"]["identity"] + "-1"
        return CreateResult("new", {{**props, **outs, "__run": {{"key": key}}}})


class Job(Resource, module="test", name="Job"):
    def __init__(self, name, identity, opts=None):
        props = {{"asked_for": URN + name, "__run": {{"identity": identity}}}}
        super().__init__(Asking(), name, props, opts)


first = Job("first", "a" * 16)
Job("second", "b" * 16, pulumi.ResourceOptions(depends_on=[first]))
"""
PRESENT, KILLED, OLDER = "a" * 16, "c" * 16, "d" * 16


def prepare(engine: Engine) -> None:
    """Give the stack an older job, and the creation that a killed deployment has left."""
    file = engine.folder / "state" / ".pulumi" / "stacks" / "engine-test" / "test.json"
    document = json.loads(file.read_text())
    document["checkpoint"]["latest"] |= {
        "resources": [
            {
                "urn": f"{URN}older",
                "type": "pulumi-python:dynamic/test:Job",
                "custom": True,
                "id": "the-older",
                "delete": True,
                "external": True,
                "outputs": {"__run": {"key": f"{OLDER}-3"}},
            }
        ],
        "pending_operations": [
            {
                "type": "creating",
                "resource": {
                    "urn": f"{URN}first",
                    "type": "pulumi-python:dynamic/test:Job",
                    "custom": True,
                    "inputs": {"__run": {"identity": KILLED}},
                },
            }
        ],
    }
    file.write_text(json.dumps(document))


def test_a_provider_sees_its_own_creation_and_that_of_a_killed_deployment(engine: Engine) -> None:
    """Deploy with a CLI that is not on PATH, while another stack is selected."""
    cli = shutil.which("pulumi")
    assert cli is not None
    prepare(engine)
    engine.write(PROGRAM)
    path = os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"])
    words = "up --yes --skip-preview --non-interactive --stack organization/engine-test/test"
    done = subprocess.run(
        [cli, *words.split()],
        cwd=engine.folder,
        env={
            **engine.environment,
            "PATH": path,
            "PULUMI_PYTHON_CMD": sys.executable,
            "PULUMI_STACK": "elsewhere",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    resources = {one["urn"].rpartition("::")[2]: one for one in engine.checkpoint()["resources"]}
    first, second = resources["first"]["outputs"], resources["second"]["outputs"]
    assert first["on_path"] == ""
    assert first["begun"] == {f"{URN}first": sorted([PRESENT, KILLED])}
    assert first["identities"] == [OLDER]
    assert "the-older" in first["ids"]
    # The second creation gets the answer of the first one: it is asked once in a deployment.
    asked = ("ids", "identities", "begun")
    assert [second[name] for name in asked] == [first[name] for name in asked]
