"""Reading the old command `gcloud ai-platform jobs submit training JOB --flag value ... -- user args`.

`gcloud_flag_table` has the flags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.gcloud_flag_table import FLAGS, KMS_PARTS, Flag
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.training_input import PREFIX
from pulumi_vertex_training.kinds.custom_job.forms.gcloud import KEY, VARIABLE
from vertex_training.fields.schema import child
from vertex_training.fields.values import UNKNOWN, Unknown
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import nearest, one_of, shown

_GCLOUD = "gcloud ai-platform jobs submit training, reference"
_COMMAND = ("jobs", "submit", "training")
_GROUPS = ("ai-platform", "ml-engine")
_TRACKS = ("alpha", "beta")
_VERTEX_AI = frozenset({"custom-jobs", "hp-tuning-jobs"})

UNKNOWN_FLAG = Rule(name="gcloud-flag", says="a flag is a flag of the command", source=_GCLOUD)
FLAG_VALUE = Rule(name="gcloud-value", says="a flag has the value that it needs", source=_GCLOUD)
COMMAND = Rule(
    name="gcloud-command",
    says="the command is gcloud ai-platform jobs submit training, with the name of one job",
    source=_GCLOUD,
)
CONFIG_FILE = Rule(
    name="gcloud-config",
    says="the content of the --config file is given as trainingInput next to the command",
    source="ours: no other file is read",
)
LOCAL_PACKAGE = Rule(
    name="gcloud-local-package",
    says="a local package has an address once it is uploaded",
    source=_GCLOUD,
    level="warning",
)
KMS_KEY = Rule(
    name="gcloud-kms-key", says="a key is given by its full name or by all its parts", source=_GCLOUD
)


ORIGINS: Mapping[str, str] = MappingProxyType(
    {PREFIX: KEY, "job_id": KEY, "labels": f"{KEY}.--labels"}
    | {f"{PREFIX}.{flag.field}": f"{KEY}.{name}" for name, flag in FLAGS.items() if flag.field}
)
"""The flag that sets each field of a training input."""


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A command as a training input in nested plain values, and the job's own fields.

    `origins` maps fields, such as `training_input.worker_count`, to flags, such as `gcloud.--worker-count`.
    With `is_another`, it is a different command, of which nothing is read.
    """

    training_input: Mapping[str, Any]
    origins: Mapping[str, str]
    job_id: str | Unknown | None = None
    labels: Mapping[str, str] | Unknown | None = None
    has_config: bool = False
    is_another: bool = False
    problems: tuple[Problem, ...] = ()


def submission_of(words: Sequence[str]) -> Submission:
    """Read the words of a command. Never raises; errors are in `problems`."""
    reader = _Reader()
    reader.read(list(words))
    job_id = reader.job_id()
    of_vertex_ai = bool(_VERTEX_AI & set(reader.positionals))
    if reader.is_another or of_vertex_ai:
        fault = (
            "this is a command of Vertex AI; give its --config file, or write its pools as workerPoolSpecs"
            if of_vertex_ai
            else "this is another command; write gcloud ai-platform jobs submit training JOB --flags"
        )
        return Submission(
            training_input={}, origins={}, is_another=True, problems=(COMMAND.broken(KEY, fault),)
        )
    return Submission(
        training_input=reader.fields,
        origins=reader.origins,
        job_id=job_id,
        labels=UNKNOWN if reader.labels_unknown else reader.labels or None,
        has_config="--config" in reader.others,
        problems=tuple(reader.problems),
    )


