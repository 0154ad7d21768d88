"""Jobs with a network of their own."""

from __future__ import annotations

import functools
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.emulated.job_emulator import JobEmulator, running_jobs
from support.emulated.services.job_network import observe
from vertex_emulator.client.control import Control, ControlError
from vertex_emulator.replicas.network import forwarding
from vertex_emulator.replicas.network.job_network import JobNetwork, NetworkError
from vertex_emulator.replicas.network.probe import problem_with
from vertex_emulator.replicas.sandbox.children import spawn
from vertex_emulator.replicas.sandbox.probe import candidates
from vertex_emulator.replicas.sandbox.program import Command
from vertex_emulator.replicas.sandbox.sandbox import Sandbox

PLAIN = Sandbox(kind="process", reason="of a test")
KINDS = list(candidates())


def name_of(sandbox: Sandbox) -> str:
    return "-".join(["user" * sandbox.user, "pids" * sandbox.pids, "apart" * bool(sandbox.host_id)])


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what the replicas found."""
    return observe(tmp_path_factory.mktemp("network"))


@pytest.mark.parity(
    "Custom jobs: the network of a job",
    own_way="this machine's network, with an address of loopback and a free port for each replica; "
    "after `vertex-emulator network namespace` an address and port 2222, and other "
    "hosts through the proxy alone",
)
def test_replicas_reach_each_other_by_the_names_in_cluster_spec(found: dict[str, Any]) -> None:
    """Expect that all listen on all interfaces at Google's port, and that another job is not among them."""
    names = [each.removesuffix(":2222") for each in found["hosts"]]
    assert all(each.startswith("cmle-training-workerpool") for each in names)
    assert found["answers"] == ["job workerpool0-0", "job workerpool1-0", "job workerpool1-1"]
    assert found["addresses"] == ["10.128.0.2", "10.128.0.3", "10.128.0.4"]
    assert found["own address"] == ["10.128.0.2", "10.128.0.2"]
    for exceptions in found["no_proxy"]:
        assert {*names, *found["addresses"], "127.0.0.1", "localhost"} <= {*exceptions}


@pytest.mark.parity("Custom jobs: the network of a job")
def test_replicas_reach_the_emulator(found: dict[str, Any]) -> None:
    assert (found["storage"], found["metadata"]) == ("storage#buckets", "local")


@pytest.mark.parity("Custom jobs: the network of a job")
def test_replicas_reach_nothing_else(found: dict[str, Any]) -> None:
    assert found["local service"] == ["ConnectionRefusedError"] * 2
    assert {found["another job"], found["public address"]} <= {"OSError", "TimeoutError"}
    assert found["public name"] == "gaierror"
    assert [each for each in found["log"] if "other hosts only with HTTPS through the proxy" in each]


def test_replicas_have_no_rights(found: dict[str, Any]) -> None:
    rights = dict(found["rights"])
    assert rights.pop("Seccomp") == "2"
    rights.pop("Seccomp_filters", None)
    assert {int(each, 16) for each in rights.values()} == {0}


def test_a_port_of_a_replica_is_forwarded(found: dict[str, Any]) -> None:
    line = {"job": found["job id"], "replica": "workerpool1-0", "port": 2222}
    assert found["forwarded"] == [line, "job workerpool1-0", 130]
    assert found["loopback of a replica"] == "job workerpool1-1"
    assert found["no replica"].endswith("at port 2222: no such replica.")
    assert found["closed port"].endswith("at port 2223: Connection refused.")
    assert found["host network"].startswith("The job ID uses the network of this machine: connect")


def test_a_restarted_replica_has_the_same_address(found: dict[str, Any]) -> None:
    assert found["after a restart"] == "larger workerpool1-0"
    assert found["state"] == "JOB_STATE_SUCCEEDED"


def test_a_killed_supervisor_leaves_no_interface(found: dict[str, Any]) -> None:
    """Expect none of a killed job and an ended one. The observation has waited until no process was left."""
    assert found["interfaces"] == []


