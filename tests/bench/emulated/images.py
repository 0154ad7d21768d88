"""The image registry next to Debian's, our client next to skopeo, and uploads of unchanged images."""

from __future__ import annotations

import gzip
import http.client
import itertools
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from comparison import against, in_turns, seconds
from emulated import servers, unchanged
from figure import Figure

from pulumi_vertex_training.cloud.container_registry import client as registry
from pulumi_vertex_training.cloud.container_registry import push as registry_push
from pulumi_vertex_training.cloud.container_registry.client import Manifest, digest_of, file_digest
from pulumi_vertex_training.cloud.container_registry.descriptors import Descriptor
from pulumi_vertex_training.cloud.container_registry.image_names import ImageName, parse
from pulumi_vertex_training.cloud.container_registry.push import BlobUpload
from pulumi_vertex_training.cloud.endpoint import Endpoint
from vertex_emulator.client.launcher import Emulator

MEGABYTES = 100
_ROUNDS = 4
_SMALL = 300
_OCI = "application/vnd.oci.image"


@dataclass(frozen=True, kw_only=True)
class Server:
    """A registry for our client and skopeo. `config` is the folder of skopeo's credentials."""

    url: str
    token: str
    config: Path | None = None

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(
            kind="emulator", project="local", location="us-central1", url=self.url, token=self.token
        )

    def address(self, name: ImageName) -> str:
        return f"docker://{urlsplit(self.url).netloc}/{name.repository}:{name.reference}"


@dataclass(frozen=True, kw_only=True)
class Image:
    """An image of one large layer, as a folder in skopeo's form `dir:` and as parts for our client."""

    folder: Path
    manifest: Manifest
    parts: tuple[BlobUpload, ...]

    @property
    def layer(self) -> BlobUpload:
        return self.parts[0]


def figures() -> Iterator[Figure]:
    with servers.emulator() as own, servers.docker_registry() as peer:
        at = {"ours": Server(url=own.url, token=own.token, config=_config(own))}
        if peer.url:
            at[peer.name] = Server(url=peer.url, token="none")
        missing = [f"{peer.name}: {peer.why_not}"] if peer.why_not else []
        yield from _layer(at, missing)
        yield from _head(at, missing)
    yield from unchanged.figures()


