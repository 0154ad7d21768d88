"""The IAM policies of service accounts: read, replaced, refused, denied, and kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.iam.v1 import iam_policy_pb2, policy_pb2

from support.emulated.clients.grpc_channel import connected
from support.emulated.emulator import Answer, ask, running
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.kernel.projects import project_number
from vertex_emulator.server.rpc import descriptors

TRAINER = "trainer@local.iam.gserviceaccount.com"
ACCOUNT = f"/v1/projects/local/serviceAccounts/{TRAINER}"
PROJECT = "/v1/projects/local"
USER = {"role": "roles/iam.serviceAccountUser", "members": ["user:a@example.com"]}
EMPTY = {"etag": "ACAB"}
ACT_AS = "iam.serviceAccounts.actAs"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("policies")) as found:
        yield found


@pytest.fixture
def emulator(daemon: Daemon) -> Iterator[Daemon]:
    yield daemon
    assert ask(daemon, "POST", "/_local/reset", {}).status == 200


def read(emulator: Daemon, path: str = ACCOUNT) -> dict[str, Any]:
    return ask(emulator, "POST", f"{path}:getIamPolicy?options.requestedPolicyVersion=3").ok().json()


def write(emulator: Daemon, path: str = ACCOUNT, mask: str | None = None, **policy: Any) -> Answer:
    body = {"policy": policy, **({"updateMask": mask} if mask else {})}
    return ask(emulator, "POST", f"{path}:setIamPolicy", body)


def written(emulator: Daemon, path: str = ACCOUNT, **policy: Any) -> dict[str, Any]:
    return write(emulator, path, **policy).ok().json()


@pytest.mark.parity(
    "Quotas, permissions and services of a project: the policy of a service account",
    own_way="stored, with etags; empty at first",
)
def test_what_is_set_is_read(emulator: Daemon) -> None:
    assert read(emulator) == EMPTY
    saved = written(emulator, bindings=[USER], etag="ACAB")
    assert (saved["bindings"], saved["version"]) == ([USER], 1)
    assert saved["etag"] != "ACAB"
    assert read(emulator) == saved
    assert read(emulator, ACCOUNT.replace("local/", "-/", 1)) == saved
    assert read(emulator, ACCOUNT.replace("local/", f"{project_number('local')}/", 1)) == saved
    assert read(emulator, ACCOUNT.replace("trainer@", "other@")) == EMPTY
    assert written(emulator, bindings=[], etag=saved["etag"]) == EMPTY
    assert read(emulator) == EMPTY


def test_a_condition_needs_version_3(emulator: Daemon) -> None:
    binding = {**USER, "condition": {"title": "soon", "expression": "true"}}
    refused = write(emulator, bindings=[binding], version=1)
    assert (refused.status, "requires policy version 3" in refused.message) == (400, True)
    assert written(emulator, bindings=[binding], version=3)["bindings"] == [binding]
    assert read(emulator)["version"] == 3


@pytest.mark.parity("Quotas, permissions and services of a project: the policy of a service account")
@pytest.mark.parametrize("path", [ACCOUNT, PROJECT])
def test_a_policy_that_has_changed_since_it_was_read(emulator: Daemon, path: str) -> None:
    first = read(emulator, path)
    second = written(emulator, path, bindings=[USER], etag=first["etag"])
    late = write(emulator, path, bindings=[], etag=first["etag"])
    assert (late.status, late.json()["error"]["status"]) == (409, "ABORTED")
    assert "concurrent policy changes" in late.message
    assert read(emulator, path) == second
    other = {**USER, "members": ["user:b@example.com"]}
    assert written(emulator, path, bindings=[other])["bindings"] == [other]  # no etag replaces any policy


def test_a_mask_without_bindings_keeps_them(emulator: Daemon) -> None:
    written(emulator, bindings=[USER])
    answer = write(emulator, mask="version", bindings=[], version=3)
    assert (answer.json()["bindings"], answer.json()["version"]) == ([USER], 3)
    refused = write(emulator, mask="roles", bindings=[])
    assert (refused.status, "'roles'" in refused.message) == (400, True)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({"bindings": [{"role": "viewer", "members": []}]}, "'viewer' is not a role"),
        ({"bindings": [{**USER, "members": ["someone"]}]}, "'someone' is not a member"),
        ({"version": 2}, "version 2 does not exist"),
        ({"bindings": [{**USER, "members": ["user:a"] * 1501}]}, "more than 1500 members"),
        ({"bindings": "all"}, "bindings"),
    ],
)
@pytest.mark.parametrize("path", [ACCOUNT, PROJECT])
def test_what_is_no_policy_is_refused(
    emulator: Daemon, path: str, policy: dict[str, Any], words: str
) -> None:
    before = read(emulator, path)
    refused = write(emulator, path, **policy)
    assert (refused.status, words in refused.message) == (400, True), refused.message
    assert read(emulator, path) == before


def test_only_a_project_is_audited(emulator: Daemon) -> None:
    audited = [{"service": "allServices"}]
    refused = write(emulator, auditConfigs=audited)
    assert (refused.status, "Only the policy of a project" in refused.message) == (400, True)
    assert written(emulator, PROJECT, auditConfigs=audited)["auditConfigs"] == audited


def test_a_version_that_does_not_exist_is_not_read(emulator: Daemon) -> None:
    answer = ask(emulator, "POST", f"{ACCOUNT}:getIamPolicy?options.requestedPolicyVersion=4")
    assert (answer.status, "no policy version 4" in answer.message) == (400, True)


@pytest.mark.parametrize("verb", ["getIamPolicy", "setIamPolicy"])
def test_a_denied_permission(emulator: Daemon, verb: str) -> None:
    permission = f"iam.serviceAccounts.{verb}"
    denial = {"permission": permission, "resource": TRAINER}
    assert ask(emulator, "POST", "/_local/denials", denial).json()["enforced"] is True
    refused = ask(emulator, "POST", f"{ACCOUNT}:{verb}", {})
    (info,) = refused.json()["error"]["details"]
    assert (refused.status, info["metadata"]["permission"]) == (403, permission)
    other = ACCOUNT.replace("trainer@", "other@")
    assert ask(emulator, "POST", f"{other}:{verb}", {}).status == 200
    asked = {"permissions": [permission, ACT_AS]}
    granted = ask(emulator, "POST", f"{ACCOUNT}:testIamPermissions", asked).json()
    assert granted == {"permissions": [ACT_AS]}


@pytest.mark.parity("Quotas, permissions and services of a project: the policy of a service account")
def test_a_denial_holds_whatever_the_policy_says(emulator: Daemon) -> None:
    asked = {"permissions": [ACT_AS]}
    everybody = {"role": "roles/iam.serviceAccountUser", "members": ["allAuthenticatedUsers"]}
    denial = {"permission": ACT_AS, "resource": TRAINER}
    assert ask(emulator, "POST", "/_local/denials", denial).status == 200
    written(emulator, bindings=[everybody])
    assert ask(emulator, "POST", f"{ACCOUNT}:testIamPermissions", asked).json() == {}
    assert ask(emulator, "DELETE", "/_local/denials").status == 200
    written(emulator, bindings=[])
    assert ask(emulator, "POST", f"{ACCOUNT}:testIamPermissions", asked).json() == asked


def test_the_policy_goes_with_its_account(emulator: Daemon) -> None:
    written(emulator, bindings=[USER])
    assert ask(emulator, "DELETE", ACCOUNT).status == 200
    for verb in ("getIamPolicy", "setIamPolicy"):
        answer = ask(emulator, "POST", f"{ACCOUNT}:{verb}", {})
        assert (answer.status, answer.message) == (404, f"Unknown service account: {TRAINER}")
    ask(emulator, "POST", "/v1/projects/local/serviceAccounts", {"accountId": "trainer"}).ok()
    assert read(emulator) == EMPTY
    written(emulator, bindings=[USER])
    assert ask(emulator, "POST", "/_local/reset", {}).status == 200
    assert read(emulator) == EMPTY


@pytest.mark.parity(
    "Quotas, permissions and services of a project: service accounts",
    own_way="no patch; every account with a well-formed address exists until it is deleted",
)
def test_accounts_are_listed_once_somebody_has_changed_them(emulator: Daemon) -> None:
    def listed(query: str = "") -> tuple[list[str], str]:
        found = ask(emulator, "GET", f"/v1/projects/local/serviceAccounts{query}").ok().json()
        return [each["email"] for each in found.get("accounts", [])], found.get("nextPageToken", "")

    own = f"{project_number('local')}-compute@developer.gserviceaccount.com"
    assert listed() == ([own], "")
    written(emulator, bindings=[USER])
    written(emulator, ACCOUNT.replace("local", "other"), bindings=[USER])
    disabled = TRAINER.replace("trainer", "older")
    assert ask(emulator, "POST", f"{ACCOUNT.replace('trainer', 'older')}:disable", {}).status == 200
    assert listed() == ([own, disabled, TRAINER], "")
    first, token = listed("?pageSize=2")
    assert (first, listed(f"?pageSize=2&pageToken={token}")) == ([own, disabled], ([TRAINER], ""))
    assert ask(emulator, "DELETE", ACCOUNT.replace(TRAINER, own)).status == 200
    assert listed() == ([disabled, TRAINER], "")
    for wrong in ("?pageSize=-1", "?pageSize=many", "?pageToken=x"):
        assert ask(emulator, "GET", f"/v1/projects/local/serviceAccounts{wrong}").status == 400


def test_over_grpc(emulator: Daemon) -> None:
    resource = ACCOUNT.removeprefix("/v1/")

    def invoke(name: str, request: Any) -> bytes:
        with connected(emulator, emulator.token) as channel:
            method = channel.unary_unary(f"/{descriptors.IAM}/{name}")
            return method(request.SerializeToString(), timeout=30)

    def policy() -> policy_pb2.Policy:
        answer = invoke("GetIamPolicy", iam_policy_pb2.GetIamPolicyRequest(resource=resource))
        return policy_pb2.Policy.FromString(answer)

    first = policy()
    assert first == policy_pb2.Policy(etag=b"\x00\x20\x01")
    first.bindings.add(**USER)
    change = iam_policy_pb2.SetIamPolicyRequest(resource=resource, policy=first)
    assert policy_pb2.Policy.FromString(invoke("SetIamPolicy", change)) == policy()
    assert read(emulator)["bindings"] == [USER]
    with pytest.raises(grpc.RpcError) as caught:
        invoke("SetIamPolicy", change)
    assert caught.value.code() is grpc.StatusCode.ABORTED
    one = descriptors.message("google.iam.admin.v1.GetServiceAccountRequest")
    one.name = resource
    account = descriptors.message("google.iam.admin.v1.ServiceAccount")
    account.ParseFromString(invoke("GetServiceAccount", one))
    assert (account.email, account.project_id) == (TRAINER, "local")
    one.name = TRAINER
    with pytest.raises(grpc.RpcError) as caught:
        invoke("GetServiceAccount", one)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "Write projects/P/serviceAccounts/EMAIL." in caught.value.details()


def test_what_is_not_served_is_refused_by_name(emulator: Daemon) -> None:
    refused = ask(emulator, "POST", f"{ACCOUNT}/keys", {})
    assert (refused.status, refused.message) == (
        400,
        "The emulator does not implement google.iam.admin.v1.IAM.CreateServiceAccountKey.",
    )


def test_a_policy_survives_a_restart(tmp_path: Path) -> None:
    with running(tmp_path / "data") as first:
        saved = written(first, bindings=[USER])
    with running(tmp_path / "data") as second:
        assert read(second) == saved
