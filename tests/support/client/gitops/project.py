"""A repository with a Pulumi project and the files of gitops/, as a team has it after the guide."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from support.client import engine

ROOT = Path(__file__).resolve().parents[4]
PROGRAM = '''
"""A bucket and a job of two pools."""

import pulumi

import pulumi_vertex_training as vt

config = pulumi.Config()
pools = [
    vt.WorkerPoolSpecArgs(
        machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
        replica_count=count,
        container_spec=vt.ContainerSpecArgs(
            image_uri="us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest",
            command=["python3", "-c", "import time; time.sleep(600)"],
        ),
    )
    for count in (1, config.require_int("workers"))
]
bucket = vt.StagingBucket("data", name=f"training-{pulumi.get_stack()}", force_destroy=True)
vt.CustomJob("train", worker_pool_specs=pools, wait="none")
pulumi.export("bucket", bucket.name)
'''
PASSPHRASE = "quiet-river-41"
_PROJECT = {
    "name": "training",
    "runtime": "python",
    "config": {"workers": {"type": "integer", "description": "workers beside the chief", "default": 1}},
}
_STACK = {
    "config": {
        "vertex-training:endpoint": "emulator",
        "vertex-training:lookupTimeout": "120",
        "training:workers": 1,
    }
}


@dataclass(frozen=True, kw_only=True)
class Repository:
    """A clone with the branch main; `environment` is that of a machine which runs pipelines."""

    folder: Path
    environment: Mapping[str, str]

    def git(self, *arguments: str) -> str:
        return self.call("git", *arguments).strip()

    def call(self, *command: str, code: int = 0) -> str:
        """Run a command in the clone. Return both of its outputs."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=180,
        )
        assert done.returncode == code, done.stdout
        return done.stdout

    def commit(self, message: str) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)

    def set_workers(self, stack: str, count: int) -> None:
        """Change the topology of a stack, as an ML engineer does: one line in Pulumi.STACK.yaml."""
        file = self.folder / f"Pulumi.{stack}.yaml"
        document = yaml.safe_load(file.read_text())
        document["config"]["training:workers"] = count
        file.write_text(yaml.safe_dump(document))

    def squash_merge(self, branch: str) -> None:
        """Merge a branch into main as one commit of its own."""
        self.git("checkout", "--quiet", "main")
        self.git("merge", "--quiet", "--squash", branch)
        self.commit(f"Merge {branch}")


def make(folder: Path, *, python: Path | None = None) -> Repository:
    """Create the repository with the stacks dev and prod, which have never been deployed."""
    clone = folder / "clone"
    clone.mkdir(parents=True)
    (folder / "state").mkdir()
    environment = {
        **engine.environment(folder, folder / "emulator"),
        "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
        "GIT_CONFIG_GLOBAL": str(folder / "gitconfig"),
        "GIT_CONFIG_NOSYSTEM": "1",
        **({"PULUMI_PYTHON_CMD": str(python)} if python else {}),
    }
    (folder / "gitconfig").write_text(
        "[user]\n\tname = test\n\temail = test@example.com\n[init]\n\tdefaultBranch = main\n"
    )
    (clone / "__main__.py").write_text(PROGRAM)
    (clone / "requirements.txt").write_text(
        "pyyaml\n"
    )  # installed already, as everything else that is needed
    (clone / "Pulumi.yaml").write_text(yaml.safe_dump(_PROJECT))
    (clone / ".gitignore").write_text("__pycache__/\n/plans/\n")
    for stack in ("local", "dev", "prod"):
        (clone / f"Pulumi.{stack}.yaml").write_text(yaml.safe_dump(_STACK))
    shutil.copytree(ROOT / "gitops", clone / "gitops")
    shutil.copytree(ROOT / "gitops" / "github", clone / ".github")
    shutil.copy(ROOT / "gitops" / "gitlab" / ".gitlab-ci.yml", clone)
    made = Repository(folder=clone, environment=environment)
    made.git("init", "--quiet")
    made.git("remote", "add", "origin", "https://github.com/my-team/training.git")
    for stack in ("dev", "prod"):
        made.call("pulumi", "stack", "init", stack)
    made.commit("The project")
    return made
