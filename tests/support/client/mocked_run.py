"""Run programs under Pulumi's mocks, each in a fork of this process, which has done the imports.

Each line of standard input has the settings of a program as JSON: `folder` is where it runs, and `output` the
folder of its two outputs. The answer is a line with its exit code.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import runpy
import sys
import traceback
from pathlib import Path
from typing import Any

import pulumi
from pulumi.runtime import config, mocks
from pulumi.runtime.stack import run_pulumi_func

from pulumi_vertex_training import CustomJob, StagedPackage, StagingBucket, TrainingImage  # noqa: F401
from pulumi_vertex_training.environment import values


class Mocks(mocks.Mocks):
    """The answers of Pulumi and Google to what a program declares."""

    def __init__(self, stacks: dict[str, dict[str, Any]]) -> None:
        self.declared: list[dict[str, Any]] = []
        self._stacks = stacks

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        inputs = {key: value for key, value in args.inputs.items() if key != "__provider"}
        self.declared.append({"type": args.typ, "name": args.name, "inputs": inputs})
        outputs = dict(inputs)
        outputs.setdefault("project", "my-project")
        kind = args.typ.rpartition(":")[2]
        if kind == "Account":
            email = args.inputs["accountId"] + "@my-project.iam.gserviceaccount.com"
            outputs |= {"email": email, "name": "projects/my-project/serviceAccounts/" + email}
        if kind == "ServiceIdentity":
            outputs["member"] = "serviceAccount:agent-of-" + args.inputs["service"]
        if kind == "StagingBucket":
            outputs.setdefault("name", "my-project-bucket")
        if kind == "StagedFile":
            outputs |= {"uri": "gs://b/digits", "path": "/gcs/b/digits"}
        if kind == "StagedPackage":
            outputs |= {"uri": "gs://b/p.tar.gz", "python_module": "digits_trainer.task"}
        if kind == "ImageRepository":
            outputs |= {"url": "europe-west4-docker.pkg.dev/my-project/r"}
        if kind == "TrainingImage":
            return "europe-west4-docker.pkg.dev/my-project/r/train@sha256:1", outputs
        if kind == "PersistentResource":
            outputs["persistent_resource_id"] = "machines-of-" + args.name
        if kind == "StackReference":
            outputs |= {"outputs": self._stacks[args.name], "secretOutputNames": []}
        if args.typ.startswith("gcp:"):
            outputs.setdefault("name", args.name + "-name")
        return args.name + "-id", outputs

    def call(self, args: mocks.MockCallArgs) -> dict[str, Any]:
        if args.token == "gcp:organizations/getProject:getProject":
            return {"number": "1234", "projectId": args.args["projectId"]}
        if args.token == "gcp:storage/getProjectServiceAccount:getProjectServiceAccount":
            return {"member": "serviceAccount:agent-of-storage"}
        return {}


def run(settings: dict[str, Any]) -> None:
    """Run the program, and print what it declares, or its error."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s: %(message)s")
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    config.set_all_config(settings["config"], settings["secrets"])
    answers, outputs = Mocks(settings["stacks"]), {}
    names = {name: settings[name] for name in ("project", "stack", "preview")}
    mocks.set_mocks(answers, **names)
    sys.path[0] = settings["folder"]
    if settings["without"]:
        sys.modules[settings["without"]] = None  # type: ignore[assignment]

    def program() -> None:
        if not settings["program"]:
            runpy.run_path("__main__.py", run_name="__main__")
            return
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(settings["program"], "program", "exec"), names)
        if "shown" in names:
            fields = [*values.REQUIRED, *values.OPTIONAL]
            found = pulumi.Output.all(*[getattr(names["shown"], each) for each in fields])
            found.apply(lambda known: outputs.update(zip(fields, known, strict=True)))

    try:
        loop.run_until_complete(run_pulumi_func(program))
    except pulumi.RunError as error:
        print(json.dumps({"error": str(error)}))
    else:
        print(json.dumps({"declared": answers.declared, "values": outputs}, default=str))


def _become(settings: dict[str, Any]) -> None:
    """Run the program in this fork. It does not return."""
    code = 1
    try:
        for number, name in enumerate(("out", "err"), start=1):
            os.dup2(os.open(Path(settings["output"], name), os.O_WRONLY | os.O_CREAT), number)
        os.chdir(settings["folder"])
        run(settings)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    gc.freeze()
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _become(json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
