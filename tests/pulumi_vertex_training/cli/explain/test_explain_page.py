"""`explain` for people: in a pipe, on a terminal, and one replica's variables for a shell."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.emulated.command import Ended, environment, run, run_on_terminal

IMAGE = "gcr.io/p/i:1"
JOB = """
displayName: train
labels: {team: vision}
jobSpec:
  workerPoolSpecs:
  - machineSpec: {machineType: n1-standard-8, acceleratorType: NVIDIA_TESLA_T4, acceleratorCount: 2}
    replicaCount: 1
    containerSpec: &task
      imageUri: gcr.io/p/i:1
      args: [--name=a b, --epochs=3]
      env: [{name: MODE, value: fast}]
  - machineSpec: {machineType: n1-standard-8, acceleratorType: NVIDIA_TESLA_T4, acceleratorCount: 2}
    replicaCount: 2
    containerSpec: *task
  - {}
  - machineSpec: {machineType: n1-standard-4}
    replicaCount: 1
    containerSpec: {imageUri: gcr.io/p/eval}
"""
PAGE = """\
A distributed job of 4 replicas: chief 1 x n1-standard-8 with 2 x NVIDIA_TESLA_T4, workers 2 x n1-standard-8 \
with 2 x NVIDIA_TESLA_T4 each, evaluator 1 x n1-standard-4.

#  ROLE       MACHINES                           ACCELERATORS         BOOT DISK
0  chief      1 x n1-standard-8 (8 vCPU, 30 GB)  2 x NVIDIA_TESLA_T4  pd-ssd 100 GB
1  workers    2 x n1-standard-8 (8 vCPU, 30 GB)  2 x NVIDIA_TESLA_T4  pd-ssd 100 GB
3  evaluator  1 x n1-standard-4 (4 vCPU, 15 GB)                       pd-ssd 100 GB

Chief and workers run
  container  gcr.io/p/i:1
  arguments  '--name=a b' --epochs=3
  variables  MODE

Evaluator runs
  container  gcr.io/p/eval

The job
  display_name  train
  labels.team   vision

Cost in us-central1
  $4.05 an hour, at most $680.67 until the default timeout of 7 d.
  Chief $1.27, workers $2.54, evaluator $0.25.
  No region is given; `--location` chooses one.
  Each part, and the sources of the prices: `--cost`.

What the replicas see
  With sample values: job 1234567890123456789, project number 123456789012, us-central1.
  CLUSTER_SPEC workerpool0  cmle-training-workerpool0-22085aa929-0:2222
  CLUSTER_SPEC workerpool1  cmle-training-workerpool1-22085aa929-{0..1}:2222
  CLUSTER_SPEC workerpool3  cmle-training-workerpool3-22085aa929-0:2222
  TF_CONFIG cluster         chief and worker, at the same addresses
  CLOUD_ML_PROJECT_ID       123456789012
  CLOUD_ML_JOB_ID           1234567890123456789
  CLOUD_ML_REGION           us-central1
  MASTER_ADDR               cmle-training-workerpool0-22085aa929-0  (chief and workers)
  MASTER_PORT               2222  (chief and workers)
  WORLD_SIZE                3  (chief and workers)
  MODE                      fast  (chief and workers)

  REPLICA        TF_CONFIG    HOSTNAME                                RANK
  workerpool0-0  chief 0      cmle-training-workerpool0-22085aa929-0  0
  workerpool1-0  worker 0     cmle-training-workerpool1-22085aa929-0  1
  workerpool1-1  worker 1     cmle-training-workerpool1-22085aa929-1  2
  workerpool3-0  evaluator 0  cmle-training-workerpool3-22085aa929-0

Also set by the emulator
  VERTEX_CLUSTER_LOCAL_DEVICES  2  (chief and workers)
  XLA_FLAGS                     --xla_force_host_platform_device_count=2  (chief and workers)
