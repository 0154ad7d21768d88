"""Settings that a replica takes from its unpacked image: files, working directory, variables, user."""

from __future__ import annotations

import os
import pwd
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from vertex_emulator.custom_jobs.plan import Plan, ReplicaPlan
from vertex_emulator.custom_jobs.sandbox.image_root import ImageView
from vertex_emulator.replica_images import stack
from vertex_emulator.replica_images.folders import shown_folders
from vertex_emulator.replica_images.image import ReplicaImage, host_python, key_of

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_SITES = (
    "usr/local/lib/python{}/site-packages",
    "usr/local/lib/python{}/dist-packages",
    "usr/lib/python{}/site-packages",
    "opt/conda/lib/python{}/site-packages",
)
"""Package folders of the base images' Pythons, which the host's Python does not search."""

_PYTHON = re.compile(r"(/usr/local|/usr|/opt/conda)/bin/python(3(\.\d+)?)?")
_NUMBER = re.compile(r"[0-9]{1,10}")
_MAX_PASSWD = 1 << 20


def needs_unpacking(image: ReplicaImage | None) -> bool:
    """Return whether an image has files to unpack; a stand-in alone has none."""
    return image is not None and bool(image.root == "own" or image.layers or image.working_dir != "/")


def unpacked_folders(plan: Plan, image: ReplicaImage) -> tuple[Path, ...]:
    """Return the folders of the image's files once they are unpacked, the highest first. Raises `OSError`."""
    found = shown_folders(plan.images_dir, key_of(image.layers, separately=plan.sandbox.layers))
    if found is None:
        raise OSError(f"the unpacked files of the image {image.name} were removed")
    return found


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
    """Return PYTHONPATH entries with which the host's Python finds the image's packages.

    `seen_at` is the path at which the replica sees the image's root.
    """
    named = [entry for entry in variables(image).get("PYTHONPATH", "").split(":") if entry]
    entries = []
    for entry in named:
        below = entry.strip("/")
        shown = entry.startswith("/") and stack.find(folders, below) is not None
        entries.append(str(seen_at / below) if shown else entry)
    for pattern in _SITES:
        site = pattern.format(host_python())
        if stack.folders_at(folders, site):
            entries.append(str(seen_at / site))
    return entries


def with_host_python(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Replace the path of the base image's Python in a command by `python3`, which is found in the PATH."""
    return ("python3", *argv[1:]) if argv and _PYTHON.fullmatch(argv[0]) else argv


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
            found = pwd.getpwnam(name)
            entry = (found.pw_uid, found.pw_gid)
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


def _passwd(folders: Sequence[Path]) -> Mapping[str, tuple[int, int]]:
    return {fields[0]: (int(fields[2]), int(fields[3])) for fields in _passwd_lines(folders)}


def _passwd_lines(folders: Sequence[Path]) -> list[list[str]]:
    """Return the valid lines of the image's /etc/passwd."""
    path = stack.find(folders, "etc/passwd")
    if path is None or path.is_symlink() or not path.is_file():
        return []
    with path.open("r", errors="replace") as file:
        lines = file.read(_MAX_PASSWD).splitlines()
    found = [line.split(":") for line in lines]
    return [each for each in found if len(each) == 7 and all(_NUMBER.fullmatch(id_) for id_ in each[2:4])]