class _Reader:
    """Reads the words of a command once, in order, as the command's own parser did."""

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self.origins: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.labels_unknown = False
        self.others: dict[str, str | Unknown] = {}
        self.positionals: list[str] = []
        self.problems: list[Problem] = []
        self.variables: set[str] = set()
        self.is_another = False

    def read(self, words: list[str]) -> None:
        """Read all words of the command."""
        user_args: list[str] = []
        if "--" in words:
            at = words.index("--")
            words, user_args = words[:at], words[at + 1 :]
        rest = iter(range(len(words)))
        for i in rest:
            word = words[i]
            if not word.startswith("-") or word == "-":
                if word.strip():
                    self.positionals.append(word)
                continue
            name, equals, value = word.partition("=")
            following = words[i + 1] if i + 1 < len(words) else None
            if self._flag(name, value if equals else None, following):
                next(rest, None)
        if user_args:
            path = child(KEY, "--")
            self._set("args", [UNKNOWN if self._has_variables(arg, path) else arg for arg in user_args], "--")
        self._complete_packages()
        self._complete_key()

    def job_id(self) -> str | Unknown | None:
        """Return the one word that is left after the command's own."""
        words = list(self.positionals)
        named = bool(words) and words[0] == KEY
        if named:
            words.pop(0)
        if words and words[0] in _TRACKS:
            words.pop(0)
        if words and words[0] in _GROUPS:
            named = True
            words.pop(0)
        if named or tuple(words[:3]) == _COMMAND:
            if tuple(words[:3]) != _COMMAND:
                self.is_another = True
                return None
            words = words[3:]
        if len(words) > 1:
            self.problems.append(
                COMMAND.broken(
                    KEY,
                    f"{shown(words[1])} is not expected after the name of the job, {shown(words[0])}; the "
                    "program's own arguments go after --",
                )
            )
        if named and not words:
            fault = (
                "the name of the job is missing; write gcloud ai-platform jobs submit training JOB --flags"
            )
            self.problems.append(COMMAND.broken(KEY, fault))
        if words and self._has_variables(words[0], KEY):
            return UNKNOWN
        return words[0] if words else None

    def _has_variables(self, text: str, path: str) -> bool:
        """Return whether a text has shell variables; report each variable the first time it occurs."""
        names = [match.group() for match in VARIABLE.finditer(text)]
        for name in dict.fromkeys(names):
            if name not in self.variables:
                self.variables.add(name)
                message = f"{name} is a shell variable; write its value"
                self.problems.append(FLAG_VALUE.broken(path, message))
        return bool(names)

    def _flag(self, name: str, value: str | None, following: str | None) -> bool:
        """Take one flag. Return whether the word after it was its value."""
        flag = FLAGS.get(name)
        positive = f"--{name[5:]}" if name.startswith("--no-") else ""
        if flag is None and positive in FLAGS and FLAGS[positive].kind in ("switch", "other-switch"):
            if FLAGS[positive].kind == "switch":
                self._set(FLAGS[positive].field, False, positive)
            return False
        if flag is None:
            hint = nearest(name, [known for known in FLAGS if known.startswith("--")])
            remedy = hint or "the program's own arguments go after --"
            self.problems.append(UNKNOWN_FLAG.broken(KEY, f"{name} is not a flag of this command; {remedy}"))
            return value is None and following is not None and not following.startswith("-")
        if flag.kind in ("switch", "other-switch"):
            if value is not None:
                self._report(name, f"takes no value, got {shown(value)}; write {name} alone")
            elif flag.kind == "switch":
                self._set(flag.field, True, name)
            return False
        taken = value is None
        if taken:
            if following is None or following.startswith("--"):
                self._report(name, "needs a value")
                return False
            value = following
        self._value(name, flag, value or "")
        return taken

    def _value(self, name: str, flag: Flag, value: str) -> None:
        taken = flag.field or flag.kind == "labels" or name in KMS_PARTS
        if taken and self._has_variables(value, child(KEY, name)):
            self._set_unknown(name, flag)
        elif flag.kind == "text":
            self._set(flag.field, value, name)
        elif flag.kind == "tier":
            self._set(flag.field, value.upper().replace("-", "_"), name)
        elif flag.kind == "accelerator":
            self._accelerator(name, flag.field, value)
        elif flag.kind == "labels":
            for key, text in self._pairs(name, value):
                self.labels[key] = text
        elif flag.kind == "packages":
            packages = [part.strip() for part in value.split(",") if part.strip()]
            for package in packages:
                if not package.startswith("gs://"):
                    self._report_local_package(name, package)
            known = [package if package.startswith("gs://") else UNKNOWN for package in packages]
            self._set(flag.field, [*self.fields.get(flag.field, ()), *known], name)
        else:
            self.others[name] = value

    def _set_unknown(self, name: str, flag: Flag) -> None:
        """Set a value with a shell variable to UNKNOWN."""
        if flag.kind == "labels":
            self.labels_unknown = True
        elif flag.kind == "packages":
            self._set(flag.field, [*self.fields.get(flag.field, ()), UNKNOWN], name)
        elif flag.field:
            self._set(flag.field, UNKNOWN, name)
        else:
            self.others[name] = UNKNOWN

    def _accelerator(self, name: str, field: str, value: str) -> None:
        given: dict[str, str] = {}
        for key, text in self._pairs(name, value):
            if key not in ("count", "type"):
                self._report(name, f"{shown(key)} is not a part of it; write count=COUNT,type=TYPE")
            else:
                given[key] = text.upper().replace("-", "_") if key == "type" else text
        missing = [key for key in ("count", "type") if key not in given]
        if missing:
            self._report(name, f"{one_of(missing)} is missing in {shown(value)}; write count=COUNT,type=TYPE")
            given.update(dict.fromkeys(missing, UNKNOWN))  # type: ignore[arg-type]
        self._set(field, given, name)
        self.origins[f"{PREFIX}.{field}.count"] = self.origins[f"{PREFIX}.{field}.type"] = child(KEY, name)

    def _pairs(self, name: str, value: str) -> list[tuple[str, str]]:
        pairs = []
        for part in value.split(","):
            key, equals, text = part.partition("=")
            if not equals:
                self._report(name, f"{shown(part)} has no =; write NAME=VALUE, with commas between them")
            else:
                pairs.append((key.strip(), text.strip()))
        return pairs

    def _complete_packages(self) -> None:
        if "--package-path" in self.others:
            self._report_local_package("--package-path", str(self.others["--package-path"]))
            self._set("package_uris", [UNKNOWN, *self.fields.get("package_uris", ())], "--package-path")

    def _complete_key(self) -> None:
        """Build the full name of the key from flags for its parts, if only its id is given."""
        config = self.fields.get("encryption_config")
        name = config["kms_key_name"] if config else UNKNOWN
        if not config or isinstance(name, Unknown) or name.startswith("projects/"):
            return
        parts = {part: self.others.get(part) for part in KMS_PARTS}
        missing = [part for part, value in parts.items() if not value]
        if missing:
            self.problems.append(
                KMS_KEY.broken(
                    child(KEY, "--kms-key"),
                    f"{shown(name)} is not a full name, and {one_of(missing)} is not given; write "
                    "projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY",
                )
            )
            config["kms_key_name"] = UNKNOWN
            return
        ring, location, project = parts.values()
        full = f"projects/{project}/locations/{location}/keyRings/{ring}/cryptoKeys/{name}"
        config["kms_key_name"] = UNKNOWN if UNKNOWN in parts.values() else full

    def _set(self, field: str, value: object, flag: str) -> None:
        outer, _, inner = field.partition(".")
        if inner:
            self.fields.setdefault(outer, {})[inner] = value
        else:
            self.fields[outer] = value
        self.origins[f"{PREFIX}.{field}"] = child(KEY, flag)

    def _report_local_package(self, name: str, package: str) -> None:
        self.problems.append(
            LOCAL_PACKAGE.broken(
                child(KEY, name),
                f"{shown(package)} is on this machine, so its address is not known yet; a StagedPackage "
                "uploads it, or give the gs:// address of what gcloud uploaded",
            )
        )

    def _report(self, name: str, message: str) -> None:
        self.problems.append(FLAG_VALUE.broken(child(KEY, name), message))
