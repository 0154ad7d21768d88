"""Run a program of this repository under Pulumi's mocks, and return what it declares and prints."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

_RUN = """
import asyncio, json, logging, os, runpy, sys
import pulumi
from pulumi_vertex_training.environment import values
from pulumi.runtime import config, mocks
from pulumi.runtime.stack import run_pulumi_func

declared, outputs = [], {}
settings = json.loads(sys.argv[1])


class Mocks(mocks.Mocks):
    def new_resource(self, args):
        inputs = {key: value for key, value in args.inputs.items() if key != "__provider"}
        declared.append({"type": args.typ, "name": args.name, "inputs": inputs})
        outputs = dict(inputs)
        outputs.setdefault("project", "my-project")
        kind = args.typ.rpartition(":")[2]
        if kind == "Account":
            email = args.inputs["accountId"] + "@my-project.iam.gserviceaccount.com"
            outputs |= {"email": email, "name": "projects/my-project/serviceAccounts/" + email}
        if kind == "ServiceIdentity":
            outputs["member"] = "serviceAccount:agent-of-" + args.inputs["service"]
        if kind in ("StagingBucket",):
            outputs.setdefault("name", "my-project-bucket")
        if kind == "StagedFile":
            outputs |= {"uri": "gs://b/digits", "path": "/gcs/b/digits"}
        if kind == "StagedPackage":
            outputs |= {"uri": "gs://b/p.tar.gz", "python_module": "digits_trainer.task"}
        if kind == "ImageRepository":
            outputs |= {"url": "europe-west4-docker.pkg.dev/my-project/r"}
        if kind == "TrainingImage":
            return ["europe-west4-docker.pkg.dev/my-project/r/train@sha256:1", outputs]
        if kind == "PersistentResource":
            outputs["persistent_resource_id"] = "machines-of-" + args.name
        if kind == "StackReference":
            outputs |= {"outputs": settings["stacks"][args.name], "secretOutputNames": []}
        if args.typ.startswith("gcp:"):
            outputs.setdefault("name", args.name + "-name")
        return [args.name + "-id", outputs]

    def call(self, args):
        if args.token == "gcp:organizations/getProject:getProject":
            return {"number": "1234", "projectId": args.args["projectId"]}
        if args.token == "gcp:storage/getProjectServiceAccount:getProjectServiceAccount":
            return {"member": "serviceAccount:agent-of-storage"}
        return {}


logging.basicConfig(level=logging.INFO, format="%(levelname)s: %(message)s")
loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
config.set_all_config(settings["config"], settings["secrets"])
mocks.set_mocks(Mocks(), project=settings["project"], stack=settings["stack"], preview=settings["preview"])
sys.path.insert(0, os.getcwd())
if settings["without"]:
    sys.modules[settings["without"]] = None


async def program():
    def run():
        if settings["program"]:
            names = {"__name__": "__main__"}
            exec(compile(settings["program"], "program", "exec"), names)
            if "shown" in names:
                fields = [*values.REQUIRED, *values.OPTIONAL]
                found = pulumi.Output.all(*[getattr(names["shown"], each) for each in fields])
                found.apply(lambda known: outputs.update(zip(fields, known)))
        else:
            runpy.run_path("__main__.py", run_name="__main__")

    await run_pulumi_func(run)


try:
    loop.run_until_complete(program())
except pulumi.RunError as error:
    print(json.dumps({"error": str(error)}))
else:
    print(json.dumps({"declared": declared, "values": outputs}, default=str))
"""


@dataclass(frozen=True, kw_only=True)
class Program:
    """Resources that a program declared, each with `type`, `name` and `inputs`; or the error that ended it.

    `values` are those of the environment that the program calls `shown`.
    """

    declared: list[dict[str, Any]]
    values: dict[str, Any]
    error: str
    printed: str

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the resources of a type by its last part, such as `Account`."""
        return [one for one in self.declared if one["type"].endswith(f":{kind}")]

    def named(self, kind: str, name: str) -> dict[str, Any]:
        """Return the inputs of the one resource with a type and a name."""
        (found,) = [one["inputs"] for one in self.of(kind) if one["name"] == name]
        inputs: dict[str, Any] = found
        return inputs


def run(
    stack: str,
    config: dict[str, str],
    *,
    folder: str = "infra",
    program: str = "",
    project: str = "digits",
    secrets: tuple[str, ...] = (),
    stacks: dict[str, dict[str, Any]] | None = None,
    preview: bool = True,
    without: str = "",
) -> Program:
    """Run the program in a folder of the repository, or the given one. `without` cannot be imported."""
    settings = {
        **{"stack": stack, "config": config, "program": program, "project": project, "preview": preview},
        **{"secrets": secrets, "stacks": stacks or {}, "without": without},
    }
    process = subprocess.run(
        [sys.executable, "-c", _RUN, json.dumps(settings)],
        cwd=ROOT / folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    found = json.loads(process.stdout.splitlines()[-1])
    return Program(
        declared=found.get("declared", []),
        values=found.get("values", {}),
        error=found.get("error", ""),
        printed=process.stdout.rpartition("\n{")[0] + process.stderr,
    )
