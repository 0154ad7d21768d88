"""The Python of one replica on a stand-in: an environment of its own in front of what it shares.

The replica can write to it, so `pip install`, `pip install --user`, `pip install --upgrade pip` and
`pip uninstall` work as in a container, although the interpreter belongs to another user. Below it are, in
this order: packages that the program installs for its user, the job's packages, their requirements or those
in the image's layers, or, without any, those that Google's image has (`image_packages`). All other packages
of the interpreter, and of the Python that runs the emulator, are never visible.

    python/             the environment, which looks like one with system-wide packages: only then does
                        `pip install --user` work
    shared/lib/pythonX.Y/site-packages/
                        in place of the system-wide packages: links to pip, and a .pth file
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vertex_emulator.job_folder.folder import PYTHON, SHARED
from vertex_emulator.kernel.disk.trees import remove_tree
from vertex_emulator.replicas.preparation.interpreters import Interpreter, own
from vertex_emulator.replicas.preparation.packages import image_packages

FOLDERS = (PYTHON, SHARED)
"""The folders of a replica that `make` creates."""


@dataclass(frozen=True, kw_only=True)
class SharedPackages:
    """The packages that a replica sees below its own.

    `entries` are folders of packages, the first one found first. `scripts` are folders of their programs.
    `folders` have all of them. `of_image`: the packages of the image that has the stand-in come last; `image`
    is their folder (`image_packages.shared_folder`), None without any.
    """

    folders: tuple[Path, ...] = ()
    entries: tuple[Path, ...] = ()
    scripts: tuple[Path, ...] = ()
    of_image: bool = True
    image: Path | None = None

    def with_image(self, stand_in: str, interpreter: Interpreter, images: Path) -> SharedPackages:
        """Return these packages with the packages of the stand-in's image. Raises `OSError`."""
        if not self.of_image or interpreter != own():
            return self
        image = image_packages.shared_folder(stand_in, own().packages, images)
        return self if image is None else replace(self, image=image, folders=(*self.folders, image))

    def above(self, entries: tuple[Path, ...]) -> SharedPackages:
        """Return these packages above those in an image's layers, if it has any."""
        if not entries:
            return self
        return replace(self, entries=self.entries + entries, of_image=False, image=None)


def make(folder: Path, interpreter: Interpreter, shared: SharedPackages) -> tuple[Path, ...]:
    """Create the Python of a replica in its folder. Return the folders of programs for PATH.

    A restarted replica gets a new one. Raises `OSError`.
    """
    for name in FOLDERS:
        remove_tree(folder / name)
    environment, below = (folder / name for name in FOLDERS)
    shared_site = below / "lib" / f"python{interpreter.minor}" / "site-packages"
    site = write_environment(environment, interpreter, like_system=True)
    shared_site.mkdir(parents=True)
    _write_pip(environment / "bin", interpreter.minor)
    (site / "_vertex_training.pth").write_text(f"import site; site.PREFIXES[:] = [{str(below)!r}]\n")
    lines = [f"import site; site.addsitedir({str(entry)!r})" for entry in shared.entries]
    programs = [environment / "bin", *shared.scripts]
    if shared.image is not None:
        lines.append(f"import site; site.addsitedir({str(shared.image / image_packages.PACKAGES)!r})")
        programs.append(shared.image / image_packages.PROGRAMS)
    lines += _show_pip(shared_site, interpreter)
    (shared_site / "_vertex_training.pth").write_text("".join(f"{line}\n" for line in lines))
    return tuple(programs)


def write_environment(path: Path, interpreter: Interpreter, *, like_system: bool = False) -> Path:
    """Create a virtual environment without pip. Return its folder of packages. Raises `OSError`.

    `like_system`: say that system-wide packages are visible.
    """
    site = path / "lib" / f"python{interpreter.minor}" / "site-packages"
    for folder in (path / "bin", site):
        folder.mkdir(parents=True)
    if sys.maxsize > 2**32 and sys.platform != "darwin":
        (path / "lib64").symlink_to("lib")
    (path / "pyvenv.cfg").write_text(
        f"home = {interpreter.executable.parent}\n"
        f"include-system-site-packages = {'true' if like_system else 'false'}\n"
        f"version = {interpreter.version}\n"
    )
    for name in ("python", "python3", f"python{interpreter.minor}"):
        (path / "bin" / name).symlink_to(interpreter.executable)
    return site


def login_profile(programs: Sequence[Path], profile: str) -> str:
    """Return the text of /etc/profile, which sets a PATH of its own, with the replica's programs in front."""
    path = os.pathsep.join(map(str, programs))
    return f"{profile}\nPATH={shlex.quote(path)}:$PATH\nexport PATH\n"


def variables(folder: Path) -> dict[str, str]:
    """Return the variables with which `pip install --user` installs into the replica's own environment.

    pip removes packages of an environment only if they are below it. Its cache is there, to go with it.
    """
    own_folder = folder / FOLDERS[0]
    return {"PYTHONUSERBASE": str(own_folder), "PIP_CACHE_DIR": str(own_folder / ".cache")}


def _write_pip(programs: Path, minor: str) -> None:
    quoted = str(programs / "python3").replace("'", "'\\''")
    for name in ("pip", "pip3", f"pip{minor}"):
        (programs / name).write_text(f"#!/bin/sh\nexec '{quoted}' -m pip \"$@\"\n")
        (programs / name).chmod(0o755)


def _show_pip(site: Path, interpreter: Interpreter) -> list[str]:
    """Let a replica find pip: the pip of the emulator's Python, or else the one that `ensurepip` bundles.

    Return lines for the .pth file.
    """
    if interpreter == own() and (pip := _visible_pip(*image_packages.state_of(own().packages))):
        for path in pip:
            (site / path.name).symlink_to(path)
        return []
    if interpreter.bundled_pip is not None:
        return [f"import sys; sys.path.append({str(interpreter.bundled_pip)!r})"]
    return []


def prepare(stand_in: str) -> None:
    """Compute what `make` needs for each replica with a stand-in, "" for none, and keep it in memory."""
    if stand_in:
        image_packages.content(stand_in, own().packages).key  # noqa: B018
    _visible_pip(*image_packages.state_of(own().packages))


@functools.lru_cache(maxsize=1)
def _visible_pip(packages: tuple[Path, ...], _changed: tuple[int, ...]) -> Sequence[Path]:
    """Return the folders of the package pip and of its metadata."""
    for distribution in importlib.metadata.distributions(name="pip", path=[str(each) for each in packages]):
        package = Path(str(distribution.locate_file("pip")))
        name = f"pip-{distribution.version}.dist-info"
        metadata = Path(str(distribution.locate_file(name)))
        if package.is_dir() and metadata.is_dir():
            return (package, metadata)
    return ()
