"""What a stage has come to while its instructions are gone through."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pulumi_vertex_training.images.files import go_path
from pulumi_vertex_training.images.files.tree import Node, Tree
from pulumi_vertex_training.images.image import BaseImage

CREATED: Final = "1970-01-01T00:00:00Z"
"""The time in every configuration and history: when an image was built must not show."""

DEFAULT_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""PATH of an image that is built from scratch, as BuildKit has it."""

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
"""Folders of the Filesystem Hierarchy Standard and of Debian; /bin and its like are often links."""


@dataclass(frozen=True, kw_only=True)
class StageLayer:
    """A layer that an instruction has made."""

    nodes: tuple[Node, ...]


@dataclass(kw_only=True)
class StageState:
    """Configuration, variables and own files of a stage.

    `config` has the keys of the image configuration's `config`, but for `Env`, which is `env`. `base` is the
    image below; `from_image` is also true where there is one that is not known yet, as in a plan. `own` are
    the files of the layers made here. `missed` turns true when a variable is asked for that nobody set and
    an unknown base may set.
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
        """The value of a variable: ENV before ARG."""
        value = self.env.get(name)
        value = self.arguments.get(name) if value is None else value
        if value is None and self.from_image and self.base is None:
            self.missed = True
        return value

    def next_stage(self) -> StageState:
        """The state that a stage built from this one starts with: arguments end with their stage, and its
        CMD is that of a base, which an ENTRYPOINT takes away.
        """
        fork = copy.copy(self)
        fork.config = copy.deepcopy(self.config)
        fork.env, fork.own = dict(self.env), dict(self.own)
        fork.layers, fork.history = list(self.layers), list(self.history)
        fork.arguments, fork.command_is_own = {}, False
        return fork

    def record(self, created_by: str, nodes: tuple[Node, ...] = ()) -> None:
        """Takes in what an instruction has made; without nodes it is a change of configuration alone."""
        entry: dict[str, Any] = {"created": CREATED, "created_by": created_by}
        if nodes:
            self.layers.append(StageLayer(nodes=nodes))
            self.own.update({node.path: node for node in nodes})
        else:
            entry["empty_layer"] = True
        if self.author:
            entry["author"] = self.author
        self.history.append(entry)

    def working_dir(self) -> str:
        """The working directory, absolute."""
        return str(self.config.get("WorkingDir") or "/")

    def absolute(self, path: str) -> str:
        """A path as an instruction means it, without slashes at its ends; "" is the top."""
        joined = path if path.startswith("/") else f"{self.working_dir()}/{path}"
        return go_path.clean("/" + joined).strip("/")

    def resolved(self, path: str) -> str:
        """The path with the links followed that were copied here; of those of the base nothing is known."""
        found = Tree(nodes=self.own).resolve(path)
        return path if found is None else found

    def has_folder(self, path: str) -> bool:
        """Whether there is a folder, as far as can be told: made here, standard, or named by the base.

        No entry is written for such a one: in the base it may be a link, as /bin is, or have another mode, as
        /tmp has, and an entry would replace that.
        """
        node = self.own.get(path)
        if node is not None:
            return node.kind == "folder"
        return not path or (self.from_image and (path in _STANDARD or path in self.presumed))


def presumed_folders(config: Mapping[str, Any], history: list[Any]) -> frozenset[str]:
    """Folders that a base image has, as its configuration tells: of its variables, volumes and history."""
    settings = config.get("config") or {}
    named = [str(settings.get("WorkingDir") or ""), *(settings.get("Volumes") or {})]
    for variable in settings.get("Env") or ():
        named += str(variable).partition("=")[2].split(":")
    for entry in history:
        created_by = str(entry.get("created_by") or "") if isinstance(entry, dict) else ""
        _, found, path = created_by.partition("WORKDIR ")
        named += [path.split()[0]] if found and path.split() else []
    result: set[str] = set()
    for path in named:
        if path.startswith("/") and path == go_path.clean(path):
            parts = path.strip("/").split("/")
            result |= {"/".join(parts[:depth]) for depth in range(1, len(parts) + 1)}
    return frozenset(result - {""})
