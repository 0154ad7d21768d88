"""Jobs whose replicas run images of the emulator's registry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.emulated.job_emulator import JobEmulator, job, pool, running_jobs
from support.emulated.registries import images
from support.emulated.registries.images import notice, of, push, registry, static_program, succeeded, tar
from support.tables import every_row
from vertex_emulator.jobs.custom.submission import container_argv
from vertex_emulator.replicas.images.image import ReplicaImage
from vertex_emulator.replicas.sandbox.sandbox import Sandbox

PYTHON = "docker.io/library/python"


TRAINER = """
import json, os, sys, time
import trainer
spec = json.loads(os.environ["CLUSTER_SPEC"])
print(spec["task"]["type"], spec["task"]["index"], os.getcwd(), trainer.__file__, *sys.argv[1:])
open(f"/gcs/flags/{os.uname().nodename}", "w").close()
while spec["task"]["type"] == "workerpool0" and len(os.listdir("/gcs/flags")) < 3: time.sleep(0.01)
"""


def test_an_image_as_in_the_codelab(emulator: JobEmulator) -> None:
    """FROM a Deep Learning image, WORKDIR /, COPY trainer /trainer, ENTRYPOINT python -m trainer.task."""
    layer = tar({"trainer/": None, "trainer/__init__.py": "", "trainer/task.py": TRAINER})
    image = push(registry(emulator), layer, WorkingDir="/", Entrypoint=["python", "-m", "trainer.task"])
    name = succeeded(emulator, of(image, args=["--epochs=1"]), of(image, replicas=2, args=["--epochs=1"]))
    assert emulator.printed(name) == ["workerpool0 0 / /trainer/__init__.py --epochs=1"]
    assert emulator.printed(name, "workerpool1-1") == ["workerpool1 1 / /trainer/__init__.py --epochs=1"]
    assert notice(emulator, name).startswith(
        "Emulator: this replica runs the image gcr.io/local/trainer:1@sha256:"
    )
    assert f"Instead of its base image {images.BASE}" in notice(emulator, name)


SHOW = "import os, sys; print(os.getcwd(), os.environ.get('NAME'), *sys.argv[1:])"


@pytest.mark.parity(
    "Custom jobs: containers",
    own_way="pushed images run in their own root file system; Google's base images have a stand-in "
    "with the Python of this machine",
    fields=("job_spec.worker_pool_specs.container_spec",),
)
@pytest.mark.parametrize(
    ("config", "task", "said"),
    [
        pytest.param(
            {"Entrypoint": ["python", "/m.py", "$(NAME)"], "Cmd": ["x"], "Env": ["NAME=a=b"]},
            {},
            "/ a=b $(NAME) x",
            id="of the image",
        ),
        pytest.param(
            {"Entrypoint": ["false"], "Env": ["NAME=image"], "WorkingDir": "/new/dir"},
            {
                "command": ["/usr/local/bin/python3", "/m.py"],
                "args": ["$(CLOUD_ML_JOB_ID)"[:2] + "NAME)"],
                "env": [{"name": "NAME", "value": "job"}],
            },
            "/new/dir job job",
            id="of the job, python by its path",
        ),
        pytest.param(
            {"Entrypoint": ["python", "/m.py"], "WorkingDir": "/usr/src/app"},
            {},
            "/usr/src/app None",
            id="workdir below a folder of the host",
        ),
    ],
)
def test_what_a_container_runs(
    emulator: JobEmulator, config: dict[str, Any], task: dict[str, Any], said: str
) -> None:
    image = push(registry(emulator), tar({"m.py": SHOW}), **config)
    name = succeeded(emulator, of(image, **task))
    assert emulator.printed(name) == [said]


@every_row(
    ("entrypoint", "cmd", "command", "args", "runs"),
    [
        pytest.param(["e"], [], [], [], ["e"], id="entrypoint"),
        pytest.param([], ["c", "x"], [], [], ["c", "x"], id="cmd"),
        pytest.param(["e"], ["x"], [], [], ["e", "x"], id="both"),
        pytest.param(["e"], ["x"], [], ["y"], ["e", "y"], id="args for cmd"),
        pytest.param(["e"], ["x"], ["c"], [], ["c"], id="command drops cmd"),
        pytest.param(["e"], [], ["c"], ["y"], ["c", "y"], id="command and args"),
        pytest.param(["e", "$(A)"], ["$(B)"], [], [], ["e", "$$(A)", "$$(B)"], id="image's words stay"),
        pytest.param(["e"], [], ["$(A)"], ["$(B)"], ["$(A)", "$(B)"], id="the job's are expanded later"),
    ],
)
def test_the_words_of_a_container(
    entrypoint: list[str], cmd: list[str], command: list[str], args: list[str], runs: list[str]
) -> None:
    image = ReplicaImage(name="i", root="own", entrypoint=tuple(entrypoint), command=tuple(cmd))
    assert list(container_argv(image, tuple(command), tuple(args))) == runs


def run(emulator: JobEmulator, layers: list[bytes], code: str, **config: Any) -> list[str]:
    """Return the output of a program in an image."""
    image = push(registry(emulator), *layers, **config)
    return emulator.printed(succeeded(emulator, of(image, command=["python3", "-c", code])))


LAYERS = [
    tar({"opt/own/a.txt": "a", "data/b.txt": "b", "usr/share/own.txt": "c", "tmp/t.txt": "t"}),
    tar({"root/.cache/c.yaml": "r", "var/tmp/v.txt": "v", "home/trainer/h.txt": "h", "run/own/r.txt": "n"}),
    tar({"opt/own/.wh.a.txt": "", "opt/own/d.txt": "d", "bin/own-tool": "#!/bin/sh\necho tool\n"}),
]


SHOWN = {
    "print(open('/data/b.txt').read())": "b",
    "print(open('/usr/share/own.txt').read())": "c",
    "print(os.path.isdir('/usr/share/doc'))": "True",
    "print(os.listdir('/opt/own'))": "['d.txt']",
    "print(open('/tmp/t.txt').read())": "t",
    "print(open('/root/.cache/c.yaml').read(), os.path.expanduser('~/.cache'))": "r /root/.cache",
    "open('/root/n', 'w').close(); print(open('/var/tmp/v.txt').read())": "v",
    "print(open('/home/trainer/h.txt').read())": "h",
    "print(open('/run/own/r.txt').read())": "n",
    "print(subprocess.check_output('own-tool', text=True).strip())": "tool",
    "open('/data/new', 'w').write('x'); print('its own folder')": "its own folder",
    "open('/opt/own/n', 'w').write('x'); print('a shared one')": "a shared one",
    "open('/usr/share/n', 'w').write('x'); print('even the host\\'s')": "even the host's",
}
"""Code that shows the files of an image on a stand-in beside the host's, and its output."""


