"""`vertex-training preflight` of files: reports, texts and mistakes. The emulator has the services."""

from __future__ import annotations

import json
import re
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cli.main import main
from pulumi_vertex_training.cli.teams.preflight import view
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from pulumi_vertex_training.preflight.finding import CHECKS, LEVELS, Finding
from pulumi_vertex_training.preflight.report import Report
from pulumi_vertex_training.preflight.scope import Scope
from pulumi_vertex_training.views.markdown_output import MarkdownOutput
from support import json_schema
from support.client.registries.pushed_images import push_small_image
from support.emulated import command
from support.waiting import TIMEOUT
from vertex_training.command_line.output import Output

DOCS = Path(__file__).parents[4] / "docs"
REPOSITORY = "us-central1-docker.pkg.dev/local/preflight"
PREBUILT = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
NEVER_LATE = ("--timeout", "120")
MACHINE = {"machineType": "g2-standard-4", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 1}


def job(image: str, bucket: str, machine: dict[str, Any] | None = None) -> dict[str, Any]:
    pool = {"machineSpec": machine or MACHINE, "replicaCount": 1, "containerSpec": {"imageUri": image}}
    return {
        "displayName": "train",
        "jobSpec": {
            "workerPoolSpecs": [pool],
            "baseOutputDirectory": {"outputUriPrefix": f"gs://{bucket}/out"},
        },
    }


@pytest.fixture(scope="module")
def image(endpoint: Endpoint) -> str:
    from pulumi_vertex_training.kinds.image_repository import gateway as repositories

    name = f"{endpoint.parent}/repositories/preflight"
    repositories.create(endpoint, name, {"format": "DOCKER"})
    return str(push_small_image(endpoint, f"{REPOSITORY}/train:1", b"train"))


@pytest.fixture(scope="module")
def bucket(endpoint: Endpoint) -> str:
    buckets.create(endpoint, {"name": "preflight-here", "location": "us-central1"})
    buckets.create(endpoint, {"name": "preflight-elsewhere", "location": "us-east1"})
    return "preflight-here"


def run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, data_dir: Path, document: dict[str, Any], *more: str
) -> tuple[int, str]:
    file = tmp_path / "job.json"
    file.write_text(json.dumps(document))
    code = main(["preflight", str(file), "--data-dir", str(data_dir), *NEVER_LATE, *more])
    return code, capsys.readouterr().out


def by_check(out: str) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for finding in json.loads(out)["findings"]:
        found.setdefault(finding["check"], []).append((finding["level"], finding["message"]))
    return found


def test_a_job_whose_image_and_bucket_are_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, data_dir: Path, image: str, bucket: str
) -> None:
    code, out = run(capsys, tmp_path, data_dir, job(image, bucket), "--json")

    found = by_check(out)
    assert code == 0
    assert found["credentials"] == [("ok", "the emulator's token")]
    assert found["images"] == [("ok", "present, for linux/amd64")]
    assert found["buckets"] == [("ok", "present, in us-central1")]


def test_a_job_whose_image_is_missing_and_whose_bucket_is_elsewhere(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, data_dir: Path, image: str, bucket: str
) -> None:
    document = job(f"{REPOSITORY}/train:none", "preflight-elsewhere")

    code, out = run(capsys, tmp_path, data_dir, document, "--json")

    found = by_check(out)
    assert code == 1
    assert found["images"] == [("error", "does not exist")]
    assert [level for level, _ in found["buckets"]] == ["error"]
    assert json.loads(out)["counts"]["error"] == 2


