"""Java programs with the emulator's proxy: Google's libraries, and which certificates Java accepts."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from scripts.emulator_files import java_agent
from scripts.tools import google_clients
from support.clients.forged_certificates import forged
from support.clients.tools import tool
from support.emulated.clients.google_hosts import client, output, shell_of, times_refused
from support.emulated.emulator import running
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.server.proxy import variables
from vertex_emulator.server.proxy.java import AGENT


@pytest.fixture(scope="module")
def shell(daemon: Daemon) -> dict[str, str]:
    """Return the environment of a shell after `emulator env --java`."""
    return shell_of(daemon, java=True)


@pytest.mark.slow
@pytest.mark.smoke
@pytest.mark.parity("The interface: programs that only know Google's hosts")
def test_googles_libraries(daemon: Daemon, shell: dict[str, str]) -> None:
    """Expect Cloud Storage over REST, Vertex AI over gRPC, and each refusal after one request."""
    found = json.loads(output([client(google_clients.JAVA)], shell))
    code, refusal = found.pop("refused")
    assert (code, "notifications, because it has no Pub/Sub" in refusal) == (400, True)
    assert "does not implement google.cloud.aiplatform.v1.JobService.CreateNasJob of" in found.pop(
        "unsupported"
    )
    assert times_refused(daemon, "from-java") == 1
    assert found == {
        "read": "hello from java",
        "size": 9_000_000,
        "metadata": {"step": "3"},
        "batch": ["text/x", False],
        "names": ["a/b.txt", "big", "copy"],
        "deleted": [True, False],
        "taken": 412,
        "jobs": ["from-java"],
        "same": True,
        "missing": "NOT_FOUND",
    }


def test_java_prints_no_secret(daemon: Daemon, shell: dict[str, str]) -> None:
    """Expect what Java prints of its options at each start."""
    assert daemon.proxy_url is not None
    secret = daemon.proxy_url.partition("@")[0].rpartition(":")[2]
    assert secret and secret not in shell["JAVA_TOOL_OPTIONS"]


@contextmanager
def serving(context: ssl.SSLContext) -> Iterator[int]:
    """Shake hands with every client of a port of this machine. Yield the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    try:
                        context.wrap_socket(connection, server_side=True).close()
                    except OSError:
                        continue

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_the_key_of_the_authority_cannot_sign_for_other_sites(
    daemon: Daemon, shell: dict[str, str], tmp_path: Path
) -> None:
    """Expect that Java obeys the constraints of the intermediate, as it ignores those of a root."""
    found: dict[str, Any] = {}
    for name in ("gcr.io", "accounts.google.com"):
        server = forged(daemon.folder.root, x509.DNSName(name), "x", tmp_path / "chain.pem")
        with serving(server) as port:
            found |= json.loads(output([client(google_clients.JAVA), "trusts", str(port), name], shell))
    assert found.pop("gcr.io") == "trusted"
    assert "name constraints" in found["accounts.google.com"]


def properties(shell: dict[str, str], *options: str) -> dict[str, str]:
    """Return the properties of a Java machine."""
    done = subprocess.run(
        [tool("java"), *options, "-XshowSettings:properties", "-version"],
        env=shell,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    pairs = (line.strip().partition(" =") for line in done.stderr.splitlines() if " =" in line)
    return {name: value.strip() for name, _, value in pairs}


HOSTS, TRUST = "http.nonProxyHosts", "javax.net.ssl.trustStore"


def test_the_agent_sets_what_is_not_set(shell: dict[str, str]) -> None:
    exempt = (
        "intra.example,.corp.example, *.lab.example,10.0.0.0/8,172.16.0.0/14,192.168.1.2/32,fd00::/8,,1/2"
    )
    found = properties({**shell, "no_proxy": exempt}, f"-D{TRUST}=/own")
    assert (found["https.proxyHost"], found["https.proxyPort"]) == (
        "127.0.0.1",
        shell["https_proxy"].rpartition(":")[2],
    )
    assert (found[TRUST], found["jdk.http.auth.tunneling.disabledSchemes"]) == ("/own", "")
    assert found[HOSTS].split("|") == [
        *("localhost", "127.*", "[::1]", "intra.example", "*.intra.example"),
        *("corp.example", "*.corp.example", "lab.example", "*.lab.example"),
        *("10.*", "172.16.*", "172.17.*", "172.18.*", "172.19.*", "192.168.1.2"),
    ]
    assert "http.proxyHost" not in found


@pytest.mark.parametrize("proxy", ["http://emulator:secret@proxy.example:3128", "http://["])
def test_the_agent_does_nothing_with_another_proxy(shell: dict[str, str], proxy: str) -> None:
    found = properties({**shell, "https_proxy": proxy})
    assert not {"https.proxyHost", HOSTS, TRUST} & set(found)


def test_options_of_the_shell_stay(tmp_path: Path) -> None:
    """Use a folder whose name has a space."""
    with running(tmp_path / "my data") as daemon:
        mine = {"JAVA_TOOL_OPTIONS": "-Dmine=1 -Xmx64m"}
        once = shell_of(daemon, java=True, **mine)
        twice = {**once, **shell_of(daemon, java=True, JAVA_TOOL_OPTIONS=once["JAVA_TOOL_OPTIONS"])}
        assert twice == once
        found = properties(once)
        assert found["mine"] == "1"
        assert found[TRUST].startswith(f"{tmp_path}/my data/")
        assert variables.without(once)["JAVA_TOOL_OPTIONS"] == mine["JAVA_TOOL_OPTIONS"]


def test_the_agent_is_compiled_from_its_source(tmp_path: Path) -> None:
    tool("javac")
    compiled = java_agent.compile_to(tmp_path).read_bytes()
    java_agent.write(tmp_path / "again.jar", compiled)
    with zipfile.ZipFile(AGENT) as archive, zipfile.ZipFile(tmp_path / "again.jar") as again:
        for name in ("META-INF/MANIFEST.MF", java_agent.CLASS):
            assert archive.read(name) == again.read(name), "run: python -m scripts.emulator_files.java_agent"