@pytest.mark.parametrize("sandbox", KINDS, ids=[name_of(each) for each in KINDS])
def test_a_network_in_every_sandbox(tmp_path: Path, sandbox: Sandbox) -> None:
    """Let a program in a replica connect to a port of the test, through the relay."""
    with socket.create_server(("127.0.0.1", 0)) as service:
        here = ("127.0.0.1", int(service.getsockname()[1]))
        network = JobNetwork(
            names=("a", "b"),
            hosts=("a", "b"),
            targets={4711: lambda: here, 4712: lambda: ("127.0.0.1", 9)},
            sandbox=sandbox,
            path=tmp_path / "network.sock",
        )
        child = spawn(
            Command(
                argv=("bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/4711; echo from a replica >&3; read -u 3"),
                environment={"PATH": "/usr/bin:/bin"},
                cwd=Path("/"),
                sandbox=sandbox,
                network=network.namespace(1),
            )
        )
        connection, _ = service.accept()
        with connection:
            assert connection.recv(100) == b"from a replica\n"
            assert closed(tmp_path, "b", 4712), "the relay has nowhere to connect to"
            with pytest.raises(forwarding.ForwardError, match="refused"):
                forwarding.connect(tmp_path, "b", 4713)
        child.kill()
        child.finish()
        network.close()
    assert not list(tmp_path.iterdir())
    with pytest.raises(forwarding.NetworkGoneError, match="has not started, or has ended"):
        forwarding.connect(tmp_path, "b", 4711)
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        connect = functools.partial(forwarding.connect, tmp_path, "b", 4711)
        with pytest.raises(forwarding.NetworkGoneError):
            forwarding.serve(listener, connect, pytest.fail)


def closed(folder: Path, replica: str, port: int) -> bool:
    """Return whether a connection ends without data: before it is complete, or as soon as it is."""
    try:
        with forwarding.connect(folder, replica, port) as connection:
            return connection.recv(1) == b""
    except (ConnectionResetError, forwarding.ForwardError):
        return True


def test_a_job_too_large_for_a_network(tmp_path: Path) -> None:
    names = [str(each) for each in range(1001)]
    with pytest.raises(NetworkError, match="at most 1000 replicas, and the job has 1001"):
        JobNetwork(names=names, hosts=names, targets={}, sandbox=KINDS[0], path=tmp_path / "s")


WITHOUT_NETWORKS = """
import json, os, sys
from pathlib import Path
from vertex_emulator.replicas.network.probe import problem_here
from vertex_emulator.replicas.sandbox.linux import namespaces as ns
from vertex_emulator.replicas.sandbox.sandbox import Sandbox
own = os.geteuid(), os.getegid()
ns.unshare(ns.CLONE_NEWUSER)
ns.map_own_ids(*own)
Path("/proc/sys/user/max_net_namespaces").write_text("0")
print(problem_here(Sandbox(kind="namespaces", user=True)))
"""


def test_a_machine_without_network_namespaces() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_NETWORKS],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert "No space left on device" in done.stdout, "the kernel's answer to one namespace too many"


def test_a_network_is_refused_without_namespaces(tmp_path: Path) -> None:
    assert problem_with(PLAIN) == "of a test"
    with running_jobs(tmp_path, sandbox=PLAIN) as emulator:
        control = control_of(emulator)
        with pytest.raises(ControlError) as error:
            control.set_network("namespace")
        assert "cannot have a network of their own on this machine: of a test." in str(error.value)
        assert "`vertex-emulator network host`" in str(error.value)
        assert (error.value.status, control.network()) == (400, "host")


def test_the_setting(idle: JobEmulator) -> None:
    control = control_of(idle)
    assert control.network() == "host"
    control.set_network("namespace")
    assert control.network() == "namespace"
    with pytest.raises(ControlError, match="network must be host or namespace"):
        control.set_network("bridge")
    control.reset()
    assert control.network() == "host"


def control_of(emulator: JobEmulator) -> Control:
    return Control(url=emulator.daemon.url, token=emulator.daemon.token)