@pytest.mark.parity("Custom jobs: containers")
def test_an_image_on_a_stand_in(emulator: JobEmulator) -> None:
    guarded = (f"try:\n    {code}\nexcept Exception as error: print(repr(error))\n" for code in SHOWN)
    said = run(emulator, LAYERS, "import os, subprocess\n" + "".join(guarded))
    assert dict(zip(SHOWN, said, strict=True)) == SHOWN
    assert not Path("/usr/share/n").exists()


def test_replicas_do_not_see_what_others_write(emulator: JobEmulator) -> None:
    code = "import os; print(sorted(os.listdir('/data'))); open('/data/mine', 'w').close()"
    image = push(registry(emulator), LAYERS[0], Entrypoint=["python3", "-c", code])
    for _ in range(2):
        assert emulator.printed(succeeded(emulator, of(image))) == ["['b.txt']"]


def test_packages_in_an_image_are_found(emulator: JobEmulator) -> None:
    import sys

    site = f"usr/local/lib/python3.{sys.version_info.minor}/site-packages"
    layers = [tar({f"{site}/only_in_image.py": "X = 7", "app/other.py": "Y = 8"})]
    code = (
        "import only_in_image, other, importlib.util as u\n"
        "print(only_in_image.X, other.Y, u.find_spec('yaml'))\n"
    )
    expected = ["7 8 None"]  # an image with packages sees none of the emulator's
    assert run(emulator, layers, code, Env=["PYTHONPATH=/app"]) == expected


def test_packages_for_a_python_that_the_machine_has_not(emulator: JobEmulator) -> None:
    layers = [tar({"usr/local/lib/python3.99/site-packages/only_in_image.py": "X = 7"})]
    image = push(registry(emulator), *layers)
    ended = emulator.wait(emulator.create(of(image, command=["python3", "-c", "pass"])))
    assert ended["state"] == "JOB_STATE_FAILED"
    assert "it has packages for Python 3.99, and this machine has no python3.99" in ended["error"]["message"]


