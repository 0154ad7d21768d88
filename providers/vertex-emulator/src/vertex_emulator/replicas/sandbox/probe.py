"""Find, by trying, the sandbox in which replicas can be started on this machine.

Run `python -m vertex_emulator.replicas.sandbox.probe FOLDER` to print it as JSON.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from vertex_emulator.client.interpreter import interpreter
from vertex_emulator.kernel.disk.trees import remove_tree
from vertex_emulator.kernel.timeouts import CLIENT, Timeouts
from vertex_emulator.replicas.images import stack
from vertex_emulator.replicas.sandbox.children import run
from vertex_emulator.replicas.sandbox.linux import idmaps
from vertex_emulator.replicas.sandbox.mounts.image_root import ImageView
from vertex_emulator.replicas.sandbox.program import Command
from vertex_emulator.replicas.sandbox.sandbox import Sandbox, View, interpreter_paths, make_folders


def candidates() -> Iterator[Sandbox]:
    """Yield the sandboxes to try on this system, best first."""
    if sys.platform == "linux":
        host_id = idmaps.unused_id() if os.geteuid() == 0 else None
        if host_id is not None:
            for user in (False, True):
                for pids in (True, False):
                    yield Sandbox(kind="namespaces", user=user, pids=pids, host_id=host_id)
        for pids in (True, False):
            yield Sandbox(kind="namespaces", user=True, pids=pids, as_root=os.geteuid() == 0)


def probe(folder: Path | None = None, *, timeouts: Timeouts = CLIENT) -> Sandbox:
    """Return the best sandbox that can start this Python. Takes about 0.2 s.

    `folder` is where the files of replicas will lie; None for the folder of temporary files.
    Runs in a process of its own: it forks, which a process with threads must not.
    """
    result = subprocess.run(  # noqa: S603
        [
            interpreter(),
            "-m",
            "vertex_emulator.replicas.sandbox.probe",
            *([] if folder is None else [str(folder)]),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeouts.sandbox,
        check=False,
    )
    try:
        return Sandbox(**json.loads(result.stdout))
    except (ValueError, TypeError):
        last = (result.stderr.strip().splitlines() or ["no output"])[-1]
        return _process(f"the probe of namespaces failed: {last}")


def probe_here(parent: Path | None = None) -> Sandbox:
    """Try the sandboxes in this process, which must have only one thread, in a new folder in `parent`."""
    if sys.platform != "linux":
        return _process(f"{sys.platform} has no mount namespaces")
    reason = ""
    for sandbox in candidates():
        if _try(sandbox, parent, layers=True) is None:
            return replace(sandbox, layers=True)
        problem = _try(sandbox, parent)
        if problem is None:
            return sandbox
        reason = problem
    return _process(f"this machine does not allow namespaces: {reason}")


def _process(reason: str) -> Sandbox:
    return Sandbox(kind="process", reason=reason, as_root=os.geteuid() == 0)


_SEES_BUCKETS = "import os; os.stat('/gcs/found')"
_SEES_LAYERS = f"""{_SEES_BUCKETS}
assert os.listdir("/vertex-training-probe/opaque") == ["upper"], "an opaque folder is not"
assert os.listdir("/vertex-training-probe/kept") == ["lower"], "a whiteout has no effect"
open("/vertex-training-probe/new", "w").close()
"""


def _make_layers(folder: Path) -> tuple[Path, ...]:
    """Create two unpacked layers. Raises `OSError` where their file system cannot hold them."""
    upper, lower = (folder / name / "vertex-training-probe" for name in ("upper", "lower"))
    for path in (upper / "opaque/upper", upper / "kept", lower / "opaque/lower", lower / "kept/lower"):
        path.mkdir(parents=True)
    (lower / "kept/removed").touch()
    os.mknod(upper / "kept/removed", stat.S_IFCHR, os.makedev(0, 0))
    os.setxattr(upper / "opaque", stack.OPAQUE, b"y")
    return upper.parent, lower.parent


def _try(sandbox: Sandbox, parent: Path | None, *, layers: bool = False) -> str | None:
    """Return why a sandbox cannot start this Python, or None.

    `layers`: one in which overlayfs merges the folders of several unpacked layers.
    """
    folder = Path(tempfile.mkdtemp(prefix=".probe-", dir=parent))
    try:
        return _try_in(sandbox, folder, _make_layers(folder) if layers else ())
    except OSError as error:
        return str(error)
    finally:
        remove_tree(folder)


def _try_in(sandbox: Sandbox, folder: Path, layers: tuple[Path, ...]) -> str | None:
    (folder / "buckets" / "found").mkdir(parents=True)
    image = ImageView(folders=layers, own=False, scratch=folder / "replica/image", working_dir="/")
    (folder / "replica").mkdir()
    view = View(
        folder=folder / "replica",
        buckets=folder / "buckets",
        hidden=folder,
        visible=interpreter_paths(),
        hostname="probe",
        hosts="127.0.0.1 localhost\n",
        image=image if layers else None,
    )
    make_folders(view)
    command = Command(
        argv=(sys.executable, "-ISc", _SEES_LAYERS if layers else _SEES_BUCKETS),
        environment={},
        cwd=view.folder / "work",
        sandbox=sandbox,
        view=view,
    )
    code, output = run(command)
    if code == 0:
        return None
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"exit code {code}"


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(probe_here(Path(sys.argv[1]) if sys.argv[1:] else None))))
