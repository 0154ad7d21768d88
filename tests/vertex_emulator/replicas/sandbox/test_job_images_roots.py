"""The root of a replica that runs an image, in every way that this machine allows; and hostile images."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.emulated.registries.images import static_program
from vertex_emulator.client.addresses import REDIRECT
from vertex_emulator.replicas.images.stack import OPAQUE
from vertex_emulator.replicas.preparation.command import CERTIFICATES_PATH, REDIRECT_PATH
from vertex_emulator.replicas.sandbox.children import run
from vertex_emulator.replicas.sandbox.mounts.image_root import ImageView
from vertex_emulator.replicas.sandbox.probe import candidates
from vertex_emulator.replicas.sandbox.program import Command
from vertex_emulator.replicas.sandbox.sandbox import Sandbox, View, make_folders


def without_notes(said: str) -> str:
    """Leave out which files belong to another user now."""
    return "".join(line for line in said.splitlines(keepends=True) if " on disk, " not in line)


def name_of(kind: Sandbox) -> str:
    return "-".join(
        filter(None, [kind.kind, "user" * kind.user, "pids" * kind.pids, "apart" * bool(kind.host_id)])
    )


KINDS = list(candidates())
NAMES = [name_of(kind) for kind in KINDS]


def names(folder: Path | str) -> list[str]:
    return sorted(each.name for each in Path(folder).iterdir())


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    folder.chmod(0o755)
    static_program(folder)
    return folder / "program"


def image_of(folder: Path, program: Path) -> Path:
    """Create an unpacked image with a program /app/run."""
    root = folder / "data" / "images" / "key" / "root"
    for path in ("app", "etc", "usr/share"):
        (root / path).mkdir(parents=True)
    shutil.copy(program, root / "app" / "run")
    (root / "app/run").chmod(0o755)
    (root / "usr/share/own.txt").write_text("own\n")
    return root


def output_of(
    folder: Path,
    sandbox: Sandbox,
    *,
    own: bool,
    words: list[str],
    inside: tuple[int, int] | None = None,
    working_dir: str = "/app",
    shares: Mapping[str, Path] | None = None,
    shown: Mapping[Path, Path] | None = None,
    overlays: bool = True,
    layers: tuple[str, ...] = ("key",),
    resolver: str | None = None,
) -> tuple[int, str]:
    """Run the image's program; its status and what it said."""
    data = folder / "data"
    (data / "buckets" / "b").mkdir(parents=True, exist_ok=True)
    (data / "token").write_text("secret")
    view = View(
        folder=data / "jobs/1/replica",
        buckets=data / "buckets",
        hidden=data,
        visible=(Path("/usr"),),
        hostname="cmle-training-workerpool0-abc-0",
        hosts="127.0.0.1 localhost cmle-training-workerpool0-abc-0\n",
        image=ImageView(
            folders=tuple(data / "images" / key / "root" for key in layers),
            own=own,
            scratch=data / "jobs/1/replica/image",
            working_dir=working_dir,
            inside=inside,
            overlays=overlays,
        ),
        shares=shares or {},
        shown=shown or {},
        resolver=resolver,
    )
    (data / "jobs/1/replica").mkdir(parents=True, exist_ok=True)
    make_folders(view)
    command = Command(
        argv=("/app/run", *words),
        environment={"PATH": "/usr/bin:/bin"},
        cwd=Path(working_dir),
        make_cwd=True,
        sandbox=sandbox,
        view=view,
    )
    code, output = run(command)
    return code, without_notes(output.decode(errors="replace"))


def add_layer(folder: Path) -> tuple[str, str]:
    """Create a layer above the image of `image_of`. Return the keys of both, the upper one first."""
    root, upper = folder / "data/images/key/root", folder / "data/images/upper/root"
    for path in (root / "opaque/lower", upper / "opaque/upper", upper / "usr/share"):
        path.mkdir(parents=True)
    (root / "usr/share/removed.txt").write_text("lower\n")
    os.mknod(upper / "usr/share/removed.txt", stat.S_IFCHR, os.makedev(0, 0))
    os.setxattr(upper / "opaque", OPAQUE, b"y")
    return "upper", "key"


