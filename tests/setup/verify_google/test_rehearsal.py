"""`make verify-google` where an emulator answers for Google Cloud: whole, and killed while a job runs."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from scripts.verify_google import rehearsal
from scripts.verify_google.questions import QUESTIONS
from scripts.verify_google.rest import JOB_KINDS, Rest
from support.waiting import eventually
from vertex_emulator.client.launcher import Emulator

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
PLACE = {"project": "my-project", "location": "us-central1"}


@dataclass(frozen=True, kw_only=True)
class Google:
    """An emulator at Google's addresses, for programs with these variables."""

    emulator: Emulator
    variables: dict[str, str]

    def command(self, *arguments: str, folder: Path) -> list[str]:
        options = ("--rehearse", "--project", PLACE["project"], "--folder", str(folder))
        return [sys.executable, "-m", "scripts.verify_google", *options, *arguments]

    def run(self, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
        command = self.command(*arguments, folder=folder)
        return subprocess.run(
            command, cwd=ROOT, env=self.variables, capture_output=True, text=True, timeout=900
        )

    def left(self) -> list[str]:
        """Return the names of all jobs, models, buckets and repositories."""
        endpoint = Endpoint(
            kind="emulator",
            url=self.emulator.url,
            token=self.emulator.token,
            **PLACE,  # type: ignore[arg-type]
        )
        rest = Rest(endpoint=endpoint)
        kinds = [*((kind, kind) for kind in (*JOB_KINDS, "models")), ("repositories", "repositories")]
        listed = [rest.listed(f"{endpoint.parent}/{name}", kind) for name, kind in kinds]
        buckets = rest.listed("", "items", {"project": endpoint.project})
        return [str(one["name"]) for found in (*listed, buckets) for one in found]


@pytest.fixture(scope="module")
def google(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Google]:
    folder = tmp_path_factory.mktemp("google") / "data"
    with rehearsal.emulator(folder) as emulator:
        yield Google(emulator=emulator, variables=rehearsal.google_variables(folder, **PLACE))


def test_both_sides_are_the_same_and_nothing_is_left(google: Google, tmp_path: Path) -> None:
    done = google.run("--budget", "3", folder=tmp_path)
    printed = done.stdout + done.stderr
    assert done.returncode == 0, printed
    assert "0 fields differ. Counted $2.07." in printed
    (folder,) = tmp_path.glob("vtv-*")  # without a journal: nothing is left
    assert google.left() == []
    found = json.loads((folder / "answers.json").read_text())["google"]
    answers, asked = found["answers"], found["questions"]
    assert answers["jobs: seen/tuning/chief-0-2"]["arguments"] == ["--name", "a b", "--x=2"]
    referring = answers["jobs: seen/failing/chief-0-0"]["variables"]["VERIFY_REFERRING"]
    assert referring == "3-$(VERIFY_MISSING)-$(VERIFY_EXIT)"
    assert answers["jobs: CustomJob failing"]["state"] == "JOB_STATE_FAILED"
    unchanged = [value for step, value in answers.items() if step.endswith("has no changes")]
    assert unchanged == [True, True, True]
    assert list(asked) == [question.name for question in QUESTIONS]
    assert asked["timeout"]["state"] == "JOB_STATE_FAILED"
    assert asked["timeout"]["ran_seconds"] >= 60
    (started,) = asked["variable"]["files"].values()
    assert started["checkpoints"].startswith("gs://")
    seen = [one["sizes"][-1] for name, one in asked["rewrite"]["files"].items() if name.startswith("seen-")]
    assert seen == [9, 9]
    assert asked["cancel"]["state"] == "JOB_STATE_CANCELLED"
    assert "after-sigterm-005" in asked["cancel"]["files"]
    assert len(asked["restart"]["files"]) == 2  # one for each start
    assert asked["image"]["state"] == asked["wait"]["state"] == "JOB_STATE_SUCCEEDED"


KILLED = """
    import sys
    from pathlib import Path

    from scripts.verify_google import command, journal, options, stacks

    given = options.parse(sys.argv[1:])
    run = journal.new_run()
    record = journal.Record(run=run, project=given.project, location=given.location, counted=1.0)
    journal.write(given.folder, record)
    side = command._google_side(given, record)
    side.folder.mkdir(parents=True)
    side.prepare()
    for program in stacks.programs(run):
        if program.name != "infra":
            side.up(program)
"""


def test_a_killed_run_is_cleaned_up(google: Google, tmp_path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(KILLED)]
    arguments = ["--rehearse", "--project", PLACE["project"], "--folder", str(tmp_path)]
    process = subprocess.Popen(
        [*command, *arguments], cwd=ROOT, env={**google.variables, "PYTHONPATH": str(ROOT)}
    )
    eventually(lambda: any("customJobs" in name for name in google.left()) or process.poll() is not None)
    assert process.poll() is None
    process.kill()
    process.wait()
    done = google.run("--clean", "1", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "was interrupted; deleting what it left." in done.stdout
    assert google.left() == []
    assert google.run("--clean", "1", folder=tmp_path).stdout == "Nothing is left of earlier runs.\n"


def test_more_than_the_budget_is_not_deployed(google: Google, tmp_path: Path) -> None:
    done = google.run("--budget", "0.5", folder=tmp_path)
    assert done.returncode == 1
    assert "That exceeds $0.50. Nothing was sent. To allow it: " in done.stderr
    assert "BUDGET=2.08" in done.stderr
    assert not list(tmp_path.glob("vtv-*.json"))
    assert google.left() == []
