"""The policy packs of a stack, and the files of their settings.

`vertex-training:policyPack` is the folder of the pack, `vertex-training:policyConfig` the file with the
settings, both relative to the folder of Pulumi.yaml. What the stack's configuration does not name is read
from the variables by which the engine takes both.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pulumi_vertex_training import pulumi_command
from pulumi_vertex_training.configuration_keys import POLICY_CONFIG, POLICY_PACK
from pulumi_vertex_training.costs.reports import HIDDEN
from pulumi_vertex_training.pulumi_command import ENGINES_PACK, ENGINES_SETTINGS, NO_POLICIES
from vertex_training.command_line.errors import InputError
from vertex_training.findings.words import close
from vertex_training.policy.evaluation import Configuration, configuration_of

PACK = POLICY_PACK.name
SETTINGS = POLICY_CONFIG.name

_LARGEST = 1024 * 1024
_ANY_HOST = "any-host"
_SCRIPT = "pulumi-analyzer-policy-vtpolicy"
_NAME = re.compile(r"""^name:[ \t]*(["']?)vertex-training\1[ \t]*(#.*)?$""", re.MULTILINE)
_COMMENTS = ("//", "/*", "#")


@dataclass(frozen=True, kw_only=True)
class StackPolicies:
    """The pack of a stack, None if its policies are only shown by `plan`; the file of settings, or None.

    `start` is the folder that paths of the configuration are relative to.
    """

    pack: Path | None = None
    settings: Path | None = None
    start: Path | None = field(default=None, compare=False)

    @property
    def arguments(self) -> list[str]:
        """The arguments with which the engine enforces the policies, () without a pack."""
        if self.pack is None:
            return []
        settings = ["--policy-pack-config", str(self.settings)] if self.settings is not None else []
        return ["--policy-pack", str(self._script_folder or self.pack), *settings]

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which the engine finds the pack, and no other; {} without a pack."""
        if self.pack is None:
            return {}
        folder = self._script_folder
        path = {"PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"} if folder else {}
        return {**NO_POLICIES, **path}

    @property
    def obstacle(self) -> str:
        """Why the engine could not start the pack, with the remedy; "" without a pack or an obstacle."""
        if self.pack is None:
            return ""
        if self.is_missing:
            return (
                f"{self.pack} is not a policy pack: it has no PulumiPolicy.yaml. "
                f"Run `pulumi config set {PACK} {self._meant}`."
            )
        folder = self._script_folder
        if folder is not None and not _has_environment(folder.parent):
            return (
                f"The environment of the policy pack {self.pack} is missing. "
                f"Run `python {folder.parent / 'install.py'}`."
            )
        return ""

    @property
    def is_missing(self) -> bool:
        """True if the stack names a pack and its folder has none."""
        return self.pack is not None and not self._manifest.is_file()

    @property
    def is_foreign(self) -> bool:
        """True for a pack that is not a copy of `policies/`: its policies and settings are its own."""
        if self.pack is None or not self._manifest.is_file():
            return False
        text = self._manifest.read_text(encoding="utf-8", errors="replace")
        return _NAME.search(text) is None

    @property
    def _meant(self) -> str:
        """The pack with a similar name beside the missing one, relative to Pulumi.yaml, else FOLDER."""
        if self.pack is None or self.start is None:
            return "FOLDER"
        packs = [file.parent.name for file in self.pack.parent.glob("*/PulumiPolicy.yaml")]
        meant = close(self.pack.name, packs, count=1)
        return shlex.quote(os.path.relpath(self.pack.with_name(meant[0]), self.start)) if meant else "FOLDER"

    @property
    def _manifest(self) -> Path:
        return (self.pack or Path()) / "PulumiPolicy.yaml"

    @property
    def _script_folder(self) -> Path | None:
        """The variant of this package's pack that starts with any CLI; None for a pack of another origin."""
        if self.pack is None or os.name != "posix":
            return None
        return next((each for each in (self.pack / _ANY_HOST, self.pack) if (each / _SCRIPT).is_file()), None)


def policies_of(
    configuration: Mapping[str, object], folder: Path, *, environ: Mapping[str, str] = os.environ
) -> StackPolicies | None:
    """Return the policies of a stack, or None if neither its configuration nor a variable names any.

    `folder` is Pulumi.yaml's, or below it. A variable with several packs is left to the engine. Raises
    InputError for a path that is a secret of the stack.
    """
    project = pulumi_command.project_file(folder)
    start = project.parent if project is not None else folder

    def named(key: str, variable: str) -> Path | None:
        chosen = configuration.get(key)
        if chosen == HIDDEN:
            raise InputError(
                f"{key} is a secret, so its path is not known. Set it without --secret: "
                f"`pulumi config set {key} PATH`.",
                path=key,
            )
        if chosen:
            return start / str(chosen)
        given = environ.get(variable, "")
        return folder / given if given and "," not in given else None

    pack, settings = named(PACK, ENGINES_PACK), named(SETTINGS, ENGINES_SETTINGS)
    return StackPolicies(pack=pack, settings=settings, start=start) if pack or settings else None


def read(file: Path | None) -> Configuration:
    """Read the settings; without a file, all policies are advisory. Raises InputError for no such file."""
    if file is None:
        return configuration_of({})
    try:
        found = file.stat()
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            raise InputError(f"{file} is not a regular file.", path=SETTINGS)
        if found.st_size > _LARGEST:
            raise InputError(f"{file} is too large for the settings of policies.", path=SETTINGS)
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"Could not read {file}: {error.strerror}. Run `pulumi config set {SETTINGS} FILE`.",
            path=SETTINGS,
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not a text in UTF-8.", path=SETTINGS) from error
    if text.startswith("\ufeff"):
        message = f"{file} begins with a byte order mark. Save it as UTF-8 without one."
        raise InputError(message, path=SETTINGS)
    try:
        document = json.loads(text, parse_constant=_reject_constant) if text.strip() else {}
    except json.JSONDecodeError as error:
        if text.startswith(_COMMENTS, error.pos):
            message = f"{file} is not JSON, which has no comments. Remove the one in line {error.lineno}."
            raise InputError(message, path=SETTINGS) from error
        raise InputError(f"{file} is not JSON: {error}.", path=SETTINGS) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is not JSON: {error}.", path=SETTINGS) from error
    return configuration_of(document)


def _reject_constant(name: str) -> None:
    """Raise ValueError for NaN and Infinity, which Python reads and the engine does not."""
    raise ValueError(f"{name} is not a JSON number")


def _has_environment(pack: Path) -> bool:
    """Return whether the environment of a pack is complete: its script of the engine asks the same."""
    venv = pack / "venv"
    return (venv / "installed").is_file() and os.access(venv / "bin" / "python", os.X_OK)


def require_usable(policies: StackPolicies) -> None:
    """Raise InputError if the engine could not start the pack, or would ignore a part of its settings."""
    if policies.obstacle:
        raise InputError(policies.obstacle, path=PACK)
    is_left_to_engine = policies.pack is None or policies.is_foreign
    wrong = () if is_left_to_engine else read(policies.settings).problems
    if wrong:
        raise InputError(f"{policies.settings}: {wrong[0]}", path=SETTINGS)
