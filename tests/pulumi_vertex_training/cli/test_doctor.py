"""The command `doctor`: its findings about made-up machines and about this one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pulumi_vertex_training.cli.doctor.command import (
    LITTLE_SPACE,
    NO_SPACE,
    Machine,
    findings,
    inspect_machine,
)
from support.emulated.command import environment, run
from support.tables import every_row
from vertex_emulator.client import extras
from vertex_training.timeouts import VARIABLE

GOOD = Machine(
    python=(3, 11, 7),
    executable="/usr/bin/python3",
    pulumi="/usr/bin/pulumi",
    pulumi_version=(3, 216, 0),
    missing_plugins=(),
    damages=(),
    interrupted=(),
    missing_packages=(),
    installer="pip",
    missing_extras=(),
    data_dir=Path("/data"),
    data_dir_problem=None,
    free_bytes=LITTLE_SPACE,
    disk="2.0 GiB of 9.0 GiB free on /data",
    sandbox_reason=None,
    emulator="http://127.0.0.1:8765",
    emulator_problem=None,
    address_given=None,
    container_tools=("docker",),
    credentials="/home/me/adc.json",
    credentials_problem=None,
)


def test_a_machine_that_has_everything() -> None:
    assert {finding.level for finding in findings(GOOD)} == {"ok"}


def test_the_space_of_unpacked_images_is_shown(tmp_path: Path) -> None:
    assert "unpacked" not in findings(GOOD)[2].message
    root = tmp_path / "images/key/root"
    root.mkdir(parents=True)
    (root.parent / "image.json").write_text('{"entries": 2, "size": 3000000, "passedOver": 0, "layers": []}')
    machine = inspect_machine(tmp_path, {})
    (shown,) = [each.message for each in findings(machine) if each.about == "Data folder"]
    assert "; unpacked layers of images take 3 MiB of at most 20.0 GiB, 0 of 1 in use" in shown


def test_what_is_in_order_has_no_remedy() -> None:
    assert {finding.remedy for finding in findings(GOOD)} == {""}


@every_row(
    ("changed", "about", "level", "words"),
    [
        pytest.param(
            {"python": (3, 9, 1)}, "Python", "error", "3.9.1 at /usr/bin/python3 is too old", id="old"
        ),
        pytest.param({"pulumi": None}, "Pulumi CLI", "error", "not found on PATH", id="no Pulumi"),
        pytest.param(
            {"pulumi_version": (3, 215, 9)}, "Pulumi CLI", "error", "older than 3.216", id="old Pulumi"
        ),
        pytest.param({"pulumi_version": None}, "Pulumi CLI", "error", "does not print", id="broken Pulumi"),
        pytest.param(
            {"missing_plugins": ("pulumi-language-python",)},
            "Pulumi CLI",
            "error",
            "pulumi-language-python not found",
            id="Pulumi without Python",
        ),
        pytest.param(
            {"installer": None},
            "Packages of jobs",
            "error",
            "neither pip nor ensurepip",
            id="nothing that installs packages",
        ),
        pytest.param(
            {"data_dir_problem": "/data is a file"},
            "Data folder",
            "error",
            "/data is a file",
            id="a folder that cannot be used",
        ),
        pytest.param(
            {"free_bytes": LITTLE_SPACE - 1}, "Data folder", "warning", "GiB free", id="little space"
        ),
        pytest.param(
            {"free_bytes": NO_SPACE - 1}, "Data folder", "error", "disk is full: 2.0 GiB", id="a full disk"
        ),
        pytest.param(
            {"emulator": None, "emulator_problem": "it is silent"},
            "Emulator",
            "error",
            "silent",
            id="an emulator that does not answer",
        ),
        pytest.param(
            {"address_given": "http://127.0.0.1:1"},
            "Emulator",
            "warning",
            "the emulator runs at",
            id="a shell that points to another emulator",
        ),
        pytest.param(
            {"address_given": "http://127.0.0.1:1", "emulator": None},
            "Emulator",
            "warning",
            "no emulator is running",
            id="a shell that points to a stopped emulator",
        ),
        pytest.param(
            {"sandbox_reason": "no namespaces"}, "Replicas", "warning", "without /gcs", id="no sandbox"
        ),
        pytest.param(
            {"missing_packages": ("pulumi",)}, "Package pulumi", "error", "not installed", id="no SDK"
        ),
        pytest.param(
            {"missing_packages": ("cloudml-hypertune",)},
            "Package cloudml-hypertune",
            "note",
            "tuning jobs",
            id="no hypertune",
        ),
        pytest.param(
            {"missing_extras": (extras.TUNING,)}, "Extra tuning", "note", "Bayesian search", id="no search"
        ),
        pytest.param(
            {"missing_extras": (extras.UI,)}, "Extra ui", "note", "The dashboard needs it", id="no dashboard"
        ),
        pytest.param({"container_tools": ()}, "Container tools", "note", "RUN", id="no container tool"),
        pytest.param({"credentials": None}, "Google credentials", "note", "not found", id="no credentials"),
        pytest.param(
            {"credentials_problem": "it is torn"},
            "Google credentials",
            "warning",
            "torn",
            id="credentials that cannot be read",
        ),
    ],
)
def test_one_thing_that_is_not_in_order(
    changed: dict[str, object], about: str, level: str, words: str
) -> None:
    (finding,) = [one for one in findings(replace(GOOD, **changed)) if one.level != "ok"]  # type: ignore[arg-type]
    assert (finding.about, finding.level) == (about, level)
    assert words in finding.message
    assert finding.remedy.endswith(".")


def test_an_emulator_that_does_not_run_is_in_order() -> None:
    stopped = findings(replace(GOOD, emulator=None))
    assert [one.message for one in stopped if one.about == "Emulator"] == [
        "not running; a deployment starts it"
    ]


def test_a_missing_package_is_installed_for_this_python_and_no_other() -> None:
    found = findings(replace(GOOD, missing_packages=("cloudml-hypertune",)))
    (remedy,) = (one.remedy for one in found if one.remedy)
    assert "`/usr/bin/python3 -m pip install cloudml-hypertune`" in remedy


def test_looking_makes_no_folder(tmp_path: Path) -> None:
    found = inspect_machine(tmp_path / "deep" / "data", {})
    assert (found.data_dir_problem, found.emulator) == (None, None)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_data_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert (
        inspect_machine(tmp_path / "file", {}).data_dir_problem
        == f"{tmp_path / 'file'} is not a writable folder"
    )


def test_credentials_that_do_not_exist(tmp_path: Path) -> None:
    named = {"GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path / "key.json")}
    assert "which does not exist" in (inspect_machine(tmp_path, named).credentials_problem or "")


def test_the_command_without_pulumi(tmp_path: Path) -> None:
    bare = {**environment(tmp_path), "PATH": "/usr/bin:/bin"}
    ended = run("doctor", env=bare)
    assert (ended.code, ended.err) == (1, "")
    assert "error    Pulumi CLI: not found on PATH." in ended.out.splitlines()


def test_the_command_as_json(tmp_path: Path) -> None:
    bare = {**environment(tmp_path), "PATH": "/usr/bin:/bin"}
    found = {one["about"]: one["level"] for one in run("doctor", "--json", env=bare).json["findings"]}
    assert (found["Python"], found["Pulumi CLI"], found["Google credentials"]) == ("ok", "error", "note")


def test_it_repairs_the_state_files_of_a_killed_pulumi(tmp_path: Path) -> None:
    stacks = tmp_path / "100%" / ".pulumi" / "stacks" / "digits"
    stacks.mkdir(parents=True)
    (stacks / "prod.json").write_text('{"checkpoint": {"latest": {"pending_operations": [{}, {}]}}}')
    for name in ("prod.json.attrs", "locked.json", "locked.json.attrs"):
        (stacks / name).touch()
    lock = stacks.parents[1] / "locks" / "organization" / "digits" / "locked" / "1.json"
    lock.parent.mkdir(parents=True)
    lock.touch()
    env = {**environment(tmp_path), "PULUMI_BACKEND_URL": f"file://{tmp_path}/100%25?metadata=skip"}
    found = [
        one for one in run("doctor", "--json", env=env).json["findings"] if one["about"] == "Pulumi state"
    ]
    assert [one["level"] for one in found] == ["error", "note"]
    assert f"{stacks}/prod.json.attrs has no content" in found[0]["message"]
    assert found[0]["remedy"] == "Run `vertex-training doctor --repair`."
    assert found[1]["message"] == "stack organization/digits/prod records 2 interrupted operations"
    repaired = run("doctor", "--repair", env=env).out
    assert f"Repaired: {stacks}/prod.json.attrs has no content." in repaired.splitlines()
    assert sorted(path.name for path in stacks.iterdir()) == ["locked.json", "locked.json.attrs", "prod.json"]


def test_the_scale_of_timeouts_is_shown_and_a_wrong_one_is_refused(tmp_path: Path) -> None:
    wrong = run("doctor", "--json", "--data-dir", str(tmp_path), env=environment(tmp_path, **{VARIABLE: "0"}))
    assert wrong.code == 1
    finding = next(each for each in wrong.json["findings"] if each["about"] == "Timeouts")
    assert finding["level"] == "error"
    assert finding["message"] == f"{VARIABLE} is '0', but must be a number from 1 to 100"
    assert finding["remedy"] == "Set it to 3 on a slow machine, or unset it."
    (shown,) = [each for each in findings(replace(GOOD, timeout_scale=3.0)) if each.about == "Timeouts"]
    assert (shown.level, shown.message[:19]) == ("note", "3 times the usual o")


@every_row(
    ("python", "words"),
    [
        ("/nope", "/nope cannot be run: No such file or directory"),
        ("/etc", "/etc cannot be run: Permission denied"),
    ],
    ids=["missing", "folder"],
)
def test_a_python_of_the_emulator_that_cannot_be_run_is_a_finding(
    tmp_path: Path, python: str, words: str
) -> None:
    ended = run("doctor", "--json", env=environment(tmp_path, VERTEX_TRAINING_EMULATOR_PYTHON=python))
    assert ended.code == 1
    found = {one["about"]: one for one in ended.json["findings"]}
    assert found["Python of the emulator"] == {
        "about": "Python of the emulator",
        "level": "error",
        "message": words,
        "remedy": "Set VERTEX_TRAINING_EMULATOR_PYTHON to a Python that has this package, or unset it.",
    }
    assert "Replicas" not in found


@every_row(
    ("name", "hint"),
    [
        ("VERTEX_TRAINING_DATA_DIRR", "Did you mean VERTEX_TRAINING_DATA_DIR? "),
        ("VERTEX_TRAINING_ENDPONT", "Did you mean vertex-training:endpoint? "),
        ("VERTEX_TRAINING_MAX_HOURLY_COSTS", "Did you mean vertex-training:maxHourlyCost? "),
        ("VERTEX_TRAINING_XYZZY", ""),
    ],
)
def test_an_unknown_variable_is_a_finding(tmp_path: Path, name: str, hint: str) -> None:
    known = {"VERTEX_TRAINING_RUN_EVENT": "failed", "VERTEX_TRAINING_DEBUG": "1", "VERTEX_OTHER": "1"}
    machine = inspect_machine(tmp_path, {name: "secret", **known})
    (shown,) = [each for each in findings(machine) if each.about == "Environment"]
    assert (shown.level, shown.message) == ("warning", f"{name} has no effect")
    assert shown.remedy == f"{hint}Correct the name, or unset it."
