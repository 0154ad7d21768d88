"""The state of a stage while its instructions run."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pulumi_vertex_training.images.files import go_path
from pulumi_vertex_training.images.files.tree import Node, Tree
from pulumi_vertex_training.images.image import BaseImage
from pulumi_vertex_training.images.wheels.layout import WheelLayer

CREATED: Final = "1970-01-01T00:00:00Z"
"""The time in every configuration and history; it must not depend on when an image was built."""

DEFAULT_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""PATH of an image that is built from scratch, as in BuildKit."""

_FOLDERS: Final = """
bin boot dev etc home lib lib32 lib64 libx32 media mnt opt proc root run sbin srv sys tmp usr var
etc/opt etc/profile.d etc/ssl run/lock
usr/bin usr/games usr/include usr/lib usr/lib32 usr/lib64 usr/libexec usr/libx32 usr/local usr/sbin usr/share
usr/src usr/tmp usr/local/bin usr/local/etc usr/local/games usr/local/include usr/local/lib usr/local/lib64
usr/local/libexec usr/local/sbin usr/local/share usr/local/src usr/lib/python3 usr/lib/python3/dist-packages
var/cache var/lib var/lib/apt var/local var/lock var/log var/mail var/opt var/run var/spool var/spool/mail
var/tmp
"""
_STANDARD: Final = frozenset(_FOLDERS.split())
"""Folders of the Filesystem Hierarchy Standard and of Debian; some, such as /bin, are often links."""


@dataclass(frozen=True, kw_only=True)
class StageLayer:
    """A layer that an instruction has created: its files, or the layer as it was written before."""

    nodes: tuple[Node, ...] = ()
    written: WheelLayer | None = None


@dataclass(kw_only=True)
class StageState:
    """Configuration, variables and own files of a stage.

    `config` has the keys of the image configuration's `config`, except `Env`, which is `env`. `base` is the
    image below. `from_image` is also true if that image is not known yet, as in a plan. `own` are the files
    of the layers created here. `missed` becomes true when a variable is looked up that is not set here but
    may be set by an unknown base.
    """

    from_image: bool
    base: BaseImage | None = None
    config: dict[str, Any] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, str | None] = field(default_factory=dict)
    author: str | None = None
    command_is_own: bool = False
    layers: list[StageLayer] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)
    own: dict[str, Node] = field(default_factory=dict)
    presumed: frozenset[str] = frozenset()
    missed: bool = False

    def lookup(self, name: str) -> str | None:
        """Return the value of a variable; ENV comes before ARG."""
        value = self.env.get(name)
        value = self.arguments.get(name) if value is None else value
        if value is None and self.from_image and self.base is None:
            self.missed = True
        return value

    def next_stage(self) -> StageState:
        """Return the initial state of a stage that is built from this one.

        Arguments end with their stage. Its CMD becomes a base's, which an ENTRYPOINT drops.
        """
        fork = copy.copy(self)
        fork.config = copy.deepcopy(self.config)
        fork.env, fork.own = dict(self.env), dict(self.own)
        fork.layers, fork.history = list(self.layers), list(self.history)
        fork.arguments, fork.command_is_own = {}, False
        return fork

    def record(self, created_by: str, nodes: tuple[Node, ...] = ()) -> None:
        """Add the layer of an instruction to the history; without nodes it only changes the configuration."""
        entry: dict[str, Any] = {"created": CREATED, "created_by": created_by}
        if nodes:
            self.layers.append(StageLayer(nodes=nodes))
            self.own.update({node.path: node for node in nodes})
        else:
            entry["empty_layer"] = True
        if self.author:
            entry["author"] = self.author
        self.history.append(entry)

    def add_written(self, layer: WheelLayer, folders: Iterable[str]) -> None:
        """Add a layer that was written before, with these folders."""
        self.record(layer.created_by)
        del self.history[-1]["empty_layer"]
        self.layers.append(StageLayer(written=layer))
        self.own.update({path: Node(path=path, kind="folder") for path in folders})

    def working_dir(self) -> str:
        """Return the working directory, as an absolute path."""
        return str(self.config.get("WorkingDir") or "/")

    def absolute(self, path: str) -> str:
        """Return a path relative to the top, without outer slashes, as an instruction means it."""
        joined = path if path.startswith("/") else f"{self.working_dir()}/{path}"
        return go_path.clean("/" + joined).strip("/")

    def resolved(self, path: str) -> str:
        """Return the path with those links followed that were copied here; links of the base are unknown."""
        target = Tree(nodes=self.own).resolve(path)
        return path if target is None else target

    def has_folder(self, path: str) -> bool:
        """Return whether a folder is known to exist: created here, a standard one, or named by the base.

        Such folders get no entry: in the base it may be a link, as /bin is, or have another mode, as /tmp
        has, and an entry would replace that.
        """
        node = self.own.get(path)
        if node is not None:
            return node.kind == "folder"
        return not path or (self.from_image and (path in _STANDARD or path in self.presumed))


def presumed_folders(config: Mapping[str, Any], history: list[Any]) -> frozenset[str]:
    """Return the folders that the configuration of a base image names in variables, volumes and history."""
    settings = config.get("config") or {}
    named = [str(settings.get("WorkingDir") or ""), *(settings.get("Volumes") or {})]
    for variable in settings.get("Env") or ():
        named += str(variable).partition("=")[2].split(":")
    for entry in history:
        created_by = str(entry.get("created_by") or "") if isinstance(entry, dict) else ""
        _, separator, path = created_by.partition("WORKDIR ")
        named += [path.split()[0]] if separator and path.split() else []
    result: set[str] = set()
    for path in named:
        if path.startswith("/") and path == go_path.clean(path):
            parts = path.strip("/").split("/")
            result |= {"/".join(parts[:depth]) for depth in range(1, len(parts) + 1)}
    return frozenset(result - {""})