def test_a_job_whose_package_and_persistent_resource_are_missing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, data_dir: Path, image: str, bucket: str
) -> None:
    document = job(image, bucket)
    (pool,) = document["jobSpec"]["workerPoolSpecs"]
    del pool["containerSpec"]
    evil = "$(id); none.tar.gz"
    uris = [f"gs://{bucket}/none.tar.gz", "gs://preflight-none/none.tar.gz", f"gs://{bucket}/{evil}"]
    pool["pythonPackageSpec"] = {"executorImageUri": image, "packageUris": uris, "pythonModule": "a.b"}
    document["jobSpec"]["persistentResourceId"] = "none"

    code, out = run(capsys, tmp_path, data_dir, document, "--json")

    missing = {one["about"]: one["remedy"] for one in json.loads(out)["findings"] if one["level"] == "error"}
    assert code == 1
    assert missing == {
        f"package {uris[0]}": f"gcloud storage cp none.tar.gz {uris[0]}",
        f"package {uris[2]}": f"gcloud storage cp '{evil}' '{uris[2]}'",
        "bucket preflight-none": (
            "gcloud storage buckets create gs://preflight-none --location=us-central1 --project=local"
        ),
        "persistent resource none": (
            "gcloud ai persistent-resources list --region=us-central1 --project=local"
        ),
    }


def test_the_platform_of_arm_machines(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, data_dir: Path, image: str, bucket: str
) -> None:
    reserved = {"reservationAffinityType": "ANY_RESERVATION"}
    machine = {
        "machineType": "a4x-highgpu-4g",
        "acceleratorType": "NVIDIA_GB200",
        "acceleratorCount": 4,
        "reservationAffinity": reserved,
    }

    code, out = run(capsys, tmp_path, data_dir, job(image, bucket, machine), "--json")

    assert code == 1
    assert by_check(out)["images"] == [("error", "is for linux/amd64, but the machines are linux/arm64")]


def test_a_networked_job_on_the_emulator_is_unknown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, data_dir: Path, image: str, bucket: str
) -> None:
    document = job(image, bucket)
    document["jobSpec"]["network"] = "projects/1/global/networks/mine"

    code, out = run(capsys, tmp_path, data_dir, document, "--json")

    assert (code, by_check(out)["network"]) == (0, [("unknown", "the emulator has no networks")])


def test_the_text_has_errors_first_each_with_its_remedy(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, data_dir: Path, image: str, bucket: str
) -> None:
    code, out = run(capsys, tmp_path, data_dir, job(image, "preflight-none"))

    lines = out.splitlines()
    assert code == 1
    assert re.fullmatch(r"Preflight of \S+job.json: 1 error, .*\d+ passed\.", lines[0])
    assert lines[1:3] == ["", "Project local, us-central1, the emulator"]
    assert lines[3] == "error    bucket preflight-none: does not exist (base_output_directory)."
    assert lines[4] == (
        "         gcloud storage buckets create gs://preflight-none --location=us-central1 --project=local"
    )


def test_markdown_is_one_table_for_a_place(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, data_dir: Path, image: str, bucket: str
) -> None:
    _, out = run(capsys, tmp_path, data_dir, job(image, "preflight-none"), "--markdown")

    assert out.startswith("### Preflight of ")
    assert "| Result | Finding | Remedy |" in out
    assert "`gcloud storage buckets create gs://preflight-none" in out


def test_a_job_in_error_is_not_looked_up(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, data_dir: Path
) -> None:
    document = job("gcr.io/p/image:1", "preflight-here", {"machineType": "n1-standard-3"})

    code, out = run(capsys, tmp_path, data_dir, document, "--json")

    assert code == 2
    (error,) = json.loads(out)["errors"]
    assert error["path"].endswith("machine_type")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["job.yaml", "--stack", "dev"], "Give a FILE, or --stack S and --cwd DIR, not both."),
        (["--endpoint", "google"], "--endpoint is for a FILE"),
        (["--project", "p"], "--project is for a FILE"),
        (["--framework", "pytorch"], "--framework is for a FILE: a program has it in its jobs"),
        (["--allow-legacy-types"], "--allow-legacy-types is for a FILE"),
        (["job.yaml", "--json", "--markdown"], "--markdown: not allowed with argument --json"),
        (["none.yaml"], "none.yaml"),
        (["job.yaml", "--timeout", "soon"], "'soon' is not a time"),
    ],
)
def test_mistakes_on_the_command_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["preflight", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err + captured.out


@pytest.mark.parametrize("project", ["a;b", "a/../b", "My-Project", "my-project\x1b[0m"])
def test_a_project_that_cannot_be_one_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, project: str
) -> None:
    file = tmp_path / "job.json"
    file.write_text(json.dumps(job(PREBUILT, "data")))
    assert main(["preflight", str(file), "--endpoint", "google", "--project", project]) == 2
    assert f"{project!r} is not the id of a project of Google Cloud" in capsys.readouterr().err