def _layer(at: Mapping[str, Server], missing: list[str]) -> Iterator[Figure]:
    """Measure pushes and pulls of a large layer; a new image each round, for skopeo remembers layers."""
    skopeo = shutil.which("skopeo")
    clients: dict[str, tuple[Transfer, Transfer]] = {"our client": (_push, _pull)}
    if skopeo is not None:
        clients["skopeo"] = (_skopeo_push, _skopeo_pull)
    up: dict[tuple[str, str], list[float]] = {(who, client): [] for client in clients for who in at}
    down: dict[tuple[str, str], list[float]] = {key: [] for key in up}
    for number in range(_ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            image = _image(Path(folder, "image"))
            for who, client in up:
                name = parse(f"docker.io/bench/{client.replace(' ', '-')}:{number}")
                push, pull = clients[client]
                up[who, client].append(push(at[who], name, image, Path(folder)))
                down[who, client].append(pull(at[who], name, image, Path(folder)))
    for word, times in (("up", up), ("down", down)):
        least = {key: min(values) for key, values in times.items()}
        for client in clients:
            took = {who: least[who, client] for who in at}
            yield against(f"registry: {MEGABYTES} MB layer {word}, {client}", took, missing=missing)
        yield against(
            f"our client: {MEGABYTES} MB layer {word}, to our registry"
            if word == "up"
            else f"our client: {MEGABYTES} MB layer {word}, from our registry",
            {client: least["ours", client] for client in clients},
            ours="our client",
            missing=[] if skopeo else ["skopeo: not on PATH: apt-get install skopeo"],
        )


Transfer = Callable[[Server, ImageName, Image, Path], float]


def _push(server: Server, name: ImageName, image: Image, _: Path) -> float:
    def push() -> None:
        registry_push.push(server.endpoint, name, image.manifest, image.parts)
        registry_push.tag(server.endpoint, name, image.manifest)

    return seconds(push)


def _pull(server: Server, name: ImageName, image: Image, folder: Path) -> float:
    target = folder / "pulled"

    def pull() -> None:
        registry.manifest(server.endpoint, name)
        for part in image.parts:
            target.unlink(missing_ok=True)
            registry.download_blob(
                server.endpoint, name, Descriptor(digest=part.digest, size=part.size), target
            )

    return seconds(pull)


def _skopeo_push(server: Server, name: ImageName, image: Image, folder: Path) -> float:
    return _skopeo(server, folder, f"dir:{image.folder}", server.address(name), "--dest-tls-verify=false")


def _skopeo_pull(server: Server, name: ImageName, image: Image, folder: Path) -> float:
    target = folder / "copy"
    took = _skopeo(server, folder, server.address(name), f"dir:{target}", "--src-tls-verify=false")
    assert (target / image.layer.digest.partition(":")[2]).stat().st_size == image.layer.size
    shutil.rmtree(target)
    return took


def _skopeo(server: Server, folder: Path, source: str, target: str, *options: str) -> float:
    environ = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environ.pop("REGISTRY_AUTH_FILE", None)
    environ |= {"HOME": str(folder), "XDG_RUNTIME_DIR": str(folder)}
    if server.config is not None:
        environ["DOCKER_CONFIG"] = str(server.config)
    command = ["skopeo", "--insecure-policy", "copy", "--quiet", *options, source, target]
    return seconds(lambda: subprocess.run(command, env=environ, check=True, capture_output=True))


def _head(at: Mapping[str, Server], missing: list[str]) -> Iterator[Figure]:
    """Measure lookups of a blob on one connection."""
    content = b"{}"
    digest, numbers = digest_of(content), itertools.count()
    small = BlobUpload(digest=digest, size=len(content), content=content)
    described = {"mediaType": f"{_OCI}.config.v1+json", "digest": digest, "size": small.size}
    document = {
        "schemaVersion": 2,
        "mediaType": f"{_OCI}.manifest.v1+json",
        "config": described,
        "layers": [],
    }
    manifest = _manifest(document)

    def many(server: Server) -> float:
        name = parse(f"docker.io/bench/small-{next(numbers)}")
        registry_push.push(server.endpoint, name, manifest, [small])
        parts = urlsplit(server.url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
        headers = {"Authorization": f"Bearer {server.token}"}

        def ask() -> None:
            connection.request("HEAD", f"/v2/{name.repository}/blobs/{digest}", headers=headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, answer.status

        took = seconds(lambda: [ask() for _ in range(_SMALL)]) / _SMALL
        connection.close()
        return took

    took = in_turns({who: _of(many, server) for who, server in at.items()}, rounds=5)
    name = "registry: a blob looked up"
    yield Figure(
        name=f"{name}, on one connection",
        value=1 / took["ours"],
        unit="/s",
        budget=1000,
        higher_is_better=True,
    )
    yield against(name, took, missing=missing, scale=1000, unit="ms", budget=None)


def _image(folder: Path) -> Image:
    folder.mkdir()
    layer, config = folder / "layer", b'{"architecture":"amd64","os":"linux","rootfs":{"type":"layers"}}'
    layer.write_bytes(gzip.compress(os.urandom(MEGABYTES * 1_000_000), compresslevel=0))
    digest = file_digest(layer)
    (folder / digest.partition(":")[2]).hardlink_to(layer)
    (folder / digest_of(config).partition(":")[2]).write_bytes(config)
    parts = (
        BlobUpload(digest=digest, size=layer.stat().st_size, content=layer),
        BlobUpload(digest=digest_of(config), size=len(config), content=config),
    )
    described = [{"digest": part.digest, "size": part.size} for part in parts]
    manifest = _manifest(
        {
            "schemaVersion": 2,
            "mediaType": f"{_OCI}.manifest.v1+json",
            "config": {**described[1], "mediaType": f"{_OCI}.config.v1+json"},
            "layers": [{**described[0], "mediaType": f"{_OCI}.layer.v1.tar+gzip"}],
        }
    )
    (folder / "manifest.json").write_bytes(manifest.content)
    (folder / "version").write_text("Directory Transport Version: 1.1\n")
    return Image(folder=folder, manifest=manifest, parts=parts)


def _manifest(document: Mapping[str, object]) -> Manifest:
    content = json.dumps(document).encode()
    return Manifest(digest=digest_of(content), media_type=str(document["mediaType"]), content=content)


def _config(own: Emulator) -> Path:
    return own.data_dir / "docker"


def _of(action: Callable[[Server], float], server: Server) -> Callable[[], float]:
    return lambda: action(server)
