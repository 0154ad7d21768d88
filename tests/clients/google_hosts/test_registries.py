"""Container tools that use Google's host names for images, without a login of their own."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.layout import layout
from scripts.tools import client_tools
from support.clients.tools import tool
from support.emulated.clients.google_hosts import image_in, output
from support.emulated.emulator import ask, call
from vertex_emulator.daemon.daemon import Daemon

LOCATION = "/v1/projects/local/locations/{}/repositories"
HOST = "us-central1-docker.pkg.dev"
IMAGES = f"{HOST}/local/images"

Tool = Callable[..., str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an image and a file."""
    found = tmp_path_factory.mktemp("work")
    image_in(found)
    (found / "model.txt").write_text("weights")
    (found / "Dockerfile").write_text("FROM scratch\nCOPY model.txt /\n")
    (found / "policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
    return found


@pytest.fixture(scope="module")
def run(shell: dict[str, str], folder: Path) -> Tool:
    """Runs a tool in the shell of the proxy, and returns its output."""

    def run(name: str, *words: str | Path, fails: bool = False) -> str:
        path = client_tools.path(layout(), os.environ.get("PATH", os.defpath))
        program = shutil.which(name, path=path) or tool(name)
        environ = {**shell, "HOME": str(folder), "XDG_RUNTIME_DIR": str(folder)}
        return output([program, *words], environ, fails=fails, cwd=folder)

    return run


@pytest.fixture(scope="module")
def repository(daemon: Daemon) -> str:
    """Create the repository `images`. Return its resource name."""
    path = f"{LOCATION.format('us-central1')}?repositoryId=images"
    ask(daemon, "POST", path, {"format": "DOCKER"}).ok()
    return f"{LOCATION.format('us-central1')}/images"


def uris(daemon: Daemon, repository: str, image: str) -> list[str]:
    """Return the addresses of an image's versions, as Artifact Registry lists them."""
    found = ask(daemon, "GET", f"{repository}/dockerImages").json()
    addresses = [each["uri"] for each in found.get("dockerImages", [])]
    return [each for each in addresses if f"/{image}@sha256:" in each]


@pytest.mark.parity(
    "The interface: images under Google's host names",
    own_way="the same names, through the proxy; a login file with all hosts",
)
def test_skopeo(daemon: Daemon, repository: str, run: Tool) -> None:
    name = f"docker://{IMAGES}/skopeo"
    run("skopeo", "--insecure-policy", "copy", "oci:image", f"{name}:v1")
    run("skopeo", "--insecure-policy", "copy", f"{name}:v1", f"{name}:v2")
    assert json.loads(run("skopeo", "inspect", f"{name}:v1"))["Name"] == f"{IMAGES}/skopeo"
    listed = json.loads(run("skopeo", "list-tags", name))
    assert listed == {"Repository": f"{IMAGES}/skopeo", "Tags": ["v1", "v2"]}
    (uri,) = uris(daemon, repository, "skopeo")
    assert uri.startswith(f"{IMAGES}/skopeo@sha256:")


@pytest.mark.parametrize(
    ("host", "location"), [("gcr.io", "us"), ("eu.gcr.io", "europe")], ids=["gcr.io", "eu.gcr.io"]
)
def test_the_first_push_to_container_registry_creates_its_repository(
    daemon: Daemon, run: Tool, host: str, location: str
) -> None:
    repository = f"{LOCATION.format(location)}/{host}"
    assert ask(daemon, "GET", repository).status == 404
    for _ in range(2):
        run("skopeo", "--insecure-policy", "copy", "oci:image", f"docker://{host}/local/team/one:v1")
    tags = json.loads(run("skopeo", "list-tags", f"docker://{host}/local/team/one"))["Tags"]
    assert tags == ["v1"]
    (uri,) = uris(daemon, repository, "team/one")
    assert uri.startswith(f"{location}-docker.pkg.dev/local/{host}/team/one@sha256:")


@pytest.mark.parity("The interface: images under Google's host names")
def test_buildah(daemon: Daemon, repository: str, run: Tool, folder: Path) -> None:
    """Expect that an image is built, pushed, removed, and pulled again."""
    stores = ("--storage-driver", "vfs", "--root", folder / "store", "--runroot", folder / "run")
    policy = ("--signature-policy", folder / "policy.json")
    name = f"{IMAGES}/buildah:v1"
    run("buildah", *stores, "bud", "--isolation=chroot", *policy, "-t", name, ".")
    run("buildah", *stores, "push", *policy, name)
    run("buildah", *stores, "rmi", "--all", "--force")
    run("buildah", *stores, "pull", *policy, name)
    assert name in run("buildah", *stores, "images", "--format", "{{.Name}}:{{.Tag}}")
    assert len(uris(daemon, repository, "buildah")) == 1


@pytest.mark.parity("The interface: images under Google's host names")
def test_crane(daemon: Daemon, repository: str, run: Tool, folder: Path) -> None:
    pushed = run("crane", "push", "image", f"{IMAGES}/crane:v1").strip()
    assert pushed in uris(daemon, repository, "crane")
    run("crane", "tag", f"{IMAGES}/crane:v1", "v2")
    assert run("crane", "ls", f"{IMAGES}/crane").split() == ["v1", "v2"]
    run("crane", "copy", f"{IMAGES}/crane:v1", "us.gcr.io/local/crane:v1")
    assert run("crane", "digest", "us.gcr.io/local/crane:v1").strip() == pushed.partition("@")[2]
    run("crane", "pull", f"{IMAGES}/crane:v1", "crane.tar")
    assert (folder / "crane.tar").stat().st_size > 0
    run("crane", "delete", "us.gcr.io/local/crane:v1")
    refused = run("crane", "digest", "us.gcr.io/local/crane:v1", fails=True)
    assert "has no manifest v1" in refused


@pytest.mark.parity("The interface: images under Google's host names")
def test_oras(daemon: Daemon, repository: str, run: Tool, folder: Path) -> None:
    name = f"{IMAGES}/oras"
    run("oras", "push", f"{name}:v1", "model.txt")
    run("oras", "pull", "-o", "pulled", f"{name}:v1")
    assert (folder / "pulled" / "model.txt").read_text() == "weights"
    run("oras", "attach", "--artifact-type", "application/x", f"{name}:v1", "Dockerfile")
    assert "application/x" in run("oras", "discover", f"{name}:v1")
    run("oras", "cp", f"{name}:v1", "asia.gcr.io/local/oras:v1")
    assert run("oras", "repo", "tags", "asia.gcr.io/local/oras").split() == ["v1"]
    assert len(uris(daemon, repository, "oras")) >= 1


def test_each_host_lists_its_own_repositories(daemon: Daemon, run: Tool, repository: str) -> None:
    """Expect names without the host, as in names of images."""
    run("crane", "push", "image", f"{IMAGES}/listed:v1")
    run("crane", "push", "image", "gcr.io/local/team/listed:v1")
    names = run("crane", "catalog", HOST).split()
    assert "local/images/listed" in names and not any("listed" in each and "team" in each for each in names)
    assert "local/team/listed" in run("crane", "catalog", "gcr.io").split()
    assert "local/team/listed" not in run("crane", "catalog", "us-docker.pkg.dev").split()
    assert "listed" in run("oras", "repo", "ls", IMAGES).split()
    login = f"oauth2accesstoken:{daemon.token}"
    tags = run("curl", "-sSf", "-u", login, "https://gcr.io/v2/local/team/listed/tags/list")
    assert json.loads(tags) == {"name": "local/team/listed", "tags": ["v1"]}


def test_a_repository_that_does_not_exist(run: Tool) -> None:
    refused = run("crane", "push", "image", f"{HOST}/local/none/one:v1", fails=True)
    assert "gcloud artifacts repositories create none" in refused


def test_the_logins_have_the_lesser_token(daemon: Daemon, shell: dict[str, str]) -> None:
    """Expect that a program that sends them elsewhere gives away no more than the services."""
    path = Path(shell["REGISTRY_AUTH_FILE"])
    assert path.parent == Path(shell["DOCKER_CONFIG"])
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert daemon.token not in path.read_text()
    auth = json.loads(path.read_text())["auths"]["gcr.io"]["auth"]
    answer = call(daemon.url, "GET", "/_local/info", headers={"Authorization": f"Basic {auth}"})
    assert answer.status == 401