def finding(level: Any, **more: Any) -> Finding:
    return Finding(check="quota", level=level, about="it", message=f"is {level}", **more)


def test_hostile_text_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    scope = Scope(project="p", location="us-central1", is_emulator=False, subjects=())
    evil = finding("error", resource="@team", path="a|b", remedy="echo `\x1b[31m` | sh")
    report = Report(title="x", places=((scope, (finding("ok"), evil)),))

    view.PreflightAnswer(report=report).show(Output(as_json=False, terminal=False))
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert text.index("is error (@team, a|b)") < text.index("is ok.")
    view.PreflightAnswer(report=report).show(MarkdownOutput(as_json=False, terminal=False))
    assert "@team" not in capsys.readouterr().out


def test_a_terminal_wraps_findings_but_no_commands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    scope = Scope(project="p", location="us-central1", is_emulator=False, subjects=())
    long = finding("error", path="a." * 30, remedy="gcloud " + "word " * 20)
    report = Report(title="x", places=((scope, (long,)),))

    view.PreflightAnswer(report=report).show(Output(as_json=False, terminal=True))

    lines = [re.sub(r"\x1b\[\d*m", "", line) for line in capsys.readouterr().out.splitlines()]
    first = lines.index("error    it: is error")
    assert lines[first + 1].startswith("         (a.a.")
    assert lines[first + 2] == f"         {long.remedy}"


def test_ctrl_c_ends_it_while_a_service_does_not_answer(tmp_path: Path) -> None:
    file, key = tmp_path / "job.json", tmp_path / "key.json"
    file.write_text(json.dumps(job(PREBUILT, "data")))
    key.write_text(
        json.dumps({"type": "authorized_user", "client_id": "a", "client_secret": "b", "refresh_token": "c"})
    )
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        silent.settimeout(TIMEOUT)
        proxy = f"http://127.0.0.1:{silent.getsockname()[1]}"
        process, terminal = command.start_on_terminal(
            ["preflight", str(file), "--endpoint", "google", "--project", "my-project", "--timeout", "600"],
            env={
                **command.environment(tmp_path),
                "GOOGLE_APPLICATION_CREDENTIALS": str(key),
                "HTTPS_PROXY": proxy,
                "https_proxy": proxy,
            },
        )
        connection, _ = silent.accept()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=TIMEOUT) == 130
        connection.close()
    assert "Traceback" not in command.read_until_closed(terminal, timeout=TIMEOUT)


def test_a_stack_that_submits_no_job_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    view.PreflightAnswer(report=Report(title="stack p/dev", places=())).show(
        Output(as_json=False, terminal=False)
    )
    assert capsys.readouterr().out == "Preflight of stack p/dev: it submits no job.\n"


def test_the_pages_list_every_check_and_every_key() -> None:
    guide = (DOCS / "guides" / "cost" / "preflight.md").read_text()
    assert re.findall(r"^\| `([a-z]+)` \|", guide, re.MULTILINE) == list(CHECKS)

    scope = Scope(project="p", location="us-central1", is_emulator=False, subjects=())
    document = Report(title="x", places=((scope, (finding("ok"),)),)).document()
    keys = [*document, *(f"findings[].{key}" for key in document["findings"][0])]
    assert set(keys) <= json_schema.keys("preflight")
    json_schema.check("preflight", document)
    assert list(document["counts"]) == list(LEVELS)
