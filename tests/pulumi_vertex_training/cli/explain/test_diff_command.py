"""`diff`: two files of any form, in words, as a table and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.cli.explain import documents
from pulumi_vertex_training.cli.explain.diff import compare
from pulumi_vertex_training.cli.main import main
from support import properties  # noqa: F401
from support.emulated.command import environment, run, run_on_terminal

IMAGE = "gcr.io/p/i:1"
REDUCTION = "us-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest"
Job = dict[str, Any]


def pool(count: int = 1, machine: str = "n1-standard-4", **task: Any) -> Job:
    return {
        "machineSpec": {"machineType": machine},
        "replicaCount": count,
        "containerSpec": {"imageUri": IMAGE, **task},
    }


def pools(*specs: Job, **more: Any) -> Job:
    return {"workerPoolSpecs": list(specs), **more}


def job(*specs: Job, name: str = "train", **more: Any) -> Job:
    return {"displayName": name, "jobSpec": pools(*specs), **more}


def env_of(**values: str) -> list[Job]:
    return [{"name": name, "value": value} for name, value in values.items()]


ROLES = {"chief": {"replica_count": 1}, "worker": {"replica_count": 4, "machine_type": "n1-standard-8"}}
LEGACY = {
    "trainingInput": {
        "scaleTier": "CUSTOM",
        "masterType": "n1-standard-4",
        "masterConfig": {"imageUri": IMAGE},
        "workerType": "n1-standard-8",
        "workerCount": 4,
    }
}
NAME = "projects/1/locations/{}/customJobs/2"
FIVE = pools(pool(), pool(4, "n1-standard-8"))


class Diff:
    """The command on two documents, in this process."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys

    def __call__(self, old: Any, new: Any, *words: str, code: int = 0) -> tuple[str, str]:
        files = []
        for name, document in (("old.json", old), ("new.json", new)):
            files.append(str(self.folder / name))
            (self.folder / name).write_text(json.dumps(document))
        assert main(["diff", *files, *words]) == code
        captured = self.capsys.readouterr()
        return captured.out.replace(f"{self.folder}/", ""), captured.err.replace(f"{self.folder}/", "")

    def json(self, old: Any, new: Any, *words: str, code: int = 0) -> Any:
        out, err = self(old, new, "--json", *words, code=code)
        assert err == ""
        return json.loads(out.replace(f"{self.folder}/", ""))


