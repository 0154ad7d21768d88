"""Run a workflow of gitops/github with act, on this machine and without Docker."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.client.gitops.github import REPOSITORY, TOKEN, GitHub
from support.client.gitops.project import PASSPHRASE
from support.clients.tools import tool

ROOT = Path(__file__).resolve().parents[4]
GITHUB = ROOT / "gitops" / "github"
_ACTIONS = Path(__file__).parent / "actions"
_STAND_INS = {
    "actions/setup-python": "setup-python",
    "pulumi/actions": "pulumi",
    "google-github-actions/auth": "auth",
    "actions/upload-artifact": "upload-artifact",
    "actions/download-artifact": "download-artifact",
}
PROVIDER = "projects/1/locations/global/workloadIdentityPools/training/providers/github"
ACCOUNT = "deployer@my-project.iam.gserviceaccount.com"


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A run of a workflow: its exit code and log."""

    code: int
    log: str

    def ok(self) -> Ran:
        assert self.code == 0, self.log
        return self

    def failed(self) -> Ran:
        assert self.code != 0, self.log
        return self

    @property
    def printed(self) -> str:
        """The output of the steps, without act's own lines."""
        return "\n".join(line.partition("| ")[2] for line in self.log.splitlines() if "  | " in line)


@dataclass(frozen=True, kw_only=True)
class Runner:
    """act, with a clone to run in, a site to report to, and folders of its own."""

    clone: Path
    site: GitHub
    records: Path
    environment: Mapping[str, str]
    variables: Mapping[str, str]

    def run(self, workflow: str, event: str, payload: Mapping[str, Any], *, name: str) -> Ran:
        """Run a workflow for an event. Artifacts and records of the run have this name."""
        records = self.records / name
        records.mkdir(parents=True)
        document = {"repository": {"full_name": REPOSITORY, "default_branch": "main"}, **payload}
        (records / "event.json").write_text(json.dumps(document))
        variables = {
            "WORKLOAD_IDENTITY_PROVIDER": PROVIDER,
            "SERVICE_ACCOUNT": ACCOUNT,
            **self.variables,
        }
        command = [
            str(tool("act")),
            event,
            *("--workflows", f".github/workflows/{workflow}.yml"),
            *("--eventpath", str(records / "event.json")),
            *("--platform", "ubuntu-latest=-self-hosted"),
            *("--action-cache-path", str(self.records / "act")),
            *("--no-cache-server", "--concurrent-jobs", "1"),
            *("--secret", f"GITHUB_TOKEN={TOKEN}"),
            *("--secret", f"PULUMI_CONFIG_PASSPHRASE={PASSPHRASE}"),
            *(f"--local-repository={action}={folder}" for action, folder in _local_actions().items()),
            *(f"--var={key}={value}" for key, value in variables.items()),
            *(f"--env={key}={value}" for key, value in self._variables(name).items()),
        ]
        done = subprocess.run(
            command,
            cwd=self.clone,
            env={**self.environment, "HOME": str(self.records)},  # no settings of the user's own act
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=500,
        )
        (records / "log").write_text(done.stdout)
        return Ran(code=done.returncode, log=done.stdout)

    def logins(self, name: str) -> list[str]:
        """Return provider, account and job of each login of a run."""
        file = self.records / name / "auth"
        return file.read_text().splitlines() if file.exists() else []

    def _variables(self, name: str) -> dict[str, str]:
        return {
            "GITHUB_API_URL": self.site.url,
            "GITHUB_RUN_ID": name,
            "ARTIFACTS": str(self.site.artifacts / name),
            "RECORDS": str(self.records / name),
        }


def _local_actions() -> dict[str, str]:
    """Return the folder that stands in for each action of the workflows, by its name and version."""
    used = {
        found
        for file in GITHUB.rglob("*.yml")
        for found in re.findall(r"uses: ([\w./-]+)@([0-9a-f]+)", file.read_text())
    }
    assert used
    return {
        f"{action}@{version}": str(_ACTIONS / _STAND_INS[action])
        for action, version in used
        if action != "actions/checkout"  # act has its own
    }