"""


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return environment(tmp_path)


def pools(*specs: dict[str, Any]) -> str:
    return json.dumps({"workerPoolSpecs": list(specs)})


def pool(count: int = 1, machine: str = "n1-standard-4", **more: Any) -> dict[str, Any]:
    spec = {"imageUri": IMAGE, **more}
    return {"machineSpec": {"machineType": machine}, "replicaCount": count, "containerSpec": spec}


def explained(env: dict[str, str], text: str, *words: str) -> Ended:
    return run("explain", "-", *words, env=env, stdin=text)


def test_the_page_in_a_pipe(env: dict[str, str]) -> None:
    ended = explained(env, JOB)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == PAGE


def test_findings_in_a_pipe_are_a_line_each(env: dict[str, str]) -> None:
    ended = explained(env, pools(pool(2, "n1-standard-4x"), pool(), {}, pool(2)))
    assert (ended.code, ended.err) == (2, "")
    lines = ended.out.splitlines()
    assert "2 errors and 1 warning" in lines
    findings = [line for line in lines if line.startswith(("error: ", "warning: "))]
    assert [line.split(": ")[:2] for line in findings] == [
        ["error", "worker_pool_specs[0].replica_count"],
        ["error", "worker_pool_specs[0].machine_spec.machine_type"],
        ["warning", "worker_pool_specs[3].replica_count"],
    ]
    assert findings[0].endswith('(Vertex AI documentation, "Distributed training")')
    assert "did you mean n1-standard-4" in findings[1]
    assert "What the replicas see" not in lines


def test_a_terminal_has_colour_and_its_width(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB.replace("n1-standard-4", "n1-standard-5"))
    ended = run_on_terminal("explain", str(tmp_path / "job.yaml"), env=env)
    assert ended.code == 2
    assert "\x1b[31merror\x1b[0m \x1b[1mworker_pool_specs[3].machine_spec.machine_type\x1b[0m\n" in ended.out
    assert "\x1b[1mThe job\x1b[0m" in ended.out
    assert "8 vCPU, 30 GB" in ended.plain and "(8 vCPU" not in ended.plain
    assert max(map(len, ended.plain.splitlines()[:-1])) <= 120
    plain = run_on_terminal("explain", str(tmp_path / "job.yaml"), env={**env, "NO_COLOR": "1"})
    assert "\x1b" not in plain.out


def test_a_warning_is_yellow(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text(pools(pool(), {}, {}, pool(2)))
    ended = run_on_terminal("explain", str(tmp_path / "job.json"), env=env)
    assert (ended.code, "\x1b[33mwarning\x1b[0m" in ended.out) == (0, True)


HEADINGS: list[tuple[str, str]] = [
    (pools(pool()), "A job of one replica: chief 1 x n1-standard-4."),
    (
        pools(pool(), pool(3)),
        "A distributed job of 4 replicas: chief 1 x n1-standard-4, workers 3 x n1-standard-4.",
    ),
    (pools(), "A job without replicas."),
    ("[]", "This is not a job."),
    (
        "chief: {replica_count: 1}",
        "A job of one replica: chief 1 x n1-standard-4. It has no tasks, so they are not checked.",
    ),
    (
        '{"trainingInput": {"scaleTier": "CUSTOM", "masterType": "n1-standard-4", "region": "us-central1", '
        '"masterConfig": {"imageUri": "gcr.io/p/i"}}}',
        "A training input of AI Platform; on Vertex AI a job of one replica: chief 1 x n1-standard-4.",
    ),
]


@pytest.mark.parametrize(("text", "heading"), HEADINGS, ids=[heading for _, heading in HEADINGS])
def test_the_heading(env: dict[str, str], text: str, heading: str) -> None:
    assert explained(env, text).out.splitlines()[0] == heading


def test_many_replicas_are_the_first_and_the_last(env: dict[str, str]) -> None:
    out = explained(env, pools(pool(), pool(500))).out
    shown = [line.split()[0] for line in out.splitlines() if line.startswith(("  workerpool", "  ..."))]
    assert shown == [
        "workerpool0-0",
        *(f"workerpool1-{i}" for i in range(4)),
        "...",
        "workerpool1-499",
    ]
    assert "workerpool1-22085aa929-{0..499}:2222" in out


def test_many_findings_are_cut(env: dict[str, str]) -> None:
    variables = [{"name": "1", "value": "x"} for _ in range(150)]
    out = explained(env, pools(pool(env=variables))).out
    assert out.count("error: ") == 101  # a document with more than 100 problems has one that says so
    assert "... and 50 more; --json prints all" in out


def test_a_file_cannot_draw_on_the_terminal(env: dict[str, str]) -> None:
    text = pools(
        pool(machine="n1\x1b[31m", args=["\x1b]0;title\x07"], env=[{"name": "A", "value": "\x1b[2J"}])
    )
    for words in ((), ("--replica", "workerpool0-0")):
        ended = explained(env, text, *words)
        assert "\x1b" not in ended.out + ended.err
        assert "\x07" not in ended.out + ended.err


def test_reduction_servers_have_their_arithmetic(env: dict[str, str]) -> None:
    big = {
        "machineSpec": {
            "machineType": "n1-highmem-96",
            "acceleratorType": "NVIDIA_TESLA_V100",
            "acceleratorCount": 8,
        },
        "containerSpec": {"imageUri": IMAGE},
    }
    out = explained(
        env, pools({**big, "replicaCount": 1}, {**big, "replicaCount": 4}, {"replicaCount": "auto"})
    ).out
    assert "\nReduction servers\n" in out
    assert "16 reduction servers have 512 Gbps, enough for 500; 15 would have 480." in out


def test_settings_of_a_framework(env: dict[str, str]) -> None:
    ended = explained(env, pools(pool(), pool(2)), "--framework", "jax")
    assert ended.code == 0
    section = ended.out.partition("Settings of jax, as arguments\n")[2].splitlines()
    assert section[0] == "  coordinator_address  cmle-training-workerpool0-22085aa929-0:2222"
    assert section[4].split() == ["workerpool0-0", "0"]


def test_one_replica_can_be_pasted_into_a_shell(env: dict[str, str]) -> None:
    awkward = 'it\'s "a" $HOME `x` \\ \x1b[1m\té\nnext'
    text = pools(pool(), pool(2, env=[{"name": "AWKWARD", "value": awkward}]))
    ended = explained(env, text, "--replica", "workerpool1-1")
    assert (ended.code, ended.err) == (0, "")
    show = f"{shlex.quote(sys.executable)} -c 'import json, os; print(json.dumps(dict(os.environ)))'"
    done = subprocess.run(
        ["bash", "-c", f"set -a\n{ended.out}\nexec {show}"],
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["AWKWARD"] == awkward
    assert found["RANK"] == "2"
    assert json.loads(found["CLUSTER_SPEC"])["task"] == {"type": "workerpool1", "index": 1}
    assert json.loads(found["TF_CONFIG"])["task"]["index"] == 1


def test_one_replica_of_a_job_with_errors(env: dict[str, str]) -> None:
    ended = explained(env, pools(pool(machine="n1-standard-5")), "--replica", "workerpool0-0")
    assert ended.code == 2
    assert ended.err.startswith("error: worker_pool_specs[0].machine_spec.machine_type: 'n1-standard-5'")
    assert "HOSTNAME=cmle-training-workerpool0-" in ended.out


MISTAKES: list[tuple[str, list[str], list[str]]] = [
    (
        "a replica that is not there",
        ["--replica", "workerpool0-7"],
        ["no replica 'workerpool0-7'", "workerpool0 has one replica, 0."],
    ),
    (
        "a framework that nobody knows",
        ["--framework", "pytroch"],
        [
            "--framework: 'pytroch' is not a known framework",
            "Did you mean 'pytorch'?",
            "Frameworks: tensorflow, pytorch",
            "Strategies of TensorFlow: MirroredStrategy, MultiWorkerMirroredStrategy",
        ],
    ),
    ("no framework", ["--framework", ""], ["--framework: the name is empty. Frameworks: tensorflow"]),
    (
        "a replica of another spelling",
        ["--replica", "worker"],
        ["no replica 'worker'", "Replicas: workerpool0-0."],
    ),
    ("a contract that nobody knows", ["--contract", "real"], ["--contract", "'real'", "observed"]),
    (
        "a trial of zero",
        ["--trial", "0"],
        ["--trial", "'0' is not a trial; give a whole number of 1 or more"],
    ),
    ("a trial of words", ["--trial", "one"], ["--trial", "'one' is not a trial"]),
    ("an unknown switch", ["--replicas", "x"], ["'--replicas x'", "Did you mean '--replica'?"]),
]


@pytest.mark.parametrize(("words", "said"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES])
def test_a_mistake_is_one_line(env: dict[str, str], words: list[str], said: list[str]) -> None:
    ended = explained(env, pools(pool()), *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: ") and ended.err.count("\n") == 1
    for each in said:
        assert each in ended.err
    as_json = explained(env, pools(pool()), *words, "--json")
    assert (as_json.code, as_json.err) == (2, "")
    assert as_json.json["errors"][0]["path"] == words[0]


def test_a_file_is_not_there(env: dict[str, str]) -> None:
    ended = run("explain", "missing.yaml", env=env)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "error: missing.yaml: the file does not exist; `-` reads standard input.\n"
    word = run("explain", "train", env=env)
    assert (word.code, word.out) == (2, "")
    assert word.err.endswith(". If it is a job, run `vertex-training status train`.\n")


@pytest.mark.parametrize(
    "words", [["explain", "FILE"], ["explain", "FILE", "--json"], ["diff", "FILE", "FILE"]], ids=" ".join
)
def test_nothing_heavy_is_loaded(tmp_path: Path, words: list[str]) -> None:
    """Neither Pulumi nor Google's packages, no YAML for JSON, and rich on a terminal only."""
    (tmp_path / "job.json").write_text(pools(pool(), pool(2)))
    words = [str(tmp_path / "job.json") if word == "FILE" else word for word in words]
    code = (
        "import io, sys, contextlib\n"
        "from pulumi_vertex_training.cli.main import main\n"
        f"with contextlib.redirect_stdout(io.StringIO()): code = main({words!r})\n"
        "heavy = 'pulumi google.auth google.protobuf grpc requests rich yaml sqlite3'.split()\n"
        "print(code, [name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "0 []\n", done.stderr


def test_a_number_past_the_last_replica(env: dict[str, str]) -> None:
    ended = explained(env, pools(pool(), pool(3)), "--replica", "workerpool1-3")
    assert ended.err == "error: The job has no replica 'workerpool1-3': workerpool1 has replicas 0 to 2.\n"


def test_the_hint_keeps_the_switches(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "my job.json").write_text(pools(pool()))
    words = ["--trial", "2", "--location", "us-central1", "--contract", "documented", "--framework", "jax"]
    words += ["--allow-unknown-types", "--allow-legacy-types"]
    out = run("explain", str(tmp_path / "my job.json"), *words, env=env).out
    hint = out.splitlines()[-1].removeprefix("All of one replica: ")
    again = shlex.split(hint)
    assert set(words) < set(again)
    assert again[-2:] == ["--replica", "workerpool0-0"]
    assert run(*again[1:], env=env).code == 0


def test_errors_come_first_and_there_is_no_environment(env: dict[str, str]) -> None:
    text = pools(pool(machine="n1-standard-5"), pool(2))
    out = explained(env, text).out
    assert out.splitlines()[3].startswith("error: worker_pool_specs[0].machine_spec.machine_type")
    assert "What the replicas see" not in out
    assert len(explained(env, text, "--json").json["replicas"]) == 3


def test_remedies_name_the_flags(env: dict[str, str]) -> None:
    for words in ((), ("--json",)):
        out = explained(env, pools(pool(machine="n9-standard-4")), *words).out
        assert "pass --allow-unknown-types" in out
        assert "allow_unknown_types" not in out


def test_what_the_user_wrote_is_not_translated(env: dict[str, str]) -> None:
    assert "'allow_unknown_types'" in explained(env, "{chief: 1, allow_unknown_types: true}").out


@pytest.mark.parametrize(
    ("framework", "line"),
    [
        pytest.param("mxnet", "DMLC_WORKER_ID=1", id="variables"),
        pytest.param("jax", "# process_id=2", id="arguments are comments"),
    ],
)
def test_settings_of_one_replica(env: dict[str, str], framework: str, line: str) -> None:
    text = pools(pool(), pool(2), pool())
    out = explained(env, text, "--framework", framework, "--replica", "workerpool1-1").out
    assert line in out.splitlines()


def test_settings_that_are_variables_already_are_not_repeated(env: dict[str, str]) -> None:
    words = ["--replica", "workerpool1-1"]
    plain = explained(env, pools(pool(), pool(2)), *words).out
    assert explained(env, pools(pool(), pool(2)), "--framework", "pytorch", *words).out == plain


SLICES: list[tuple[str, dict[str, Any], str]] = [
    ("v5e", {"machineType": "ct5lp-hightpu-4t", "tpuTopology": "4x4"}, "1 replica on 4 machines (TPU 4x4, "),
    (
        "v3 pod",
        {"machineType": "cloud-tpu", "acceleratorType": "TPU_V3", "acceleratorCount": 32},
        "1 replica on 4 machines (32 x TPU_V3, ",
    ),
]


@pytest.mark.parametrize(("machine", "said"), [s[1:] for s in SLICES], ids=[s[0] for s in SLICES])
def test_a_slice_of_several_machines(env: dict[str, str], machine: dict[str, Any], said: str) -> None:
    text = pools({**json.loads(pools(pool()))["workerPoolSpecs"][0], "machineSpec": machine})
    ended = explained(env, text, "--framework", "jax")
    assert said in ended.out.splitlines()[0]
    assert "the environments of the others are not known" in ended.out
    assert "num_processes" not in ended.out
    assert "warning: framework: each replica of worker pool 0 is a TPU slice of 4 machines" in ended.out
    one = explained(env, text, "--framework", "jax", "--replica", "workerpool0-0")
    assert "num_processes" not in one.out
    assert "the environments of the others are not known" in one.err
    (replica,) = explained(env, text, "--framework", "jax", "--json").json["replicas"]
    assert (replica["machines"], "frameworkSettings" in replica) == (4, False)


def test_a_slice_of_one_machine_is_one(env: dict[str, str]) -> None:
    machine = {"machineType": "ct5lp-hightpu-4t", "tpuTopology": "2x2"}
    text = pools({**json.loads(pools(pool()))["workerPoolSpecs"][0], "machineSpec": machine})
    out = explained(env, text, "--framework", "jax").out
    assert "chief 1 x ct5lp-hightpu-4t with TPU 2x2" in out
    assert "num_processes" in out
