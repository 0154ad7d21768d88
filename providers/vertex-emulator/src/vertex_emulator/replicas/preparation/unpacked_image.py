"""Settings that a replica takes from its unpacked image: files, working directory, variables, user."""

from __future__ import annotations

import errno
import os
import pwd
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from vertex_emulator.replicas.images import stack
from vertex_emulator.replicas.images.folders import shown_folders
from vertex_emulator.replicas.images.image import ReplicaImage, key_of
from vertex_emulator.replicas.images.stand_ins import official_python
from vertex_emulator.replicas.plan import Plan, ReplicaPlan
from vertex_emulator.replicas.preparation.interpreters import Interpreter, find, own
from vertex_emulator.replicas.sandbox.mounts.image_root import ImageView

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_SITES = (
    "usr/local/lib/python{}/site-packages",
    "usr/local/lib/python{}/dist-packages",
    "usr/lib/python{}/site-packages",
    "opt/conda/lib/python{}/site-packages",
)
"""Package folders of the base images' Pythons, which the host's Python does not search."""

_PYTHON = re.compile(r"(/usr/local|/usr|/opt/conda)/bin/python(3(?P<minor>\.\d+)?)?")
_SITE = re.compile(r"python(3\.\d{1,3})")
_NUMBER = re.compile(r"[0-9]{1,10}")
_MAX_PASSWD = 1 << 20


def needs_unpacking(image: ReplicaImage | None) -> bool:
    """Return whether an image has files to unpack; a stand-in alone has none."""
    return image is not None and bool(image.root == "own" or image.layers or image.working_dir != "/")


def unpacked_folders(plan: Plan, image: ReplicaImage) -> tuple[Path, ...]:
    """Return the folders of the image's files once they are unpacked, the highest first. Raises `OSError`."""
    folders = shown_folders(plan.images_dir, key_of(image.layers, separately=plan.sandbox.layers))
    if folders is None:
        raise OSError(f"the unpacked files of the image {image.name} were removed")
    return folders


def start_problem(plan: Plan, replica: ReplicaPlan) -> str | None:
    """Return why a replica cannot run its unpacked image, or None if it can."""
    image = replica.image
    if image is None or not needs_unpacking(image):
        return None
    folders = unpacked_folders(plan, image)
    try:
        user_ids(image, folders)
    except LookupError as error:
        return f"The image {image.name} cannot be run: {error.args[0]}."
    try:
        interpreter_of(plan, image)
    except LookupError as error:
        return (
            f"The image {image.name} cannot be run: it has packages for Python {error.args[0]}, and this "
            f"machine has no python{error.args[0]}. Install it (with uv: `uv python install "
            f"{error.args[0]}`), or build the image for Python {own().minor}, which runs the emulator."
        )
    if plan.sandbox.kind == "namespaces":
        return None
    for word in replica.argv:
        for part in re.split(r"[\s=:,]", word):
            if part.startswith("/") and part.strip("/") and stack.find(folders, part) is not None:
                return (
                    f"The image {image.name} cannot be run here: the command of {replica.name} names "
                    f"{part}, a file of the image. On this machine, a program cannot see the image's files "
                    f"at that path: {plan.sandbox.reason}. Use a path below the working directory, or allow "
                    "unprivileged user namespaces."
                )
    return None


def image_view(plan: Plan, image: ReplicaImage | None, folder: Path) -> ImageView | None:
    """Return the image as a replica in namespaces sees it; `folder` is the replica's own."""
    if image is None or not needs_unpacking(image):
        return None
    folders = tuple(each.resolve() for each in unpacked_folders(plan, image))
    return ImageView(
        folders=folders,
        own=image.root == "own",
        scratch=folder / "image",
        working_dir=image.working_dir,
        inside=user_ids(image, folders),
    )


def private_copy(plan: Plan, image: ReplicaImage, folder: Path) -> Path:
    """Copy the image's files for a replica without namespaces. Return its working directory in the copy."""
    copy = folder / "image"
    shutil.rmtree(copy, ignore_errors=True)
    stack.copy(unpacked_folders(plan, image), copy)
    work = copy / os.path.normpath(f"/{image.working_dir}").strip("/")
    if not work.resolve().is_relative_to(copy.resolve()):
        work = copy
    work.mkdir(parents=True, exist_ok=True)
    return work


def variables(image: ReplicaImage) -> dict[str, str]:
    """Return the variables of the image's configuration."""
    pairs = (text.partition("=") for text in image.environment)
    return {name: value for name, _, value in pairs if name}


def python_path(image: ReplicaImage, folders: Sequence[Path], *, seen_at: Path) -> list[str]:
    """Return the entries of the image's PYTHONPATH.

    `seen_at` is the path at which the replica sees the image's root.
    """
    named = [entry for entry in variables(image).get("PYTHONPATH", "").split(":") if entry]
    entries = []
    for entry in named:
        below = entry.strip("/")
        shown = entry.startswith("/") and stack.find(folders, below) is not None
        entries.append(str(seen_at / below) if shown else entry)
    return entries