LAYERED = [
    "r:/usr/share/own.txt",
    "r:/usr/share/removed.txt",
    "l:/opaque",
    "w:/app/new",
    "w:/usr/share/removed.txt",
]
SAID = ["own", "no /usr/share/removed.txt", "/opaque/upper", "wrote /app/new", "wrote /usr/share/removed.txt"]


@pytest.mark.parametrize("own", [True, False], ids=["own root", "on a stand-in"])
@pytest.mark.parametrize("sandbox", KINDS, ids=NAMES)
def test_several_layers_are_shown(tmp_path: Path, program: Path, sandbox: Sandbox, own: bool) -> None:
    root = image_of(tmp_path, program)
    layers = add_layer(tmp_path)
    for _ in range(2):
        code, said = output_of(tmp_path, sandbox, own=own, words=LAYERED, layers=layers)
        assert (code, said.splitlines()) == (0, SAID)
    assert (root / "usr/share/removed.txt").read_text() == "lower\n"
    assert names(root / "app") == ["run"]


def test_several_layers_are_not_shown_without_overlayfs(tmp_path: Path, program: Path) -> None:
    image_of(tmp_path, program)
    layers = add_layer(tmp_path)
    code, said = output_of(tmp_path, KINDS[0], own=True, words=["i"], layers=layers, overlays=False)
    assert code == 128
    assert "overlayfs refuses the layers of the image" in said


@pytest.mark.parametrize("own", [True, False], ids=["own root", "on a stand-in"])
@pytest.mark.parametrize("sandbox", KINDS, ids=NAMES)
def test_an_image_is_shown_and_can_be_written(
    tmp_path: Path, program: Path, sandbox: Sandbox, own: bool
) -> None:
    root = image_of(tmp_path, program)
    words = [
        "r:/usr/share/own.txt",
        "w:/app/new",
        "w:/new",
        "w:/tmp/x",
        "w:/gcs/b/x",
        f"r:{tmp_path}/data/token",
    ]
    code, said = output_of(tmp_path, sandbox, own=own, words=words)
    assert (code, said.splitlines()) == (
        0,
        [
            "own",
            "wrote /app/new",
            "wrote /new",
            "wrote /tmp/x",
            "wrote /gcs/b/x",
            f"no {tmp_path}/data/token",
        ],
    )
    assert names(root / "app") == ["run"]
    assert (tmp_path / "data/buckets/b/x").read_text() == "written\n"


@pytest.mark.parametrize("own", [True, False], ids=["own root", "on a stand-in"])
@pytest.mark.parametrize("sandbox", KINDS, ids=NAMES)
def test_name_servers_of_a_network_of_its_own(
    tmp_path: Path, program: Path, sandbox: Sandbox, own: bool
) -> None:
    before = Path("/etc/resolv.conf").read_bytes()
    image_of(tmp_path, program)
    words = ["r:/etc/resolv.conf"]
    code, said = output_of(tmp_path, sandbox, own=own, words=words, resolver="# none\n")
    assert (code, said) == (0, "# none\n")
    assert Path("/etc/resolv.conf").read_bytes() == before


def share_of(folder: Path) -> Path:
    """Create a share with a file."""
    share = folder / "data" / "file-shares" / "nfs" / "10.0.0.2"
    share.mkdir(parents=True)
    (share / "word").write_text("shared\n")
    return share


@pytest.mark.parametrize("has_mnt", [True, False], ids=["an image with /mnt", "one without"])
@pytest.mark.parametrize("own", [True, False], ids=["own root", "on a stand-in"])
@pytest.mark.parametrize("sandbox", KINDS, ids=NAMES)
def test_a_file_share_is_mounted(
    tmp_path: Path, program: Path, sandbox: Sandbox, own: bool, has_mnt: bool
) -> None:
    root, share = image_of(tmp_path, program), share_of(tmp_path)
    if has_mnt:
        (root / "mnt").mkdir()
    words = ["r:/mnt/nfs/data/word", "w:/mnt/nfs/data/new"]
    _, said = output_of(tmp_path, sandbox, own=own, words=words, shares={"mnt/nfs/data": share})
    assert said.splitlines() == ["shared", "wrote /mnt/nfs/data/new"]
    assert (share / "new").read_text() == "written\n"
    assert not (root / "mnt/nfs").exists()


