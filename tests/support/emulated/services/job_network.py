"""Observe replicas in networks of their own: two real jobs at the same time, and the command `forward`."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.emulated.emulator import found_sandbox
from support.emulated.job_emulator import (
    DONE,
    SLEEP,
    JobEmulator,
    job_id,
    messages,
    pool,
    running_jobs,
    wait_for_flags,
    wait_until_gone,
)
from support.waiting import eventually
from vertex_emulator.client.control import Control, ControlError
from vertex_emulator.replicas.network import forwarding

SERVES = """
import json, os, socket, threading
job, task = os.environ["CLOUD_ML_JOB_ID"], json.loads(os.environ["CLUSTER_SPEC"])["task"]
me = f"{os.environ['NAME']} {task['type']}-{task['index']}"
def serve(listener):
    while True:
        connection, _ = listener.accept()
        connection.sendall(me.encode())
        connection.close()
for place in (("0.0.0.0", 2222), ("127.0.0.1", 5678)):
    threading.Thread(target=serve, args=(socket.create_server(place),), daemon=True).start()
flag = f"{me.replace(' ', '-')}-"
starts = [each for each in os.listdir("/gcs/flags") if each.startswith(flag)]
open(f"/gcs/flags/{flag}{len(starts)}", "w").close()
"""

LOOKS = """
import time, urllib.request
def ask(host, port, seconds=30):
    with socket.create_connection((host, port), seconds) as connection:
        connection.settimeout(seconds)
        return connection.recv(100).decode()
def reason(body):
    try:
        return str(body())
    except OSError as error:
        return type(error).__name__
def fetch(url, **headers):
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers)).read().decode()
def own_address():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        way.connect(("8.8.8.8", 53))
        return way.getsockname()[0]
hosts = [each for pool in json.loads(os.environ["CLUSTER_SPEC"])["cluster"].values() for each in pool]
token = os.environ["VERTEX_EMULATOR_TOKEN"]
status = dict(line.split(":", 1) for line in open("/proc/self/status") if line.startswith(("Cap", "Sec")))
found = {
    "hosts": hosts,
    "answers": [ask(*each.split(":")) for each in hosts],
    "addresses": [socket.gethostbyname(each.split(":")[0]) for each in hosts],
    "own address": [socket.gethostbyname(socket.gethostname()), own_address()],
    "no_proxy": [os.environ["no_proxy"].split(","), os.environ["NO_PROXY"].split(",")],
    "storage": json.loads(fetch(
        "https://storage.googleapis.com/storage/v1/b?project=local", Authorization="Bearer " + token
    ))["kind"],
    "metadata": fetch(
        f"http://{os.environ['GCE_METADATA_HOST']}/computeMetadata/v1/project/project-id",
        **{"Metadata-Flavor": "Google"},
    ),
    "local service": [
        reason(lambda: ask(host, int(os.environ["SERVICE"]))) for host in ("127.0.0.1", "10.128.0.1")
    ],
    "another job": reason(lambda: ask("10.128.0.5", 2222)),
    "public address": reason(lambda: ask("8.8.8.8", 443)),
    "public name": reason(lambda: socket.gethostbyname("example.com")),
    "rights": {name: value.strip() for name, value in status.items()},
}
print(json.dumps(found), flush=True)
"""


def task(name: str, code: str = "", *, service: int = 0, **options: Any) -> dict[str, Any]:
    """Return a pool of replicas that serve, run `code`, and wait for the end of the observation."""
    env = [{"name": "NAME", "value": name}, {"name": "SERVICE", "value": str(service)}]
    return pool(SERVES + code + wait_for_flags("end"), env=env, **options)


def observe(folder: Path) -> dict[str, Any]:
    """Run the jobs in a new data folder. Return what was found, as JSON values."""
    with (
        running_jobs(folder / "data", sandbox=found_sandbox(), restart_seconds=0.0) as emulator,
        socket.create_server(("127.0.0.1", 0)) as service,
    ):
        control = Control(url=emulator.daemon.url, token=emulator.daemon.token)
        control.set_network("namespace")
        larger = emulator.create(task("larger"), task("larger", replicas=3))
        larger_ready = ["larger-workerpool0-0-0", *(f"larger-workerpool1-{each}-0" for each in range(3))]
        ready = [*larger_ready, "job-workerpool1-0-0", "job-workerpool1-1-0"]
        chief = task("job", wait_for_flags(*ready) + LOOKS, service=service.getsockname()[1])
        name = emulator.create(chief, task("job", replicas=2))
        eventually(
            lambda: emulator.printed(name) or emulator.get(name)["state"] in DONE,
            what=lambda: str(emulator.get(name)),
        )
        printed = emulator.printed(name)
        assert len(printed) == 1, f"the program's error: {printed}"
        found: dict[str, Any] = json.loads(printed[0])
        found["job id"] = job_id(name)
        found["log"] = messages(emulator.entries(name, 'resource.labels.task_name="service"'))
        found["forwarded"] = forwarded(emulator, name)
        with forwarding.connect(emulator.folder(name), "workerpool1-1", 5678) as connection:
            found["loopback of a replica"] = connection.recv(100).decode()
        found["no replica"] = refused(emulator, name, "workerpool9-0", 2222)
        found["closed port"] = refused(emulator, name, "workerpool1-0", 2223)
        control.kill_replica(job_id(larger), "workerpool1-0")
        eventually((emulator.flags / "larger-workerpool1-0-1").exists)
        with forwarding.connect(emulator.folder(larger), "workerpool1-0", 2222) as connection:
            found["after a restart"] = connection.recv(100).decode()
        found["host network"] = on_the_host(emulator, control)
        os.kill(emulator.supervisor(name), signal.SIGKILL)
        wait_until_gone(name)
        (emulator.flags / "end").touch()
        found["state"] = emulator.wait(larger)["state"]
        wait_until_gone(larger)
        found["interfaces"] = [name for _, name in socket.if_nameindex() if name.startswith("replica")]
    return found


def refused(emulator: JobEmulator, name: str, replica: str, port: int) -> str:
    try:
        forwarding.connect(emulator.folder(name), replica, port).close()
    except forwarding.ForwardError as error:
        return str(error)
    return ""


def on_the_host(emulator: JobEmulator, control: Control) -> str:
    """Return how a request to reach a replica in the machine's network is refused."""
    control.set_network("host")
    name = emulator.create(pool(SLEEP))
    emulator.wait(name, "JOB_STATE_RUNNING")
    try:
        control.network_of_replica(job_id(name), "workerpool0-0")
    except ControlError as error:
        return str(error).replace(job_id(name), "ID")
    finally:
        emulator.cancel(name)
        emulator.wait(name)
        wait_until_gone(name)
    return ""


def forwarded(emulator: JobEmulator, name: str) -> list[Any]:
    """Return what `emulator replica forward` prints, what a connection reads, and the exit code."""
    words = ["emulator", "replica", "forward", name, "workerpool1-0", "2222", "--local-port", "0", "--json"]
    with started("-m", "pulumi_vertex_training.cli", *words, "--data-dir", str(emulator.data_dir)) as process:
        assert process.stdout is not None
        line = json.loads(process.stdout.readline())
        with socket.create_connection(("127.0.0.1", line.pop("localPort"))) as connection:
            answer = connection.recv(100).decode()
        process.send_signal(signal.SIGINT)
        return [line, answer, process.wait()]


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