def site_packages(folders: Sequence[Path], minor: str, *, seen_at: Path) -> tuple[Path, ...]:
    """Return the folders of an image's packages for a Python, as the replica sees them."""
    sites = (pattern.format(minor) for pattern in _SITES)
    return tuple(seen_at / site for site in sites if stack.folders_at(folders, site))


def interpreter_of(plan: Plan, image: ReplicaImage | None) -> Interpreter:
    """Return the interpreter of a replica on a stand-in.

    It has the minor version of the packages in the image's layers. Without packages, it has that of an
    official Python image if this machine has it; otherwise it is the emulator's own. Raises LookupError with
    the version if the machine has no such Python.
    """
    if image is None or image.root == "own":
        return own()
    minors = _minors(unpacked_folders(plan, image)) if needs_unpacking(image) else ()
    if own().minor in minors:
        return own()
    if minors:
        interpreter = find(minors[-1])
        if interpreter is None:
            raise LookupError(minors[-1])
        return interpreter
    named = official_python(image.stand_in)
    return (find(named) if named is not None else None) or own()


def _minors(folders: Sequence[Path]) -> tuple[str, ...]:
    """Return the minor versions of Python for which an image has packages, in ascending order."""
    minors = set()
    for library, _, site in (pattern.rpartition("python{}") for pattern in _SITES):
        for name in stack.names_in(stack.folders_at(folders, library)):
            match = _SITE.fullmatch(name)
            if match and stack.names_in(stack.folders_at(folders, f"{library}{name}{site}")):
                minors.add(match[1])
    return tuple(sorted(minors, key=lambda minor: int(minor.partition(".")[2])))


def with_python(argv: tuple[str, ...], interpreter: Interpreter, folders: Sequence[Path]) -> tuple[str, ...]:
    """Replace the path of the base image's Python in a command by `python3`, which is found in the PATH.

    A file of the image's layers is kept, and a path with a version if this machine has that file; `folders`
    have the layers. Raises FileNotFoundError if the replica's Python has another version.
    """
    match = _PYTHON.fullmatch(argv[0]) if argv else None
    if match is None or stack.find(folders, argv[0]) is not None:
        return argv
    if match["minor"] is None:
        return ("python3", *argv[1:])
    if os.access(argv[0], os.X_OK):
        return argv
    if f"3{match['minor']}" == interpreter.minor:
        return ("python3", *argv[1:])
    raise FileNotFoundError(
        errno.ENOENT,
        f"neither the image nor this machine has the Python that the command names; the replica's is "
        f"{interpreter.version}",
        argv[0],
    )


def user_ids(image: ReplicaImage, folders: Sequence[Path]) -> tuple[int, int] | None:
    """Return user and group ids of the image's user; None for the user who runs the emulator.

    Raises `LookupError` if the image does not know the user's name.
    """
    name, _, group = image.user.partition(":")
    if not name:
        return (0, 0) if image.root == "own" else None
    entry = _passwd(folders).get(name)
    if entry is None and image.root == "host":
        try:
            user = pwd.getpwnam(name)
            entry = (user.pw_uid, user.pw_gid)
        except KeyError:
            entry = None
    if entry is None and name.isascii() and name.isdigit() and len(name) < 10:
        same = next((each for each in _passwd(folders).values() if each[0] == int(name)), None)
        entry = same or (int(name), 0)
    if entry is None:
        raise LookupError(f"its user {name!r} is not in its /etc/passwd")
    wanted = int(group) if group.isascii() and group.isdigit() and len(group) < 10 else entry[1]
    if image.root == "host" and entry[0] == 0:
        return None
    return entry[0], wanted


def home(folders: Sequence[Path], user: int) -> str:
    """Return the home folder of a user of the image."""
    for fields in _passwd_lines(folders):
        if fields[2] == str(user):
            return fields[5]
    return "/root" if user == 0 else "/"


def home_on_stand_in(plan: Plan, image: ReplicaImage, folders: Sequence[Path]) -> Path | None:
    """Return the home folder in which an image on a stand-in has files, or None.

    It is root's: other users of the base image are unknown. Without overlayfs it would be read-only.
    """
    name = image.user.partition(":")[0]
    there = plan.sandbox.layers and name in ("", "0", "root") and stack.folders_at(folders, "root")
    return Path("/root") if there else None


def _passwd(folders: Sequence[Path]) -> Mapping[str, tuple[int, int]]:
    return {fields[0]: (int(fields[2]), int(fields[3])) for fields in _passwd_lines(folders)}


def _passwd_lines(folders: Sequence[Path]) -> list[list[str]]:
    """Return the valid lines of the image's /etc/passwd."""
    path = stack.find(folders, "etc/passwd")
    if path is None or path.is_symlink() or not path.is_file():
        return []
    with path.open("r", errors="replace") as file:
        lines = file.read(_MAX_PASSWD).splitlines()
    entries = [line.split(":") for line in lines]
    return [each for each in entries if len(each) == 7 and all(_NUMBER.fullmatch(id_) for id_ in each[2:4])]
