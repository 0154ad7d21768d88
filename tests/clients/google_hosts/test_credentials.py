"""Programs that find credentials in a shell with the emulator's proxy, and hosts that it lacks."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from scripts.tools import google_clients
from support.clients.tools import tool
from support.emulated.clients.google_hosts import client, output, times_refused
from support.emulated.emulator import ask
from vertex_emulator.client.control import Control
from vertex_emulator.daemon.daemon import Daemon

_RUST = """
import json, obstore
from obstore.store import GCSStore
store = GCSStore("of-object-store", client_options={"timeout": "30s"})
obstore.put(store, "a/b-c d.txt", b"hello")
obstore.copy(store, "a/b-c d.txt", "copied")
obstore.rename(store, "copied", "renamed", overwrite=False)
try:
    obstore.copy(store, "renamed", "a/b-c d.txt", overwrite=False)
except obstore.exceptions.AlreadyExistsError as error:
    again = type(error).__name__
obstore.put(store, "big", b"x" * 11_000_000, chunk_size=5 << 20)
names = sorted(each["path"] for each in obstore.list(store).collect())
try:
    obstore.get(store, "renamed", options={"version": "no-number"})
except obstore.exceptions.GenericError as error:
    assert "400 Bad Request" in str(error), error
print(json.dumps([bytes(obstore.get(store, "renamed").bytes()).decode(), names, again]))
"""


@pytest.mark.parity("The interface: programs that only know Google's hosts")
def test_object_store_of_rust(daemon: Daemon, shell: dict[str, str]) -> None:
    """Expect a bucket with hyphens, copies with and without overwriting, an upload in parts, and one try."""
    ask(daemon, "POST", "/storage/v1/b?project=local", {"name": "of-object-store"})
    assert json.loads(output([sys.executable, "-c", _RUST], shell)) == [
        "hello",
        ["a/b-c d.txt", "big", "renamed"],
        "AlreadyExistsError",
    ]
    sent = Control(url=daemon.url, token=daemon.token).requests()["requests"]
    assert [each["status"] for each in sent if "generation=no-number" in each["target"]] == [400]


_NODE = """
const {Storage} = require("@google-cloud/storage");
(async () => {
  const bucket = new Storage().bucket("of-node-alone");
  await bucket.file("o").save("hello");
  const refused = await bucket.createNotification("projects/local/topics/t").catch((error) => error);
  const [content] = await bucket.file("o").download();
  console.log(JSON.stringify([content.toString(), refused.code, refused.message]));
})();
"""


@pytest.mark.parity("The interface: programs that only know Google's hosts")
def test_node_finds_credentials_and_repeats_no_refused_call(daemon: Daemon, shell: dict[str, str]) -> None:
    ask(daemon, "POST", "/storage/v1/b?project=local", {"name": "of-node-alone"})
    folder = client(google_clients.NODE).parent
    content, code, message = json.loads(output([tool("node"), "-e", _NODE], shell, cwd=folder))
    assert (content, code, "it has no Pub/Sub" in message) == ("hello", 400, True)
    assert times_refused(daemon, "of-node-alone") == 1


_PYTHON = """
import json, google.auth, google.auth.compute_engine, google.auth.transport.requests, requests
from google.cloud import storage
key, _ = google.auth.default()
blob = storage.Client().bucket("of-keys").blob("o")
blob.upload_from_string("hello")
machine = google.auth.compute_engine.Credentials()
machine.refresh(google.auth.transport.requests.Request())
urls = [
    blob.generate_signed_url(version="v4", expiration=60),
    blob.generate_signed_url(
        version="v4",
        expiration=60,
        service_account_email=machine.service_account_email,
        access_token=machine.token,
    ),
]
secrets = requests.get("https://pubsub.googleapis.com/v1/projects/local/topics")
read = [requests.get(url).text for url in urls]
print(json.dumps([type(key).__module__, *read, secrets.status_code, secrets.text]))
"""


@pytest.mark.parity("The interface: programs that only know Google's hosts")
def test_key_file_and_sign_blob(daemon: Daemon, shell: dict[str, str]) -> None:
    """Expect tokens for the key of the shell, signatures without a key, and no token for another host."""
    ask(daemon, "POST", "/storage/v1/b?project=local", {"name": "of-keys"})
    kind, by_key, by_iam, status, refused = json.loads(output([sys.executable, "-c", _PYTHON], shell))
    assert (kind, by_key, by_iam) == ("google.oauth2.service_account", "hello", "hello")
    assert status == 400
    assert "vertex-emulator allow-host pubsub.googleapis.com" in json.loads(refused)["error"]["message"]


_GRPC = """
import json
import grpc

def details(host, method):
    with grpc.secure_channel(f"{host}:443", grpc.ssl_channel_credentials()) as channel:
        try:
            channel.unary_unary(method)(b"", timeout=60)
        except grpc.RpcError as error:
            return [error.code().name, error.details()]

print(json.dumps([
    details("pubsub.googleapis.com", "/google.pubsub.v1.Publisher/ListTopics"),
    details("storage.googleapis.com", "/google.storage.v2.Storage/ListBuckets"),
]))
"""


@pytest.mark.parity("The interface: programs that only know Google's hosts")
def test_grpc_refusals_name_method_and_host(shell: dict[str, str]) -> None:
    lacking, unsupported = json.loads(output([sys.executable, "-c", _GRPC], shell))
    assert lacking[0] == unsupported[0] == "UNIMPLEMENTED"
    assert lacking[1].startswith(
        "The emulator does not implement google.pubsub.v1.Publisher.ListTopics. The emulator does not have "
        "pubsub.googleapis.com"
    )
    assert lacking[1].endswith("vertex-emulator allow-host pubsub.googleapis.com")
    assert unsupported[1] == (
        "The emulator does not implement google.storage.v2.Storage.ListBuckets of storage.googleapis.com."
    )


def test_token_endpoint_takes_no_other_key(shell: dict[str, str]) -> None:
    form = "grant_type=refresh_token&refresh_token=x"
    command = [tool("curl"), "-sS", "-d", form, "https://oauth2.googleapis.com/token"]
    assert json.loads(output(command, shell))["error"] == "invalid_grant"


def test_allowed_hosts_are_kept_and_removed(daemon: Daemon) -> None:
    control = Control(url=daemon.url, token=daemon.token)
    assert control.allow_host("pubsub.googleapis.com") == ["pubsub.googleapis.com"]
    assert control.allowed_hosts() == ["pubsub.googleapis.com"]
    control.refuse_hosts()
    assert control.allowed_hosts() == []
    for host in ("storage.googleapis.com", "example.com"):
        answer = ask(daemon, "POST", "/_local/allowed-hosts", {"host": host})
        assert answer.status == 400


def test_httplib2_trusts_no_other_authority(shell: dict[str, str]) -> None:
    """Expect no other authority: without PySocks it ignores the proxy, and must not reach Google."""
    assert Path(shell["HTTPLIB2_CA_CERTS"]).read_text().count("BEGIN CERTIFICATE") == 1