@pytest.fixture
def diff(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Diff:
    return Diff(tmp_path, capsys)


SAME: list[tuple[str, Any, Any]] = [
    ("itself", FIVE, FIVE),
    ("spelling of names", FIVE, {"worker_pool_specs": FIVE["workerPoolSpecs"]}),
    ("spelling of numbers", pools(pool()), pools({**pool(), "replicaCount": "1"})),
    ("trailing gaps", pools(pool()), pools(pool(), {}, {"replicaCount": 0})),
    ("the service's defaults", pools(pool()), pools({**pool(), "diskSpec": {"bootDiskSizeGb": 100}})),
    ("what only the service sets", job(pool()), {**job(pool()), "state": "JOB_STATE_RUNNING"}),
    ("pools and the job around them", FIVE, job(*FIVE["workerPoolSpecs"], labels={"a": "b"})),
    ("roles and pools", ROLES, FIVE),
    ("roles and a job", ROLES, job(*FIVE["workerPoolSpecs"])),
    ("roles and a training input", ROLES, LEGACY),
    ("a training input and pools", LEGACY, FIVE),
    ("a training input and a job", LEGACY, job(*FIVE["workerPoolSpecs"])),
]


@pytest.mark.parametrize(("old", "new"), [each[1:] for each in SAME], ids=[each[0] for each in SAME])
def test_no_difference(diff: Diff, old: Any, new: Any) -> None:
    for before, after in ((old, new), (new, old)):
        found = diff.json(before, after, "--exit-code")
        assert (found["effect"], found["pools"], found["fields"]) == ("none", [], [])
        assert diff(before, after)[0].splitlines()[0] == "No differences."


CHANGES: list[tuple[str, Any, Any, str, object, object]] = [
    ("a count", FIVE, pools(pool(), pool(8, "n1-standard-8")), "worker_pool_specs[1].replica_count", 4, 8),
    (
        "a machine",
        pools(pool()),
        pools(pool(1, "n1-standard-8")),
        "worker_pool_specs[0].machine_spec.machine_type",
        "n1-standard-4",
        "n1-standard-8",
    ),
    (
        "arguments",
        pools(pool(args=["a", "b"])),
        pools(pool(args=["a"])),
        "worker_pool_specs[0].container_spec.args",
        ["a", "b"],
        ["a"],
    ),
    (
        "a secret",
        pools(pool(env=env_of(A="old"))),
        pools(pool(env=env_of(A="new"))),
        "worker_pool_specs[0].container_spec.env[A]",
        "(hidden)",
        "(hidden)",
    ),
    ("a label", job(pool(), labels={"a": "x"}), job(pool(), labels={"a": "y"}), "labels.a", "x", "y"),
    (
        "a region",
        {**LEGACY, "trainingInput": {**LEGACY["trainingInput"], "region": "us-central1"}},
        {**job(pool(), pool(4, "n1-standard-8")), "name": NAME.format("europe-west4")},
        "location",
        "us-central1",
        "europe-west4",
    ),
    ("a name", job(pool()), job(pool(), name="other"), "display_name", "train", "other"),
    (
        "a field beside bare pools that have one too",
        pools(pool(), network="projects/1/global/networks/a"),
        pools(pool(), network="projects/1/global/networks/b"),
        "network",
        "projects/1/global/networks/a",
        "projects/1/global/networks/b",
    ),
    (
        "a count, of roles and a job",
        ROLES,
        job(pool(), pool(2, "n1-standard-8")),
        "worker_pool_specs[1].replica_count",
        4,
        2,
    ),
]


@pytest.mark.parametrize(
    ("old", "new", "path", "before", "after"),
    [each[1:] for each in CHANGES],
    ids=[each[0] for each in CHANGES],
)
def test_a_change(diff: Diff, old: Any, new: Any, path: str, before: object, after: object) -> None:
    found = diff.json(old, new)
    changed = [field for each in found["pools"] for field in each["fields"]] + found["fields"]
    assert changed == [{"path": path, "old": before, "new": after}]
    of_next_run = path in ("display_name", "labels.a")
    assert found["effect"] == ("none" if of_next_run else "replace")
    assert found["reasons"]
    diff(old, new, "--exit-code", code=1)


def test_the_keys_of_the_document(diff: Diff) -> None:
    found = diff.json(FIVE, pools(pool(), pool(8, "n1-standard-8"), {}, pool(2)))
    assert {"effect", "reasons", "pools", "fields", "words", "compared", "warnings"} <= set(found)
    assert found["errors"] == []
    assert [(each["index"], each["role"], each["change"]) for each in found["pools"]] == [
        (1, "worker", "resized"),
        (3, "evaluator", "added"),
    ]
    (warning,) = found["warnings"]
    assert warning["path"] == "worker_pool_specs[3].replica_count"
    assert warning["file"] == "new.json"


COMPARED: list[tuple[str, Any, Any, bool, bool]] = [
    ("two jobs", job(pool()), job(pool()), True, True),
    ("two lists of pools", FIVE, FIVE, True, True),
    ("pools and a job", FIVE, job(*FIVE["workerPoolSpecs"]), True, False),
    ("roles and pools", ROLES, FIVE, False, True),
    ("roles and a job", ROLES, job(pool()), False, False),
    ("roles and roles", ROLES, ROLES, True, True),
]


@pytest.mark.parametrize(
    ("old", "new", "tasks", "job_fields"), [each[1:] for each in COMPARED], ids=[each[0] for each in COMPARED]
)
def test_what_is_compared(diff: Diff, old: Any, new: Any, tasks: bool, job_fields: bool) -> None:
    assert diff.json(old, new)["compared"] == {"tasks": tasks, "jobFields": job_fields, "unsaid": []}
    out, _ = diff(old, new)
    assert ("Tasks are not compared: one of the two files has none." in out) is not tasks
    assert ("Only worker pools are compared: one of the two files has nothing else." in out) is not job_fields


def test_reduction_servers_by_role_and_by_image_are_the_same(diff: Diff) -> None:
    by_role = {**ROLES, "reduction_servers": {"replica_count": 2, "machine_type": "n1-highcpu-16"}}
    by_image = job(*FIVE["workerPoolSpecs"], pool(2, "n1-highcpu-16", imageUri=REDUCTION))
    assert diff.json(by_role, by_image)["effect"] == "none"


def test_the_page_in_a_pipe(diff: Diff) -> None:
    old = pools(pool(args=["a=1", "b"]), pool(4, "n1-standard-8"))
    new = pools(pool(args=["a=2", "b"]), pool(8, "n1-standard-8"))
    out, err = diff(old, new)
    assert err == ""
    assert out == (
        "replace: 2 of 2 pools differ\n"
        "Because worker pools cannot change once a job exists.\n"
        "\n"
        "POOL       FIELD                OLD      NEW\n"
        "0 chief    container_spec.args  a=1 ...  a=2 ...\n"
        "1 workers  replica_count        4        8\n"
    )


def test_a_region_in_words(diff: Diff) -> None:
    old, new = ({**job(pool()), "name": NAME.format(region)} for region in ("us-central1", "europe-west4"))
    because = "because a job runs in the region it was created in"
    found = diff.json(old, new)
    assert found["words"] == f"location: us-central1 -> europe-west4; the job is replaced, {because}"
    lines = diff(old, new)[0].splitlines()
    assert "job   location  us-central1  europe-west4" in lines
    assert lines[:2] == ["replace: 1 field differs", f"{because.capitalize()}."]
    assert diff.json(old, job(pool()))["fields"] == []


@pytest.mark.parametrize(
    "old",
    [pools(pool(2)), pools(pool(1, "n1-standard-5")), {"workerPoolSpecs": []}],
    ids=["count", "name", "none"],
)
def test_a_repair_of_what_broke_a_rule_can_be_seen(diff: Diff, old: Job) -> None:
    found = diff.json(old, pools(pool()))
    assert (found["effect"], found["errors"]) == ("replace", [])
    (warning,) = found["warnings"]
    assert (warning["file"], bool(warning["rule"])) == ("old.json", True)
    _, err = diff(old, pools(pool()))
    assert err.startswith("old.json has 1 error. It is compared anyway, because it is the old version.")


@pytest.mark.parametrize(
    "old",
    [
        pools(pool("x")),
        {"chief": {"disk_spec": {}, "boot_disk_type": "pd-ssd"}},
        pools(*[pool()] * 5),
        {"trainingInput": {"scaleTier": "HUGE"}},
        {"a": 1},
    ],
    ids=["no number", "flat and not", "five pools", "an unknown tier", "no job"],
)
def test_an_old_one_that_leaves_doubt_is_refused(diff: Diff, old: Job) -> None:
    assert diff.json(old, pools(pool()), code=2)["errors"]


def test_warnings_are_a_note(diff: Diff) -> None:
    _, err = diff(FIVE, pools(pool(), {}, {}, pool(2)))
    assert err == "new.json has 1 warning; `vertex-training explain` shows them.\n"


def test_errors_of_both_files(diff: Diff) -> None:
    old = pools(pool("x"))
    out, err = diff(old, pools(pool(1, "n1-standard-5")), code=2)
    assert out == ""
    first, second = err.splitlines()
    assert first.startswith("error: old.json: worker_pool_specs[0].replica_count: expected")
    assert second.startswith(
        "error: new.json: worker_pool_specs[0].machine_spec.machine_type: 'n1-standard-5'"
    )
    found = diff.json(old, pools(pool(1, "n1-standard-5")), code=2)
    assert found["effect"] is found["words"] is found["compared"] is None
    assert set(found) == set(diff.json(FIVE, FIVE))
    assert [(each["file"], each["path"]) for each in found["errors"]] == [
        ("old.json", "worker_pool_specs[0].replica_count"),
        ("new.json", "worker_pool_specs[0].machine_spec.machine_type"),
    ]


def test_switches_are_those_of_explain(diff: Diff) -> None:
    old, new = pools(pool(1, "n9-standard-4")), pools(pool(1, "n9-standard-8"))
    diff(old, new, code=2)
    assert diff.json(old, new, "--allow-unknown-types")["effect"] == "replace"
    diff(FIVE, FIVE, "--framework", "ParameterServerStrategy", code=2)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    env = environment(tmp_path)
    (tmp_path / "bad.yaml").write_text("a: 1\na: 2")
    ended = run("diff", str(tmp_path / "bad.yaml"), str(tmp_path / "missing"), env=env)
    assert (ended.code, ended.out) == (2, "")
    first, second = ended.err.replace(f"{tmp_path}/", "").splitlines()
    assert first == "error: bad.yaml, line 2, column 1: the key 'a' is given twice in one mapping; keep one."
    assert second == "error: missing: the file does not exist; `-` reads standard input."
    both = run("diff", "-", "-", env=env, stdin="{}")
    assert (both.code, both.out) == (2, "")
    assert both.err == "error: Only one of OLD and NEW can be standard input. Give a file for the other.\n"
    found = run("diff", "-", str(tmp_path / "missing"), "--json", env=env, stdin="[]").json["errors"]
    assert [(each["file"], each["path"]) for each in found] == [
        ("standard input", ""),
        (str(tmp_path / "missing"), "NEW"),
    ]


def test_a_terminal_has_old_in_red_and_new_in_green(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text(json.dumps(FIVE))
    (tmp_path / "new.json").write_text(json.dumps(pools(pool(), pool(8, "n1-standard-8"))))
    env = environment(tmp_path)
    ended = run_on_terminal("diff", str(tmp_path / "old.json"), str(tmp_path / "new.json"), env=env)
    assert ended.code == 0
    assert "\x1b[31m4" in ended.out and "\x1b[32m8" in ended.out
    assert "1 workers" in ended.plain


COUNTS = st.integers(1, 3)
DECLARED = st.builds(
    lambda workers, machine, args, name: {
        **({"displayName": name} if name else {}),
        **(
            {"jobSpec": pools(pool(args=args), pool(workers, machine))}
            if name
            else pools(pool(args=args), pool(workers, machine))
        ),
    },
    COUNTS,
    st.sampled_from(["n1-standard-4", "n1-standard-8"]),
    st.lists(st.sampled_from(["a", "b"]), max_size=2),
    st.sampled_from(["", "one", "two"]),
) | st.builds(lambda n: {"chief": {"replica_count": 1}, "worker": {"replica_count": n}}, COUNTS)


@given(old=DECLARED, new=DECLARED)
def test_a_comparison_and_its_mirror_image(old: Job, new: Job) -> None:
    first, second = documents.read_document(old), documents.read_document(new)
    there, back = compare(first, second), compare(second, first)
    assert (there.tasks, there.job_fields) == (back.tasks, back.job_fields)
    assert there.difference.paths == back.difference.paths
    values = [(each.old, each.new) for each in (*there.difference.pool_fields, *there.difference.fields)]
    mirrored = [(each.new, each.old) for each in (*back.difference.pool_fields, *back.difference.fields)]
    assert values == mirrored
    assert not compare(first, first).difference.paths
