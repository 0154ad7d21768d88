"""Folders of the machine that a replica gets in a reduced form: /dev, /proc, /sys and /run.

The lists are runc's and containerd's. Called like `image_root`, with the root of the replica.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from vertex_emulator.replicas.sandbox.linux import namespaces as ns

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_ACCELERATORS = re.compile(r"nvidia.*|dri|kfd|dxg|accel.*|vfio")
_NVIDIA_GPU = re.compile(r"nvidia\d+")
_LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2", "ptmx": "pts/ptmx"}
_READ_ONLY = ("proc/bus", "proc/fs", "proc/irq", "proc/sys", "proc/sysrq-trigger")
_HIDDEN = (
    "proc/acpi",
    "proc/asound",
    "proc/kcore",
    "proc/keys",
    "proc/latency_stats",
    "proc/sched_debug",
    "proc/scsi",
    "proc/timer_list",
    "proc/timer_stats",
    "sys/devices/virtual/powercap",
    "sys/firmware",
    "sys/fs/bpf",
    "sys/kernel/debug",
    "sys/kernel/security",
    "sys/kernel/tracing",
)
_RESOLVER = Path("/etc/resolv.conf")


def accelerators_of(devices: Path = Path("/dev")) -> list[Path]:
    """Return the devices and folders of the accelerators of this machine."""
    names = os.listdir(devices) if devices.is_dir() else ()  # noqa: PTH208 - hundreds, of which few match
    return sorted(devices / name for name in names if _ACCELERATORS.fullmatch(name))


def nvidia_gpus(devices: Path = Path("/dev")) -> int:
    """Return the number of NVIDIA GPUs of this machine."""
    return sum(1 for found in accelerators_of(devices) if _NVIDIA_GPU.fullmatch(found.name))


def mount_devices(root: Path, *, accelerators: bool = False) -> None:
    """Mount a /dev with the devices of a container; with `accelerators`, also the machine's."""
    with ns.mount_point(root, "dev") as target:
        ns.mount("tmpfs", str(target), "tmpfs", ns.MS_NOSUID, "mode=755,size=64k")
    dev = Path(root, "dev")  # ours now
    for name in _DEVICES:
        if Path("/dev", name).exists():
            (dev / name).touch()
            ns.bind(Path("/dev", name), dev / name)
    for device in accelerators_of() if accelerators else ():
        with contextlib.suppress(OSError):
            ns.bind_at(root, f"dev/{device.name}", device, writable=True, file=not device.is_dir())
    for name, target_text in _LINKS.items():
        (dev / name).symlink_to(target_text)
    for name, kind, options in (
        ("shm", "tmpfs", "mode=1777"),
        ("pts", "devpts", "newinstance,ptmxmode=0666,mode=0620"),
        ("mqueue", "mqueue", ""),
    ):
        (dev / name).mkdir()
        with contextlib.suppress(OSError):  # not every kernel and user; few programs look for these
            ns.mount(kind, dev / name, kind, ns.MS_NOSUID | ns.MS_NOEXEC, options)


def mask(root: Path) -> None:
    """Make the settings of the kernel in /proc read-only, and hide what tells about the machine.

    `proc` in the root is a mount of this process: no link of an image is followed there.
    """
    for path in _READ_ONLY:
        if Path("/", path).exists():
            with contextlib.suppress(OSError):  # a container has masked it already
                ns.bind(root / path, root / path)
                ns.set_read_only(root / path)
    for path in _HIDDEN:
        host = Path("/", path)
        if not host.exists():
            continue
        with contextlib.suppress(OSError):
            if not host.is_dir():
                ns.bind("/dev/null", root / path)
                continue
            with ns.mount_point(root, path, create=False) as target:
                if target is not None:
                    flags = ns.MS_NOSUID | ns.MS_NODEV | ns.MS_RDONLY
                    ns.mount("tmpfs", target, "tmpfs", flags, "mode=755,size=4k")


def make_run(root: Path) -> None:
    """Create a /run without the sockets of the machine: with its links, and the file of the name servers."""
    folder = root / "run"
    folder.mkdir(exist_ok=True)
    if Path("/run").is_dir():
        for entry in Path("/run").iterdir():
            if entry.is_symlink() and not os.path.lexists(folder / entry.name):
                (folder / entry.name).symlink_to(entry.readlink())
    with contextlib.suppress(OSError):
        resolver = _RESOLVER.resolve(strict=True)
        if resolver.is_relative_to("/run"):
            ns.bind_at(root, resolver, resolver, file=True)
    with contextlib.suppress(OSError), ns.mount_point(root, "var/run", create=False) as target:
        if target is not None:  # a folder, not the usual link to /run
            ns.mount("tmpfs", target, "tmpfs", ns.MS_NOSUID | ns.MS_NODEV, "mode=755,size=4m")


def replace_resolver(root: Path, source: Path, *, own: bool) -> None:
    """Show `source` as the file of the name servers; `own`: the root is an image's own."""
    with contextlib.suppress(OSError):  # the image is read-only and lacks the path, or the machine has none
        path = "etc/resolv.conf" if own else str(_RESOLVER.resolve(strict=True))
        ns.bind_at(root, path, source, file=True)