@pytest.mark.parametrize("profile", [{}, {"etc/profile": "PATH=/bin:/usr/bin; export OF_IMAGE=yes\n"}])
def test_a_login_shell_has_the_python_of_the_replica(emulator: JobEmulator, profile: dict[str, str]) -> None:
    """Start one as public jobs do; the machine's /etc/profile, or the image's, sets a PATH of its own."""
    image = push(registry(emulator), tar({"app/a": "a", **profile}))
    script = (
        "command -v python3; command -v pip; echo $OF_IMAGE; python3 -c 'import numpy; print(numpy.__name__)'"
    )
    for shell in (["bash", "-lc"], ["bash", "--login", "-c"], ["sh", "-lc"]):
        name = succeeded(emulator, of(image, command=shell, args=[script]))
        python, pip, *rest = emulator.printed(name)
        assert python.endswith("/python/bin/python3") and pip.endswith("/python/bin/pip")
        assert rest == ["yes" if profile else "", "numpy"]


def test_a_user_of_the_image(emulator: JobEmulator) -> None:
    passwd = "root:x:0:0::/root:/bin/sh\ntrainer:x:1234:2345::/home/trainer:/bin/sh\n"
    code = "import os; print(os.getuid(), os.getgid()); open('/gcs/flags/by-user', 'w').close()"
    assert run(emulator, [tar({"etc/passwd": passwd})], code, User="trainer") == ["1234 2345"]
    assert (emulator.flags / "by-user").exists()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return static_program(tmp_path_factory.mktemp("program"))


def run_in_own_root(emulator: JobEmulator, program: bytes, *words: str, **config: Any) -> list[str]:
    """Return the output of the only program in an image's root."""
    files = {"etc/hostname": "image\n", "data/a": "a\n", "tmp/t": "t\n", "var/tmp/v": "v\n", "root/r": "r\n"}
    root = tar({"run": program, "etc/": None, **files})
    image = push(registry(emulator), root, stand_in=None, Entrypoint=["/run"], **config)
    return emulator.printed(succeeded(emulator, of(image, args=list(words))))


OWN_ROOT = {
    "i": "user 0 group 0 in /",
    "r:/etc/hostname": "image",
    "r:/tmp/t": "t",
    "r:/var/tmp/v": "v",
    "r:/root/r": "r",
    "r:/etc/passwd": "no /etc/passwd",
    "w:/new": "wrote /new",
    "w:/data/a": "wrote /data/a",
    "w:/tmp/x": "wrote /tmp/x",
    "w:/dev/null": "wrote /dev/null",
    "w:/gcs/flags/f": "wrote /gcs/flags/f",
}
"""The words of the only program in an image's root, and its output."""


@pytest.mark.parity("Custom jobs: containers")
def test_an_image_with_a_root_of_its_own(emulator: JobEmulator, program: bytes) -> None:
    said = run_in_own_root(emulator, program, *OWN_ROOT)
    assert dict(zip(OWN_ROOT, said, strict=True)) == OWN_ROOT


def test_the_configuration_of_an_image_with_a_root_of_its_own(emulator: JobEmulator, program: bytes) -> None:
    config = {"User": "77:88", "WorkingDir": "/w/d", "Env": ["X=1", "PATH=/p"]}
    said = run_in_own_root(emulator, program, "i", "e:X", "e:PATH", **config)
    assert said == ["user 77 group 88 in /w/d", "X=1", "PATH=/p"]


def test_the_root_of_an_image_has_the_image_s_entries_only(emulator: JobEmulator, program: bytes) -> None:
    said = run_in_own_root(emulator, program, "e:HOME", "l:/", "l:/usr", "l:/proc/self/task", "r:/etc/hosts")
    assert said[0] == "HOME=/root"
    found = {line.rpartition("/")[2] for line in said if line.startswith("//")}
    assert found == {"data", "dev", "etc", "gcs", "proc", "root", "run", "sys", "tmp", "var"}
    assert not [line for line in said if line.startswith("/usr")]
    assert any("cmle-training-workerpool0-" in line for line in said), "the machines of the job"


def refusal(emulator: JobEmulator, pool: dict[str, Any]) -> str:
    error = emulator.refused(job(pool))
    assert error["status"] == "FAILED_PRECONDITION"
    return str(error["message"])