@pytest.mark.parametrize("own", [True, False], ids=["own root", "on a stand-in"])
def test_a_file_share_is_mounted_without_overlayfs(tmp_path: Path, program: Path, own: bool) -> None:
    root, share = image_of(tmp_path, program), share_of(tmp_path)
    (root / "mnt").mkdir()
    words = ["r:/mnt/nfs/data/word", "w:/mnt/nfs/data/new"]
    shares = {"mnt/nfs/data": share}
    _, said = output_of(tmp_path, KINDS[0], own=own, words=words, shares=shares, overlays=False)
    lines = [line for line in said.splitlines() if "overlayfs" not in line]
    assert lines == ["shared", "wrote /mnt/nfs/data/new"]
    assert not (root / "mnt/nfs").exists()


def test_a_link_of_the_image_is_not_followed_to_mount_a_file_share(tmp_path: Path, program: Path) -> None:
    root, share = image_of(tmp_path, program), share_of(tmp_path)
    (root / "mnt").symlink_to("gcs")
    code, said = output_of(tmp_path, KINDS[0], own=True, words=["i"], shares={"mnt/nfs/data": share})
    assert code == 128
    assert "a link or file is in the way" in said
    assert not (tmp_path / "data/buckets/nfs").exists()


@pytest.mark.parametrize("sandbox", KINDS, ids=NAMES)
def test_another_user(tmp_path: Path, program: Path, sandbox: Sandbox) -> None:
    image_of(tmp_path, program)
    words = ["i", "w:/gcs/b/x"]
    _, said = output_of(tmp_path, sandbox, own=True, words=words, inside=(1234, 2345))
    assert said.splitlines() == ["user 1234 group 2345 in /app", "wrote /gcs/b/x"]
    assert (tmp_path / "data/buckets/b/x").stat().st_uid in (os.getuid(), sandbox.host_id)


@pytest.mark.parametrize("own", [True, False], ids=["own root", "on a stand-in"])
def test_without_overlayfs_the_working_directory_is_a_copy(tmp_path: Path, program: Path, own: bool) -> None:
    root = image_of(tmp_path, program)
    words = ["r:/usr/share/own.txt", "w:/app/new", "w:/tmp/x", "w:/usr/share/new"]
    code, said = output_of(tmp_path, KINDS[0], own=own, words=words, overlays=False)
    # The note is on another stream than the program's lines.
    (note,) = [line for line in said.splitlines() if "no overlayfs" in line]
    lines = [line for line in said.splitlines() if line != note]
    assert "the working directory /app" in note
    assert (code, lines[:3]) == (0, ["own", "wrote /app/new", "wrote /tmp/x"])
    assert not (root / "usr/share/new").exists()
    assert names(root / "app") == ["run"]
    assert not Path("/usr/share/new").exists()


def test_without_overlayfs_both_are_seen(tmp_path: Path, program: Path) -> None:
    image_of(tmp_path, program)
    _, said = output_of(tmp_path, KINDS[0], own=False, words=["l:/usr/share", "l:/usr"], overlays=False)
    lines = said.splitlines()
    assert "/usr/share/own.txt" in lines
    assert {f"/usr/{name}" for name in names("/usr")} <= set(lines)
    assert {f"/usr/share/{name}" for name in names("/usr/share") if name[0] != "."} <= set(lines)


CLOSED = ("/root", "/etc/ssl/private", "/etc/polkit-1/rules.d", "/etc/sudoers.d", "/var/cache/private")


