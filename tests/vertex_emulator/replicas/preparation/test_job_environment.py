"""The environment of a real replica: what Vertex AI documents and real jobs have, and nothing of the host's.

The expected values are written out: from "Distributed training" of the documentation, and from the logs of
real jobs. No code of the emulator computes them. Addresses and ids are those of this machine and job.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import vertex_emulator
from support.emulated.job_emulator import SLEEP, JobEmulator, job_id, pool, running_jobs, wait_for_flags
from vertex_emulator.replicas.sandbox.sandbox import Sandbox

TELL = "import json, os; print(json.dumps(dict(os.environ)))"
EMPTY: dict[str, Any] = {}
CONTAINER_JOB = '{"python_module":"","package_uris":[],"job_args":[]}'
"""`job` of CLUSTER_SPEC in the log of a real job that runs a container: a string, not a mapping."""
MACHINE = {
    "PATH",
    "HOME",
    "LANG",
    "TMPDIR",
    "PYTHONUNBUFFERED",
    "OMP_NUM_THREADS",
    "KUBERNETES_PORT",
    "no_proxy",
    "NO_PROXY",
    "PIP_CACHE_DIR",
    "PYTHONUSERBASE",
    *(name for name in ("PIP_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX") if name in os.environ),
}
"""Names that every machine has, or that the emulator sets for this one."""
CLIENTS = {
    "VERTEX_EMULATOR_HOST",
    "VERTEX_EMULATOR_TOKEN",
    "FSSPEC_GCS_ENDPOINT_URL",
    "https_proxy",
    "HTTPS_PROXY",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
    "HTTPLIB2_CA_CERTS",
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "NODE_EXTRA_CA_CERTS",
    "NODE_USE_ENV_PROXY",
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER",
    "VERTEX_EMULATOR_JAVA_OPTIONS",
    "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT",
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_AIPLATFORM",
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_ARTIFACTREGISTRY",
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDRESOURCEMANAGER",
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_IAM",
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING",
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_SERVICEUSAGE",
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE",
    "GCE_METADATA_HOST",
    "GCE_METADATA_IP",
    "GCE_METADATA_ROOT",
}
"""Names by which Google's clients find the emulator from inside a replica."""


@dataclass(frozen=True)
class Printed:
    """The environments that the replicas of one job printed, by their tasks."""

    emulator: JobEmulator
    name: str
    environments: dict[str, dict[str, str]]

    def value(self, task: str, variable: str) -> Any:
        return json.loads(self.environments[task][variable])


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox) -> Iterator[Printed]:
    """Run a job with a chief, two workers, no parameter servers and an evaluator."""
    of_the_host = ("http_proxy", "HTTPS_PROXY", "AWS_SECRET_ACCESS_KEY", "PYTHONPATH")
    folder = tmp_path_factory.mktemp("printed")
    with pytest.MonkeyPatch.context() as patch, running_jobs(folder, sandbox=sandbox) as emulator:
        for variable in of_the_host:
            patch.setenv(variable, "/of/the/host")
        env = [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)-$(CLOUD_ML_JOB_ID)-$$(A)-$(NONE)"}]
        tell = TELL + "\nopen('/gcs/flags/' + os.environ.get('RANK', 'evaluator'), 'w')"
        name = emulator.create(
            pool(f"{TELL}\n{wait_for_flags('1', '2', 'evaluator')}", env=env),
            pool(tell, replicas=2),
            EMPTY,
            pool(tell),
            baseOutputDirectory={"outputUriPrefix": "gs://b/out"},
        )
        assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
        tasks = ["workerpool0-0", "workerpool1-0", "workerpool1-1", "workerpool3-0"]
        yield Printed(emulator, name, {task: json.loads(emulator.printed(name, task)[0]) for task in tasks})


@pytest.fixture(scope="module")
def addresses(printed: Printed) -> dict[str, str]:
    """Return the address of each replica as the chief got it: four ports of this machine."""
    cluster = printed.value("workerpool0-0", "CLUSTER_SPEC")["cluster"]
    found = {f"{name}-{index}": one for name, each in cluster.items() for index, one in enumerate(each)}
    assert len(set(found.values())) == 4
    assert all(re.fullmatch(r"127\.0\.0\.[1-4]:\d+", one) for one in found.values())
    return found


TASKS = ("workerpool0-0", "workerpool1-0", "workerpool1-1", "workerpool3-0")
EACH = pytest.mark.parametrize("task", TASKS)