@pytest.mark.parametrize(
    ("image", "text"),
    [
        ("gcr.io/local/missing:1", "the emulator has no image gcr.io/local/missing:1. Push it"),
        ("missing", "the emulator has no image docker.io/library/missing:latest"),
        (
            "us-central1-docker.pkg.dev/local/repo/missing@sha256:" + "0" * 64,
            "the emulator has no image us-central1",
        ),
        ("UPPER", "'UPPER' is not the name of an image"),
        ("gcr.io/local/x:a b", "a tag consists of letters"),
        (
            "us-docker.pkg.dev/vertex-ai/training/ray-cpu.2-9.py310:latest",
            "the emulator has no image us-docker",
        ),
        ("python:3.11-alpine", "the emulator has no image docker.io/library/python:3.11-alpine"),
        ("../../etc/passwd", "is not the name of an image"),
    ],
)
def test_an_image_that_is_not_there_is_refused(idle: JobEmulator, image: str, text: str) -> None:
    assert text in refusal(idle, of(image, command=["true"]))


@pytest.mark.parametrize(
    ("config", "task", "text"),
    [
        pytest.param({"os": "windows"}, {}, "the service runs Linux images only", id="system"),
        pytest.param({}, {}, "has neither entrypoint nor command", id="nothing to run"),
        pytest.param(
            {"architecture": "s390x", "stand_in": None},
            {"command": ["x"]},
            "is an image for linux/s390x, but this machine is linux/",
            id="architecture",
        ),
        pytest.param({"Entrypoint": "x"}, {}, "has neither entrypoint", id="entrypoint is a text"),
        pytest.param({"Cmd": [1]}, {}, "whose Cmd is not a list of strings", id="command of numbers"),
    ],
)
def test_an_image_that_cannot_run_is_refused(
    idle: JobEmulator, config: dict[str, Any], task: dict[str, Any], text: str
) -> None:
    image = push(registry(idle), tar({}), tar({"a": "b"}), **config)
    assert text in refusal(idle, of(image, **task))


def test_packages_need_a_prebuilt_image(idle: JobEmulator) -> None:
    image = push(registry(idle), tar({"a": "b"}), stand_in=None)
    package = {"executorImageUri": image, "packageUris": ["gs://b/p-1.tar.gz"], "pythonModule": "p"}
    declared = {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": 1,
        "pythonPackageSpec": package,
    }
    assert "only prebuilt images run Python packages" in refusal(idle, declared)


def test_every_image_is_named(idle: JobEmulator) -> None:
    error = idle.refused(job(of("a/b", command=["x"]), of("c/d", command=["x"])))
    assert [each["field"] for each in error["details"][0]["fieldViolations"]] == [
        f"job_spec.worker_pool_specs[{index}].container_spec.image_uri" for index in (0, 1)
    ]


def test_a_python_image_runs_as_it_is(emulator: JobEmulator) -> None:
    name = succeeded(emulator, of("python:3.2-slim", command=["python", "-c", "print('ran')"]))
    assert emulator.printed(name) == ["ran"]
    assert "WARNING: the base image has Python 3.2" in notice(emulator, name)


def test_a_prebuilt_image_by_google_s_digest(emulator: JobEmulator) -> None:
    image = f"us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310@sha256:{'ab' * 32}"
    assert emulator.printed(succeeded(emulator, of(image, command=["python3", "-c", "print('ran')"]))) == [
        "ran"
    ]


@pytest.mark.parity(
    "Custom jobs: reduction servers", own_way="the pool waits, and the others reduce among themselves"
)
def test_the_reduction_server_waits(emulator: JobEmulator) -> None:
    server = "us-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest"
    code = "import time; time.sleep(0.2)"
    name = succeeded(emulator, pool(code), pool(code), of(server, replicas=2))
    assert {each["state"] for each in emulator.replicas(name).values()} <= {"succeeded", "stopped"}
    assert "the reduction server is not run" in notice(emulator, name, "workerpool2-1")


def test_a_tag_that_moves_changes_no_job(tmp_path: Path, sandbox: Sandbox) -> None:
    """Nor does a restart of the emulator between the creation and the start of the job."""
    entrypoint = {"Entrypoint": ["python3", "/m.py"]}
    with running_jobs(tmp_path, sandbox=sandbox) as emulator:
        emulator.call("PUT", "/_local/start-delay", {"seconds": 3600})
        image = push(registry(emulator), tar({"m.py": "print('first')"}), **entrypoint)
        name = emulator.create(of(image))
        push(registry(emulator), tar({"m.py": "print('second')"}), **entrypoint)
    with running_jobs(tmp_path, sandbox=sandbox) as emulator:
        emulator.call("POST", "/_local/clock/advance", {"seconds": 7200})
        assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
        assert emulator.printed(name) == ["first"]
        assert emulator.printed(succeeded(emulator, of(image))) == ["second"]