APART = [kind for kind in KINDS if kind.host_id is not None or os.geteuid() != 0]
"""Without the sandboxes in which a replica is root, who may enter every folder."""


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize(
    ("sandbox", "overlays"), [*((kind, True) for kind in APART), *((kind, False) for kind in APART[:1])]
)
def test_a_closed_folder_of_the_machine_shows_the_image_s_files_alone(
    tmp_path: Path, program: Path, sandbox: Sandbox, depth: int, overlays: bool
) -> None:
    """Merge no folder that only root may enter: its files would be seen through that of the image."""
    there = [Path(each) for each in CLOSED if each.count("/") >= depth and Path(each).is_dir()]
    closed = next((each for each in there if not each.stat().st_mode & stat.S_IXOTH), None)
    if closed is None:
        pytest.skip("this machine has no such folder")
    root = image_of(tmp_path, program)
    (root / str(closed).lstrip("/")).mkdir(parents=True)
    (root / str(closed).lstrip("/") / "own.txt").write_text("own")
    _, said = output_of(tmp_path, sandbox, own=False, words=[f"l:{closed}"], overlays=overlays)
    assert f"{closed}/own.txt" in said
    assert [line for line in said.splitlines() if line.startswith(f"{closed}/")] == [f"{closed}/own.txt"]


LINKS = ["proc", "dev", "tmp", "gcs", "sys", "etc/hosts", "etc/resolv.conf", "etc", "usr", "app/x"]


@pytest.mark.parametrize("own", [True, False], ids=["own root", "on a stand-in"])
@pytest.mark.parametrize("name", LINKS)
def test_links_in_an_image_lead_nowhere(tmp_path: Path, program: Path, name: str, own: bool) -> None:
    """Run an image whose folders are links to the host's: nothing of the host changes."""
    root = image_of(tmp_path, program)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    before = names(outside)
    target = root / name
    if target.is_dir():
        shutil.rmtree(target)
    target.symlink_to(outside)
    output_of(tmp_path, KINDS[0], own=own, words=[f"w:/{name}/escaped", f"w:{outside}/escaped", "w:/escaped"])
    assert names(outside) == before
    assert not Path("/escaped").exists()


@pytest.mark.parametrize("name", ["proc", "dev", "sys", "gcs"])
def test_files_in_the_way_of_the_system_s(tmp_path: Path, program: Path, name: str) -> None:
    """Expect that the program does not start, or sees the host's file, never the image's."""
    root = image_of(tmp_path, program)
    (root / name).write_text("image")
    _, said = output_of(tmp_path, KINDS[0], own=False, words=[f"r:/{name}"])
    assert "image" not in said.splitlines()


def test_a_link_in_the_way_of_the_data_folder_is_not_followed(tmp_path: Path, program: Path) -> None:
    root = image_of(tmp_path, program)
    first, *rest = tmp_path.parts[1:]
    parent = root.joinpath(first, *rest[:-1])
    parent.mkdir(parents=True)
    (parent / rest[-1]).symlink_to("/var")
    before = names("/var")
    output_of(tmp_path, KINDS[0], own=False, words=["i"])
    assert names("/var") == before


@pytest.mark.parametrize("sandbox", KINDS, ids=NAMES)
def test_a_root_of_the_image_s_own_has_what_points_clients_at_the_emulator(
    tmp_path: Path, program: Path, sandbox: Sandbox
) -> None:
    image_of(tmp_path, program)
    words = [f"r:{REDIRECT_PATH}/sitecustomize.py", f"w:{REDIRECT_PATH}/new"]
    _, said = output_of(tmp_path, sandbox, own=True, words=words, shown={REDIRECT_PATH: REDIRECT})
    assert said.startswith('"""Redirect Google')
    assert not (REDIRECT / "new").exists()


@pytest.mark.parametrize("overlays", [True, False], ids=["overlayfs", "a read-only image"])
def test_a_root_of_the_image_s_own_has_the_certificates_of_the_proxy(
    tmp_path: Path, program: Path, overlays: bool
) -> None:
    image_of(tmp_path, program)
    certificates = tmp_path / "certificates"
    certificates.mkdir()
    (certificates / "bundle.pem").write_text("the bundle")
    words = [f"r:{CERTIFICATES_PATH}/bundle.pem", f"w:{CERTIFICATES_PATH}/new"]
    shown = {CERTIFICATES_PATH: certificates}
    _, said = output_of(tmp_path, KINDS[0], own=True, words=words, shown=shown, overlays=overlays)
    assert "the bundle" in said
    assert names(certificates) == ["bundle.pem"]