@pytest.mark.parity(
    "Custom jobs: the environment of a replica",
    own_way="the same names and forms, with addresses of this machine; there are no `open_ports`; "
    "`MASTER_PORT` is the chief's own port; of the variables of Kubernetes only `KUBERNETES_PORT`",
)
@EACH
def test_cluster_spec(printed: Printed, addresses: dict[str, str], task: str) -> None:
    assert printed.value(task, "CLUSTER_SPEC") == {
        "cluster": {
            "workerpool0": [addresses["workerpool0-0"]],
            "workerpool1": [addresses["workerpool1-0"], addresses["workerpool1-1"]],
            "workerpool3": [addresses["workerpool3-0"]],
        },
        "environment": "cloud",
        "task": {"type": task[:-2], "index": int(task[-1])},
        "job": CONTAINER_JOB,
    }


@pytest.mark.parity("Custom jobs: the environment of a replica")
@pytest.mark.parametrize(
    ("task", "kind", "index"),
    [
        ("workerpool0-0", "chief", 0),
        ("workerpool1-0", "worker", 0),
        ("workerpool1-1", "worker", 1),
        ("workerpool3-0", "evaluator", 0),
    ],
)
def test_tf_config(printed: Printed, addresses: dict[str, str], task: str, kind: str, index: int) -> None:
    """Expect a task for the evaluator, which is not in the cluster; the id in `cloud` is arbitrary."""
    found = printed.value(task, "TF_CONFIG")
    assert found["task"].pop("cloud") == printed.value("workerpool0-0", "TF_CONFIG")["task"]["cloud"] != ""
    assert found == {
        "cluster": {
            "chief": [addresses["workerpool0-0"]],
            "worker": [addresses["workerpool1-0"], addresses["workerpool1-1"]],
        },
        "environment": "cloud",
        "job": CONTAINER_JOB,
        "task": {"type": kind, "index": index},
    }


@pytest.mark.parity("Custom jobs: the environment of a replica")
@pytest.mark.parametrize(
    ("task", "rank"), [("workerpool0-0", "0"), ("workerpool1-0", "1"), ("workerpool1-1", "2")]
)
def test_the_variables_of_torch(printed: Printed, addresses: dict[str, str], task: str, rank: str) -> None:
    """Counted in replicas, the chief first; the evaluator does not train."""
    environment = printed.environments[task]
    assert (environment["RANK"], environment["WORLD_SIZE"]) == (rank, "3")
    master = f"{environment['MASTER_ADDR']}:{environment['MASTER_PORT']}"
    assert master == addresses["workerpool0-0"]


@pytest.mark.parity("Custom jobs: the environment of a replica")
@pytest.mark.parity("Custom jobs: the output directory")
@EACH
def test_the_variables_of_the_job(printed: Printed, task: str) -> None:
    project_number = printed.name.split("/")[1]
    assert project_number.isdecimal()
    environment = printed.environments[task]
    assert {name: environment[name] for name in environment if name.startswith(("CLOUD_ML_", "AIP_"))} == {
        "CLOUD_ML_PROJECT_ID": project_number,
        "CLOUD_ML_JOB_ID": job_id(printed.name),
        "CLOUD_ML_REGION": "us-central1",
        "AIP_MODEL_DIR": "gs://b/out/model/",
        "AIP_CHECKPOINT_DIR": "gs://b/out/checkpoints/",
        "AIP_TENSORBOARD_LOG_DIR": "gs://b/out/logs/",
    }


def test_host_names_are_like_those_of_real_jobs(printed: Printed) -> None:
    """Expect names as cmle-training-workerpool1-b644f12a34-1, with the same digits in a job."""
    matches = {
        task: re.fullmatch(r"cmle-training-(workerpool\d)-([0-9a-f]{10})-(\d)", environment["HOSTNAME"])
        for task, environment in printed.environments.items()
    }
    assert [f"{match[1]}-{match[3]}" for match in matches.values() if match] == list(TASKS)
    assert len({match[2] for match in matches.values() if match}) == 1


