"""The Pulumi programs of a run, and the commands that deploy them to the emulator or Google Cloud."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint

Json = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
_COPIED = ("Pulumi.yaml", "infra", "environment", "examples/digits")
_NOT_COPIED = shutil.ignore_patterns("Pulumi.*.yaml", "__pycache__")


class StackError(Exception):
    """A command of Pulumi failed; the text has the end of its output."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program of a run: its folder in the copy, its Pulumi project, and its configuration by key."""

    name: str
    folder: str
    project: str
    settings: Mapping[str, str]


def programs(run: str) -> tuple[Program, ...]:
    """Return the programs of a run in the order of deployment. The run's id is the name of their stacks."""
    environment = {"environment": f"organization/training-environment/{run}"}
    return (
        Program(
            name="environment",
            folder="environment",
            project="training-environment",
            settings={
                **dict.fromkeys(("replicaAccount", "deployerAccount"), "none"),
                **{"enableServices": "false", "forceDestroy": "true", "logRetentionDays": "0"},
            },
        ),
        Program(
            name="infra",
            folder=".",
            project="digits",
            settings={**environment, "workers": "1", "epochs": "5"},
        ),
        Program(name="jobs", folder="jobs", project="verify-jobs", settings=environment),
    )


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side of a run: its endpoint, its copy of the programs with their states, and its stacks' name."""

    endpoint: Endpoint
    folder: Path
    run: str

    def prepare(self) -> None:
        """Copy the programs, and create their stacks with their configurations."""
        for name in _COPIED:
            source, target = ROOT / name, self.folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=_NOT_COPIED)
            else:
                shutil.copy(source, target)
        shutil.copytree(Path(__file__).with_name("jobs"), self.folder / "jobs", ignore=_NOT_COPIED)
        (self.folder / "state").mkdir()
        for program in programs(self.run):
            settings = {
                "vertex-training:endpoint": self.endpoint.kind,
                "vertex-training:project": self.endpoint.project,
                "vertex-training:location": self.endpoint.location,
                **{f"{program.project}:{key}": value for key, value in program.settings.items()},
            }
            file = self.folder / program.folder / f"Pulumi.{self.run}.yaml"
            file.write_text(json.dumps({"config": settings}))  # YAML has all of JSON
            self.pulumi(program, "stack", "init", self.run)

    def cost(self, program: Program) -> Json:
        """Return the cost of the next deployment by `vertex-training plan --json`. Raises StackError."""
        command = [
            str(Path(sys.executable).with_name("vertex-training")),
            "plan",
            "--json",
            "--stack",
            self.run,
        ]
        plan = json.loads(self._output(program, command, fails=True))
        if plan["errors"]:
            raise StackError(f"{program.name}: {plan['errors'][0]['message']}")
        return dict(plan["cost"])

    def up(self, program: Program) -> None:
        """Deploy a program, and wait for its jobs. Raises StackError."""
        self.pulumi(program, "up", "--yes", "--skip-preview", "--stack", self.run)

    def is_unchanged(self, program: Program) -> bool:
        """Return whether a preview after a refresh has no changes."""
        arguments = ("preview", "--refresh", "--expect-no-changes", "--stack", self.run)
        try:
            self.pulumi(program, *arguments)
        except StackError:
            return False
        return True

    def resources(self, program: Program) -> list[Json]:
        """Return the resources in the state of a program."""
        text = self.pulumi(program, "stack", "export", "--stack", self.run)
        return list(json.loads(text)["deployment"].get("resources") or [])

    def destroy(self, *, killed: bool) -> list[str]:
        """Destroy all stacks, the last deployed first. A `killed` command left locks. Return problems."""
        problems = []
        for program in reversed(programs(self.run)):
            if not (self.folder / "state" / ".pulumi" / "stacks" / program.project).exists():
                continue
            try:
                if killed:
                    self.pulumi(program, "cancel", "--yes", "--stack", self.run, apart=True)
                self.pulumi(program, "destroy", "--yes", "--skip-preview", "--stack", self.run, apart=True)
            except StackError as error:
                problems.append(str(error))
        return problems

    def last_output(self) -> float:
        """Return when the last command began or printed something, in seconds since 1970; 0 without one."""
        printed = self.folder / "printed"
        return printed.stat().st_mtime if printed.exists() else 0.0

    def pulumi(self, program: Program, *arguments: str, apart: bool = False) -> str:
        """Run a command of Pulumi and return its output. With `apart`, Ctrl-C does not reach it."""
        return self._output(program, ["pulumi", "--non-interactive", *arguments], apart=apart)

    def _output(
        self, program: Program, command: list[str], *, fails: bool = False, apart: bool = False
    ) -> str:
        printed, errors = self.folder / "printed", self.folder / "errors"
        # The output goes into files: a command whose reader was killed would end as soon as it prints.
        with printed.open("w") as out_file, errors.open("w") as error_file:
            process = subprocess.Popen(  # noqa: S603  our own commands, no shell
                command,
                cwd=self.folder / program.folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=out_file,
                stderr=error_file,
                start_new_session=apart,
            )
        try:
            code = process.wait()
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)  # Pulumi ends after the calls in flight
            process.wait()
            raise
        out = printed.read_text()
        if code and not (fails and out):
            tail = "\n".join((out + errors.read_text()).strip().splitlines()[-25:])
            raise StackError(f"`{' '.join(command)}` of {program.name} failed:\n{tail}")
        return out

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PULUMI_")}
        return {
            **kept,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PULUMI_HOME": str(self.folder / "home"),
            "PULUMI_BACKEND_URL": f"file://{self.folder / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": self.run,
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "VERTEX_TRAINING_DATA_DIR": self.endpoint.data_dir or "",
        }
