"""The command `gcloud ai custom-jobs create --worker-pool-spec=...`, read as a custom job."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from vertex_training.fields.schema import Origins, child, snake_case
from vertex_training.fields.values import UNKNOWN, describe, kind
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import nearest, shown

KEY = "gcloud"
"""The key of a document whose value is a gcloud command."""

VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})", re.ASCII)
"""A variable that a shell would expand."""


def words_of(value: object) -> tuple[list[str], tuple[Problem, ...]]:
    """Split a command, which is one text as in a shell or a list of words. Return the words and problems."""
    if isinstance(value, str):
        try:
            return shlex.split(value.replace("\\\r\n", " ").replace("\\\n", " ")), ()
        except ValueError as error:
            remedy = "close it" if "quotation" in str(error) else "complete it"
            reason = f"the command cannot be read as a shell does: {str(error).lower()}; {remedy}"
            return [], (Problem(path=KEY, message=reason),)
    if not isinstance(value, (list, tuple)):
        return [], (
            Problem(path=KEY, message=f"expected a command or the list of its words, got {kind(value)}"),
        )
    words, problems = [], []
    for i, word in enumerate(value):
        if isinstance(word, str) or (isinstance(word, int) and not isinstance(word, bool)):
            words.append(str(word) if abs(word if isinstance(word, int) else 0) < 10**20 else "")
        else:
            message = f"expected a word of the command, got {describe(word)}; write it in quotes"
            problems.append(Problem(path=f"{KEY}[{i}]", message=message))
    return words, tuple(problems)


_REFERENCE = "gcloud ai custom-jobs create, reference"

FLAG = Rule(
    name="custom-jobs-flag",
    says="a flag of gcloud ai custom-jobs create is one of the command's, with the value that it needs",
    source=_REFERENCE,
)
POOL = Rule(
    name="custom-jobs-pool",
    says="--worker-pool-spec has the fields that the command knows, and an image or a package",
    source=_REFERENCE,
)
LOCAL = Rule(
    name="custom-jobs-local-package",
    says="gcloud builds an image of a local package, which has no digest before that",
    source=_REFERENCE,
    level="warning",
)

_POOL_FLAG = "--worker-pool-spec"
_TEXTS = MappingProxyType(
    {
        "--display-name": "display_name",
        "--network": "network",
        "--service-account": "service_account",
        "--persistent-resource-id": "persistent_resource_id",
        "--region": "region",
    }
)
_SWITCHES = MappingProxyType(
    {"--enable-web-access": "enable_web_access", "--enable-dashboard-access": "enable_dashboard_access"}
)
_LISTS = ("--args", "--command", "--python-package-uris")
_KMS_PARTS = ("--kms-keyring", "--kms-location", "--kms-project")
_PASSED_OVER = (
    *("--account", "--billing-project", "--flags-file", "--format", "--impersonate-service-account"),
    *("--access-token-file", "--configuration", "--project", "--trace-token", "--verbosity", "--flatten"),
)
_PASSED_OVER_SWITCHES = ("--quiet", "-q", "--log-http", "--user-output-enabled")
_OTHERS = (_POOL_FLAG, "--labels", "--kms-key", "--config")
_FLAGS = (*_TEXTS, *_SWITCHES, *_LISTS, *_KMS_PARTS, *_PASSED_OVER, *_PASSED_OVER_SWITCHES, *_OTHERS)

_MACHINE = ("machine-type", "accelerator-type", "accelerator-count")
_TASK = ("container-image-uri", "executor-image-uri", "output-image-uri", "python-module", "script")
_LOCAL = ("local-package-path", "requirements", "extra-packages", "extra-dirs")
_POOL_FIELDS = (*_MACHINE, "replica-count", *_TASK, *_LOCAL)


@dataclass(frozen=True, kw_only=True)
class Creation:
    """The fields of a job in a command as plain values, and the flag in which each was written."""

    fields: Mapping[str, Any]
    region: str | None
    origins: Origins
    problems: tuple[Problem, ...]


def read_creation(document: Mapping[Any, object]) -> Creation | None:
    """Read the job of a document `{"gcloud": command}`. Return None for another command. Never raises."""
    key = next((key for key in document if isinstance(key, str) and snake_case(key) == KEY), None)
    words, _ = words_of(document[key]) if key is not None else ([], ())
    command = next((i for i in range(len(words)) if words[i : i + 2] == ["custom-jobs", "create"]), None)
    if command is None:
        return None
    reader = _Reader()
    for other in document:
        if other != key and snake_case(str(other)) not in ("region", "location"):
            reader.report(
                str(other),
                "is given in addition to a command; keep one of them, because --config is not read",
            )
    reader.read(words[command + 2 :])
    return reader.creation()


class _Reader:
    """Reads the words of a command once, in order, as the command's parser does."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._fields: dict[str, Any] = {}
        self._origins: dict[str, str] = {
            "worker_pool_specs": child(KEY, _POOL_FLAG),
            "display_name": child(KEY, "--display-name"),
        }
        self._lists: dict[str, list[Any]] = {}
        self._pools: list[dict[str, Any]] = []
        self._kms: dict[str, str] = {}

    def report(self, path: str, message: str) -> None:
        """Report a fault of a flag."""
        self.problems.append(FLAG.broken(path, message))

    def read(self, words: Sequence[str]) -> None:
        """Read the words after the command."""
        rest = iter(words)
        for word in rest:
            name, equals, value = word.partition("=")
            positive = f"--{name[5:]}" if name.startswith("--no-") else name
            if positive in (*_SWITCHES, *_PASSED_OVER_SWITCHES):
                if positive in _SWITCHES:
                    self._set(_SWITCHES[positive], positive == name, positive)
            elif name not in _FLAGS:
                hint = nearest(name, _FLAGS) if name.startswith("-") else ""
                self.report(
                    KEY,
                    f"{shown(name)} is not a flag of gcloud ai custom-jobs create; {hint or 'leave it out'}",
                )
            else:
                given = value if equals else next(rest, None)
                if given is None or (not equals and given.startswith("--")):
                    self.report(child(KEY, name), "needs a value")
                else:
                    self._value(name, given)

    def creation(self) -> Creation:
        """Return the job that was read."""
        if self._pools:
            self._fields["worker_pool_specs"] = [self._pool(i, given) for i, given in enumerate(self._pools)]
        if key := self._kms.get("--kms-key"):
            parts = [self._kms.get(part) for part in ("--kms-project", "--kms-location", "--kms-keyring")]
            if not key.startswith("projects/") and all(parts):
                key = "projects/{}/locations/{}/keyRings/{}/cryptoKeys/{}".format(*parts, key)
            self._set("encryption_spec", {"kms_key_name": key}, "--kms-key")
        region = self._fields.pop("region", None)
        return Creation(
            fields=self._fields,
            region=region if isinstance(region, str) else None,
            origins=self._origins,
            problems=tuple(self.problems),
        )

    def _value(self, name: str, value: str) -> None:
        if name == _POOL_FLAG:
            self._pools.append(self._pairs(f"{child(KEY, name)}[{len(self._pools)}]", value))
        elif name == "--labels":
            self._set("labels", self._pairs(child(KEY, name), value), name)
        elif name in _LISTS:
            self._lists.setdefault(name, []).extend(
                self._text(one, child(KEY, name)) for one in _split(value)
            )
        elif name in _TEXTS:
            self._set(_TEXTS[name], self._text(value, child(KEY, name)), name)
        elif name == "--kms-key" or name in _KMS_PARTS:
            self._kms[name] = value
        elif name == "--config":
            self.report(child(KEY, name), "no other file is read; give that file instead of the command")

    def _set(self, field: str, value: object, flag: str) -> None:
        self._fields[field] = value
        self._origins[field] = child(KEY, flag)

    def _text(self, value: str, path: str) -> Any:
        """Return the value, or UNKNOWN if it contains a shell variable."""
        found = VARIABLE.search(value)
        if found is None:
            return value
        self.report(path, f"{found.group()} is a shell variable; write its value")
        return UNKNOWN

    def _pairs(self, path: str, value: str) -> dict[str, Any]:
        pairs = {}
        for part in filter(None, _split(value)):
            name, equals, text = part.partition("=")
            if not equals:
                self.report(path, f"{shown(part)} has no =; write NAME=VALUE, with commas between them")
            else:
                pairs[name.strip()] = self._text(text.strip(), path)
        return pairs

    def _pool(self, position: int, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return a pool of the API, or {} for an empty flag. `--args` and `--command` apply to every pool."""
        path = f"{child(KEY, _POOL_FLAG)}[{position}]"
        api = f"worker_pool_specs[{position}]"
        self._origins |= {
            api: path,
            f"{api}.machine_spec": path,
            f"{api}.replica_count": f"{path}.replica-count",
        }
        for name in given:
            if name not in _POOL_FIELDS:
                hint = nearest(name, _POOL_FIELDS)
                self.problems.append(
                    POOL.broken(path, f"{shown(name)} is not a field of a pool; {hint or 'leave it out'}")
                )
        if not given:
            return {}
        machine = {}
        for name in _MACHINE:
            if name in given:
                machine[snake_case(name.replace("-", "_"))] = _number(given[name])
            self._origins[f"{api}.machine_spec.{name.replace('-', '_')}"] = f"{path}.{name}"
        if "accelerator-type" in given:
            machine.setdefault("accelerator_count", 1)
        task = self._task(path, api, given)
        return {"machine_spec": machine, "replica_count": _number(given.get("replica-count", 1)), **task}

    def _task(self, path: str, api: str, given: Mapping[str, Any]) -> dict[str, Any]:
        args = {"args": self._lists["--args"]} if "--args" in self._lists else {}
        container, package = f"{api}.container_spec", f"{api}.python_package_spec"
        self._origins |= {f"{container}.args": child(KEY, "--args"), f"{package}.args": child(KEY, "--args")}
        self._origins |= {f"{container}.command": child(KEY, "--command"), container: path, package: path}
        self._origins[f"{container}.image_uri"] = f"{path}.container-image-uri"
        self._origins[f"{package}.executor_image_uri"] = f"{path}.executor-image-uri"
        self._origins[f"{package}.python_module"] = f"{path}.python-module"
        self._origins[f"{package}.package_uris"] = child(KEY, "--python-package-uris")
        self.problems += [POOL.broken(f"{path}.{key}", why) for key, why in _refused(given, self._pools)]
        of_first = "local-package-path" in self._pools[0]
        if of_first or "local-package-path" in given or "output-image-uri" in given:
            message = "gcloud builds the image when the job is submitted; a TrainingImage builds and pins it"
            if given is self._pools[0] or not of_first:
                self.problems.append(LOCAL.broken(path, message))
            built = self._pools[0] if of_first else given
            return {"container_spec": {"image_uri": built.get("output-image-uri", UNKNOWN), **args}}
        if "container-image-uri" in given:
            command = {"command": self._lists["--command"]} if "--command" in self._lists else {}
            return {"container_spec": {"image_uri": given["container-image-uri"], **command, **args}}
        if "executor-image-uri" in given:
            fields = {
                "executor_image_uri": given["executor-image-uri"],
                "package_uris": self._lists.get("--python-package-uris", []),
                **({"python_module": given["python-module"]} if "python-module" in given else {}),
            }
            return {"python_package_spec": {**fields, **args}}
        message = "has no image to run; give container-image-uri, or executor-image-uri and python-module"
        self.problems.append(POOL.broken(path, message))
        return {"container_spec": {"image_uri": UNKNOWN}}


def _refused(given: Mapping[str, Any], pools: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield each key of a pool that gcloud refuses beside the others, and the reason.

    Source: `googlecloudsdk/command_lib/ai/custom_jobs/validation.py`.
    """
    if given is not pools[0] and "local-package-path" in pools[0]:
        for key in sorted({*_TASK, *_LOCAL} & given.keys()):
            yield (key, "is not allowed, as all pools run the local package of the first; leave it out")
    elif given is not pools[0] and "local-package-path" in given:
        yield "local-package-path", "is only allowed in the first --worker-pool-spec; move it there"
    elif "local-package-path" in given:
        yield from _refused_with_package(given)
    elif "container-image-uri" in given:
        for key, remedy in (
            ("executor-image-uri", "keep one of them"),
            ("python-module", "leave it out, or give executor-image-uri in place of container-image-uri"),
        ):
            if key in given:
                yield key, f"is not allowed together with container-image-uri; {remedy}"


def _refused_with_package(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if "container-image-uri" in given:
        yield (
            "container-image-uri",
            "is not allowed together with local-package-path, which gcloud builds; keep one",
        )
    if "executor-image-uri" not in given:
        yield "executor-image-uri", "is missing; local-package-path needs the image on which gcloud builds"
    if "python-module" in given and "script" in given:
        yield "script", "is not allowed together with python-module; keep one of them"
    elif "python-module" not in given and "script" not in given:
        yield "local-package-path", "needs python-module or script, which it runs; give one of them"


def _split(value: str) -> list[str]:
    """Split a list at commas, or at the delimiter of `^;^a;b` (gcloud topic escaping)."""
    end = value.find("^", 1) if value.startswith("^") else -1
    return value[end + 1 :].split(value[1:end]) if end > 1 else value.split(",")


def _number(value: object) -> object:
    return (
        int(value)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10
        else value
    )