@pytest.mark.parity("Custom jobs: the environment of a replica")
@pytest.mark.parametrize(
    ("task", "names"),
    [
        ("workerpool0-0", {"TF_CONFIG", "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "A", "B"}),
        ("workerpool1-0", {"TF_CONFIG", "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}),
        ("workerpool1-1", {"TF_CONFIG", "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}),
        ("workerpool3-0", {"TF_CONFIG"}),
    ],
)
def test_there_is_nothing_else(printed: Printed, task: str, names: set[str]) -> None:
    everywhere = {
        *("CLUSTER_SPEC", "HOSTNAME", "CLOUD_ML_PROJECT_ID", "CLOUD_ML_JOB_ID", "CLOUD_ML_REGION"),
        *("AIP_MODEL_DIR", "AIP_CHECKPOINT_DIR", "AIP_TENSORBOARD_LOG_DIR"),
    }
    found = set(printed.environments[task]) - {"LC_CTYPE", "PWD"}  # Python and shells set these themselves
    assert found == everywhere | names | MACHINE | CLIENTS


def test_own_variables_are_expanded_as_in_kubernetes(printed: Printed) -> None:
    environment = printed.environments["workerpool0-0"]
    assert (environment["A"], environment["B"]) == ("1", f"1-{job_id(printed.name)}-$(A)-$(NONE)")


@EACH
def test_lightning_finds_its_cluster(printed: Printed, task: str) -> None:
    """Meet the condition of Lightning up to 2.0.6, and give no client the address of an API server."""
    environment = printed.environments[task]
    needed = {"KUBERNETES_PORT", "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK"}
    assert (needed <= set(environment)) == ("RANK" in environment)
    assert environment["KUBERNETES_PORT"] == "tcp://192.0.2.1:443"


@EACH
def test_the_variables_of_this_machine(printed: Printed, task: str) -> None:
    environment = printed.environments[task]
    machines = [each["HOSTNAME"] for each in printed.environments.values()]
    private = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]
    assert environment["no_proxy"] == environment["NO_PROXY"]
    loopback = [f"127.0.0.{number}" for number in range(1, len(machines) + 1)]
    assert sorted(environment["no_proxy"].split(",")) == sorted(["localhost", *loopback, *private, *machines])
    assert environment["OMP_NUM_THREADS"] == str(max(1, (os.cpu_count() or 1) // 4))
    assert Path(environment["HOME"]).is_relative_to(printed.emulator.folder(printed.name) / "replicas" / task)


@EACH
def test_the_variables_of_clients(printed: Printed, task: str) -> None:
    """Expect that all lead to the emulator, and none has the token of its admin paths."""
    url, environment = printed.emulator.daemon.url, printed.environments[task]
    assert environment["VERTEX_EMULATOR_HOST"] == url
    assert environment["FSSPEC_GCS_ENDPOINT_URL"].startswith(f"{url}/s/")
    address = str(printed.emulator.daemon.proxy_url).rpartition("@")[2]
    # The secret is hidden in the log, from which this test reads.
    assert environment["https_proxy"] == environment["HTTPS_PROXY"] == f"http://emulator:***@{address}"
    overrides = {name for name in CLIENTS if name.startswith("CLOUDSDK_API_ENDPOINT_OVERRIDES_")}
    assert {environment[name] for name in overrides} == {f"{url}/"}
    metadata = {environment[f"GCE_METADATA_{name}"] for name in ("HOST", "IP", "ROOT")}
    assert len(metadata) == 1
    assert re.fullmatch(url.removeprefix("http://") + "/m/[0-9a-f]+/local", metadata.pop())
    assert not [name for name, value in environment.items() if printed.emulator.daemon.token in value]


@pytest.mark.parity("Custom jobs: containers")
def test_arguments_refer_to_variables(emulator: JobEmulator) -> None:
    code = "import sys; print(sys.argv[1:])"
    args = ["$(A)", "--out=$(AIP_MODEL_DIR)", "$$(A)", "$(HOME)", "a b; $(not", ""]
    name = emulator.create(
        pool(code, args=args, env=[{"name": "A", "value": "x"}]),
        baseOutputDirectory={"outputUriPrefix": "gs://b/out"},
    )
    emulator.wait(name)
    assert emulator.printed(name) == ["['x', '--out=gs://b/out/model/', '$(A)', '$(HOME)', 'a b; $(not', '']"]


@pytest.mark.parity("Custom jobs: the environment of a replica")
def test_a_single_replica_is_the_chief_and_has_no_tf_config(emulator: JobEmulator) -> None:
    """Compare with the log of a real job of one replica."""
    name = emulator.create(pool(TELL))
    emulator.wait(name)
    environment = json.loads(emulator.printed(name)[0])
    found = json.loads(environment["CLUSTER_SPEC"])
    (address,) = found["cluster"].pop("chief")
    assert re.fullmatch(r"127\.0\.0\.1:\d+", address)
    assert found == {
        "cluster": {},
        "environment": "cloud",
        "task": {"type": "chief", "index": 0},
        "job": CONTAINER_JOB,
    }
    assert not {"TF_CONFIG", "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"} & set(environment)
    assert not [name for name in environment if name.startswith("AIP_")], "there is no output directory"


def test_variables_for_every_replica_and_a_proxy_of_the_jobs_own(tmp_path: Path, sandbox: Sandbox) -> None:
    with running_jobs(
        tmp_path, sandbox=sandbox, environment={"STORAGE_EMULATOR_HOST": "http://x"}
    ) as emulator:
        env = [{"name": "no_proxy", "value": "intranet"}, {"name": "PATH", "value": "/nowhere:/usr/bin"}]
        name = emulator.create(pool(command=["/usr/bin/env"], env=env))
        emulator.wait(name)
        said = emulator.printed(name)
        assert "STORAGE_EMULATOR_HOST=http://x" in said
        (exceptions,) = (line for line in said if line.startswith("no_proxy="))
        assert exceptions.startswith("no_proxy=intranet,127.0.0.1,localhost,")
        assert "PATH=/nowhere:/usr/bin" in said


def test_a_job_with_a_proxy_of_its_own_does_not_use_the_emulators(emulator: JobEmulator) -> None:
    env = [
        {"name": "HTTPS_PROXY", "value": "http://proxy.example.com:3128"},
        {"name": "no_proxy", "value": "*"},
    ]
    name = emulator.create(pool(command=["/usr/bin/env"], env=env))
    emulator.wait(name)
    found = dict(line.split("=", 1) for line in emulator.printed(name))
    assert found["HTTPS_PROXY"] == "http://proxy.example.com:3128"
    assert not {"https_proxy", "CURL_CA_BUNDLE", "FSSPEC_GCS_ENDPOINT_URL"} & set(found)
    assert found["no_proxy"] == f"*,127.0.0.1,localhost,{found['HOSTNAME']}"
    assert found["STORAGE_EMULATOR_HOST"].startswith(f"{emulator.daemon.url}/s/")
    assert found["PYTHONPATH"] == str(Path(vertex_emulator.__file__).parent / "client/redirect")


PROXIED = """
import os, ssl, urllib.request
token = os.environ["VERTEX_EMULATOR_TOKEN"]
url = "https://storage.googleapis.com/storage/v1/b?project=local"
request = urllib.request.Request(url, headers={"Authorization": "Bearer " + token})
print(urllib.request.urlopen(request).status)
for name in ("CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"):
    print(os.path.dirname(os.environ[name]) + " " + " ".join(os.listdir(os.path.dirname(os.environ[name]))))
print(os.path.exists(os.path.dirname(os.environ["CURL_CA_BUNDLE"]) + "/../intermediate.pem"))
"""


def test_a_replica_reaches_googles_hosts_in_the_emulator(emulator: JobEmulator) -> None:
    """Expect that it sees the certificates, and not the key."""
    name = emulator.create(pool(PROXIED))
    emulator.wait(name)
    status, *folders, key = emulator.printed(name)
    assert status == "200", folders
    assert {each.split(" ", 1)[0] for each in folders} == {
        str(emulator.data_dir.resolve() / "proxy" / "certificates")
    }
    seen = {"root.pem", "bundle.pem", "authorities.jks", "java-agent.jar"}
    assert all(set(each.split(" ")[1:]) == seen for each in folders)
    assert key == "False"


@pytest.mark.parity(
    "Custom jobs: replicas",
    own_way="a process for each, in namespaces of its own if the kernel allows it",
    fields=(
        "job_spec.worker_pool_specs.replica_count",
        "job_spec.worker_pool_specs.machine_spec.machine_type",
    ),
)
@pytest.mark.parity("Custom jobs: the network of a job")
def test_names_of_the_jobs_machines_resolve(emulator: JobEmulator) -> None:
    code = (
        "import os, socket\n"
        "assert socket.gethostname() == os.environ['HOSTNAME']\n"
        "print(socket.gethostbyname(os.environ['HOSTNAME']))\n"
        "print(socket.gethostbyname(os.environ['HOSTNAME'].replace('pool0', 'pool1')))"
    )
    name = emulator.create(pool(code), pool(SLEEP))
    emulator.wait(name)
    assert emulator.printed(name) == ["127.0.0.1", "127.0.0.2"]
