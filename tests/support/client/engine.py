"""The real Pulumi CLI on a project of the test's own: own home, own backend, own emulator."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.engine_values import SECRET, SIGNATURE
from pulumi_vertex_training.registry import resource_of
from support.client import key_vault
from vertex_emulator.client import launcher

PROGRAM_HEAD = """
import pulumi
import pulumi_vertex_training as vt

config = pulumi.Config()
"""

GATE = """
import socket, time
while socket.socket().connect_ex(("127.0.0.1", {port})):
    time.sleep(0.1)
"""
"""The beginning of a job's script that goes on once somebody listens at the port."""


@dataclass
class Result:
    """The output of a command, standard output and error together, and its exit code."""

    code: int
    output: str

    def ok(self) -> Result:
        assert self.code == 0, self.output
        return self

    def failed(self) -> Result:
        assert self.code != 0, self.output
        assert "Traceback" not in self.output, self.output
        return self


def read_output_until(process: subprocess.Popen[str], *words: str) -> str:
    """Read the output of a started command until a line has one of the words. Return what was read.

    `process.communicate` returns the rest.
    """
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if any(word in line for word in words):
            return "".join(lines)
    raise AssertionError(f"none of {words} was printed:\n{''.join(lines)}")


@dataclass
class Engine:
    """A Pulumi project in `folder` with one stack, `test`."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def data_dir(self) -> Path:
        """The folder of the emulator. It is beside the project: the host of YAML reads all files below that,
        and crashes if one vanishes meanwhile.
        """
        return self.folder.with_name(f"{self.folder.name}-emulator")

    def write(self, program: str) -> None:
        """Write the program `infra/__main__.py`, below the usual imports."""
        self.write_whole(PROGRAM_HEAD + textwrap.dedent(program))

    def write_whole(self, text: str) -> None:
        """Write the program as it is.

        Its compiled copy is removed: Python takes one that is as long and of the same second for that of the
        new text, and a small deployment ends within a second.
        """
        file = self.folder / "infra" / "__main__.py"
        shutil.rmtree(file.with_name("__pycache__"), ignore_errors=True)
        file.write_text(text)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start the command in its own process group, with both outputs in one pipe."""
        return subprocess.Popen(
            ["pulumi", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str, timeout: float = 180) -> Result:
        process = self.start(*arguments)
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            raise AssertionError(f"pulumi {arguments} did not end in {timeout} s:\n{output}") from None
        return Result(process.returncode, output)

    def plan(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `vertex-training plan`."""
        return subprocess.run(
            ["vertex-training", "plan", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
        )

    def up(self, *arguments: str) -> Result:
        return self.run("up", "--yes", "--skip-preview", "--non-interactive", *arguments)

    def preview(self, *arguments: str) -> Result:
        return self.run("preview", "--non-interactive", *arguments)

    def preview_and_up(self, *arguments: str) -> tuple[Result, Result]:
        """Preview and deploy by one command; return what it printed of each.

        A preview that fails deploys nothing; both results then have the command's exit code.
        """
        done = self.run("up", "--yes", "--non-interactive", *arguments)
        preview, title, update = done.output.partition("Updating (")
        return Result(0 if title else done.code, preview), Result(done.code, title + update)

    def destroy(self) -> Result:
        return self.run("destroy", "--yes", "--skip-preview", "--non-interactive")

    def kill(self, process: subprocess.Popen[str]) -> None:
        """Kill a started command with all that it started, and remove its lock."""
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        self.unlock()

    def unlock(self) -> None:
        """Remove the lock of a killed command, as `pulumi cancel` does, which is a command more."""
        for lock in (self.folder / "state" / ".pulumi" / "locks").rglob("*.json"):
            lock.unlink()

    def forget(self, *urns: str) -> None:
        """Remove resources from the state, as `pulumi state delete` does, which is a command more."""
        with self.edited_resources() as resources:
            kept = [one for one in resources if one["urn"] not in urns]
            assert len(kept) < len(resources)
            resources[:] = kept

    def unprotect(self) -> None:
        """Remove the protection of all resources, as `pulumi state unprotect` does by a command."""
        with self.edited_resources() as resources:
            assert [one for one in resources if one.pop("protect", False)]

    @contextmanager
    def edited_resources(self) -> Iterator[list[dict[str, Any]]]:
        """Yield the resources of the state, and write what the block makes of them."""
        with self.edited_deployment() as deployment:
            yield deployment["resources"]

    @contextmanager
    def edited_deployment(self) -> Iterator[dict[str, Any]]:
        """Yield the state, and write what the block makes of it."""
        file = self._state_file()
        document = json.loads(file.read_text())
        yield document["checkpoint"]["latest"]
        file.write_text(json.dumps(document))

    def add_stack(self, name: str) -> None:
        """Add another stack without resources, as `pulumi stack init` does, which is a command more."""
        settings, present = self.folder / f"Pulumi.{name}.yaml", self._settings_file()
        keys = re.findall("^(?:encryptionsalt|secretsprovider|encryptedkey): .*\n", present.read_text(), re.M)
        settings.write_text((settings.read_text() if settings.exists() else "") + "".join(keys))
        file = self._state_file()
        document = json.loads(file.read_text())
        document["checkpoint"]["stack"] = f"organization/engine-test/{name}"
        for part in ("resources", "pending_operations"):
            document["checkpoint"]["latest"].pop(part, None)
        file.with_stem(name).write_text(json.dumps(document))

    def set(self, key: str, value: str | None) -> None:
        """Write a value into the stack's configuration file; faster than `pulumi config set`.

        None removes it.
        """
        file = self._settings_file()
        settings = yaml.safe_load(file.read_text()) if file.exists() else {}
        name = key if ":" in key else f"engine-test:{key}"
        values = settings.setdefault("config", {})
        if value is None:
            values.pop(name, None)
        else:
            values[name] = value
        file.write_text(yaml.safe_dump(settings))

    def checkpoint(self) -> dict[str, Any]:
        """Return the stack's state, as the file backend holds it; empty before the first deployment.

        `pulumi stack export` prints the same, and takes a second or two.
        """
        return json.loads(self._state_file().read_text())["checkpoint"].get("latest") or {}

    @property
    def _stack(self) -> str:
        return self.environment.get("PULUMI_STACK", "test")

    def _settings_file(self) -> Path:
        return self.folder / f"Pulumi.{self._stack}.yaml"

    def _state_file(self) -> Path:
        return self.folder / "state" / ".pulumi" / "stacks" / "engine-test" / f"{self._stack}.json"

    def outputs(self) -> dict[str, Any]:
        """Return the stack's outputs, with `[secret]` for each secret, as `pulumi stack output` does."""
        for one in self.checkpoint().get("resources", []):
            if one["type"] == "pulumi:pulumi:Stack":
                return {name: _without_secrets(value) for name, value in one.get("outputs", {}).items()}
        return {}

    def state(self) -> list[dict[str, Any]]:
        """Return the resources of the state, without the stack itself and the default provider."""
        return [one for one in self.checkpoint().get("resources", []) if resource_of(one["type"])]

    def endpoint(self) -> Endpoint:
        """Return the endpoint of this project's emulator, which must be running."""
        emulator = launcher.find(self.data_dir)
        assert emulator is not None, "the emulator is not running"
        return Endpoint(
            kind="emulator",
            project="local",
            location="us-central1",
            url=emulator.url,
            token=emulator.token,
            storage_url=emulator.storage_url,
        )


def _without_secrets(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_secrets(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.get(SIGNATURE) == SECRET:
        return "[secret]"
    return {key: _without_secrets(each) for key, each in value.items()}


def make(folder: Path) -> Engine:
    """Create an empty project with its stack. Needs the Pulumi CLI on PATH, as `make test` provides it."""
    assert shutil.which("pulumi"), "no pulumi on PATH; run the tests with `make test` or `source ./activate`"
    (folder / "infra").mkdir(parents=True)
    (folder / "state").mkdir()
    (folder / "Pulumi.yaml").write_text("name: engine-test\nruntime: python\nmain: infra\n")
    engine = _at(folder)
    engine.run("stack", "init", "test").ok()
    engine.set("vertex-training:endpoint", "emulator")  # else every deployment warns
    engine.set("vertex-training:lookupTimeout", "120")  # no test bets on the speed of a machine
    return engine


def make_template(folder: Path) -> None:
    """Create an empty project with its stack, whose secrets have the key of a vault, for `copy`."""
    settings = make(folder).folder / "Pulumi.test.yaml"
    kept = [line for line in settings.read_text().splitlines(True) if not line.startswith("encryptionsalt:")]
    settings.write_text("".join(kept) + key_vault.SETTINGS)


def copy(template: Path, folder: Path, *, python: Path | None = None) -> Engine:
    """Copy the template, a project with its stack, which takes a second less than `make`.

    `python` is the interpreter that Pulumi starts (`support.warm.warm_python`); None is the one on PATH.
    """
    shutil.copytree(template, folder, symlinks=True)
    workspaces = folder / "home" / "workspaces"
    shutil.rmtree(workspaces, ignore_errors=True)
    engine = _at(folder)
    engine.environment["PULUMI_STACK"] = "test"
    engine.environment.update(key_vault.variables())
    if python is not None:
        engine.environment["PULUMI_PYTHON_CMD"] = str(python)
        commands = folder.with_name(f"{folder.name}-commands")
        engine.environment = with_command(engine.environment, commands, python)
    return engine


def with_command(variables: dict[str, str], folder: Path, python: Path) -> dict[str, str]:
    """Return the variables with a PATH on which `vertex-training` is run by this interpreter.

    The warm interpreter (`support.warm.warm_python`) saves a second of each command.
    """
    folder.mkdir()
    program = folder / "vertex-training"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(str(python))} -m pulumi_vertex_training.cli "$@"\n')
    program.chmod(0o755)
    return {**variables, "PATH": f"{folder}{os.pathsep}{variables['PATH']}"}


def environment(folder: Path, data_dir: Path) -> dict[str, str]:
    """Return the variables of a Pulumi whose home and state are in `folder`."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("PULUMI_")},
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PULUMI_HOME": str(folder / "home"),
        "PULUMI_BACKEND_URL": f"file://{folder / 'state'}?metadata=skip",
        "PULUMI_CONFIG_PASSPHRASE": "test",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "GOGC": "off",  # the command ends before its memory matters; saves a tenth of its processor time
        "VERTEX_TRAINING_DATA_DIR": str(data_dir),
    }


def _at(folder: Path) -> Engine:
    engine = Engine(folder=folder)
    engine.environment.update(environment(folder, engine.data_dir))
    return engine
