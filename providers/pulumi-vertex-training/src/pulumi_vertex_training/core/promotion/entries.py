"""The promotion in a stack's configuration: images and packages that the stack uses without building them.

`vertex-training promote` writes the key `vertex-training:promoted`. The program hands the entry of a resource
to its provider as the input `promoted`, and the provider uses the recorded content instead of the source.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pulumi_vertex_training import configuration_keys
from pulumi_vertex_training.cloud.container_registry import image_names
from pulumi_vertex_training.core.settings import SettingsError
from vertex_training.fields.decode import Decoded, decode, encode
from vertex_training.fields.uris import GcsUri, parse
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import shown

KEY = configuration_keys.PROMOTED.name
"""The key of a stack's configuration that has its promotion."""

INPUT = "promoted"
"""The input, and output, of a promoted resource with its entry."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_FILE = re.compile(r"[^/\\\s]+\.(whl|tar\.gz)")
_DIGITS = 12


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a promoted artifact was tried: the stack, and the run with its job.

    `run` is RESOURCE/NUMBER, as `vertex-training runs` counts them. Both are "" for an image that no job
    runs, such as a base of another one.
    """

    stack: str
    run: str = ""
    job: str = ""

    @property
    def words(self) -> str:
        """The origin in words: "promoted from stack dev, run train/2"."""
        return f"promoted from stack {self.stack}" + (f", run {self.run}" if self.run else "")

    def gone(self, artifact: str, places: Sequence[str]) -> str:
        """Return the error for an artifact that is in none of the places any more."""
        where = f"{'neither' if len(places) > 1 else 'not'} {' nor '.join(places)}"
        return (
            f"{artifact}, {self.words}, no longer exists, {where}. Promote another run with "
            f"`vertex-training promote --from {self.stack} --to STACK --run RUN`, or deploy stack "
            f"{self.stack} again and promote that."
        )


@dataclass(frozen=True, kw_only=True)
class PromotedImage(Origin):
    """An image that a stack uses instead of building one.

    `digest` is that of its manifest, `source` the repository that it is copied from: HOST/PATH.
    """

    digest: str
    source: str

    @property
    def content(self) -> str:
        """The content for people, in short."""
        return self.digest.removeprefix("sha256:")[:_DIGITS]


@dataclass(frozen=True, kw_only=True)
class PromotedPackage(Origin):
    """A package that a stack uses instead of making one.

    `sha256` (hex digits) and `size` are those of `file`, a `.whl` or `.tar.gz`. `source` is the gs:// address
    that it is copied from.
    """

    file: str
    sha256: str
    size: int
    source: str
    python_module: str = ""

    @property
    def content(self) -> str:
        """The content for people, in short."""
        return self.sha256[:_DIGITS]

    @property
    def source_uri(self) -> GcsUri:
        return parse(self.source)


Promoted = PromotedImage | PromotedPackage
Entry = TypeVar("Entry", PromotedImage, PromotedPackage)


@dataclass(frozen=True, kw_only=True)
class Promotion:
    """The promoted images and packages of a stack, by the names of their resources in the program."""

    images: Mapping[str, PromotedImage] = field(default_factory=dict)
    packages: Mapping[str, PromotedPackage] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.images or self.packages)

    @property
    def stack(self) -> str:
        """The stack that was promoted from, "" for an empty promotion."""
        return next((one.stack for one in (*self.images.values(), *self.packages.values())), "")

    def entry(self, kind: type[Entry], name: str) -> Entry | None:
        """Return the entry of a resource, or None if it is not promoted."""
        found = (self.images if kind is PromotedImage else self.packages).get(name)
        return found if isinstance(found, kind) else None


def read(value: str | None) -> Promotion:
    """Return the promotion in the value of `KEY`. Raises SettingsError, with all errors in one message."""
    return _read(value) if value else Promotion()


@functools.lru_cache(maxsize=8)
def _read(value: str) -> Promotion:
    try:
        document: object = json.loads(value)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise SettingsError(_remedy(f"{KEY} is {shown(value)}, which is not an object"))
    decoded = decode(Promotion, document, path=KEY)
    problems = [str(problem) for problem in decoded.problems]
    if decoded.spec is not None:
        problems += map(str, _faults(decoded.spec))
    if problems or decoded.spec is None:
        raise SettingsError(_remedy(". ".join(each.rstrip(".?") for each in problems)))
    return decoded.spec


def _remedy(fault: str) -> str:
    return (
        f"{fault}. `vertex-training promote` writes this key: promote again without --run, or run "
        f"`pulumi config rm {KEY}` to build here."
    )


def _faults(promotion: Promotion) -> list[Problem]:
    found = []
    for name, image in promotion.images.items():
        found += _image_faults(image, f"{KEY}.images[{name!r}]")
    for name, package in promotion.packages.items():
        found += _package_faults(package, f"{KEY}.packages[{name!r}]")
    return found


def _image_faults(image: PromotedImage, path: str) -> list[Problem]:
    problems = []
    if not image.digest.startswith("sha256:") or not _SHA256.fullmatch(image.digest[7:]):
        message = f"{shown(image.digest)} is not a digest, which is sha256: and 64 hex digits"
        problems.append(Problem(path=f"{path}.digest", message=message))
    try:
        parsed = image_names.parse(image.source)
        is_plain = parsed.repository == image.source
    except ValueError:
        is_plain = False
    if not is_plain:
        message = f"{shown(image.source)} is not the name of an image without tag and digest"
        problems.append(Problem(path=f"{path}.source", message=message))
    return problems


def _package_faults(package: PromotedPackage, path: str) -> list[Problem]:
    problems = []
    if not _SHA256.fullmatch(package.sha256):
        message = f"{shown(package.sha256)} is not a SHA-256, which has 64 hex digits"
        problems.append(Problem(path=f"{path}.sha256", message=message))
    if package.size < 0:
        problems.append(
            Problem(path=f"{path}.size", message=f"{package.size} is not a size; it is 0 or more")
        )
    if not _FILE.fullmatch(package.file):
        message = f"{shown(package.file)} is not the file name of a package, which ends in .whl or .tar.gz"
        problems.append(Problem(path=f"{path}.file", message=message))
    try:
        named = bool(package.source_uri.name)
    except ValueError:
        named = False
    if not named:
        message = f"{shown(package.source)} is not the gs:// address of an object"
        problems.append(Problem(path=f"{path}.source", message=message))
    return problems


def document(promotion: Promotion) -> dict[str, Any]:
    """Return the promotion as the value of `KEY`, in lower camel case, as configuration is written."""
    return {
        part: {name: _camel(encode(entry)) for name, entry in sorted(entries.items())}
        for part, entries in (("images", promotion.images), ("packages", promotion.packages))
        if entries
    }


def _camel(values: Mapping[str, Any]) -> dict[str, Any]:
    words = {"python_module": "pythonModule"}
    return {words.get(name, name): value for name, value in values.items() if value != ""}


def as_input(entry: Promoted) -> dict[str, Any]:
    """Return the entry as the input of its resource."""
    return {name: value for name, value in encode(entry).items() if value != ""}


def of_inputs(kind: type[Entry], props: Mapping[str, Any]) -> Decoded[Entry] | None:
    """Return the entry in a resource's inputs, or None for a resource that is not promoted."""
    value = props.get(INPUT)
    return None if value is None else decode(kind, value, path=INPUT)


def entry_of(kind: type[Entry], props: Mapping[str, Any]) -> Entry | None:
    """Return the entry in checked inputs or recorded outputs, or None for a resource that is not promoted."""
    found = of_inputs(kind, props)
    return None if found is None else found.spec


def input_of(
    value: str | None, kind: type[Entry], noun: str, name: str, *, stack: str, warn: Callable[[str], None]
) -> dict[str, Any]:
    """Return the input with the entry of a resource by the value of `KEY`, {} if the stack makes the content.

    A stack that runs promoted content and makes other content warns. Raises SettingsError.
    """
    promotion = read(value)
    found = promotion.entry(kind, name)
    if found is None and promotion.stack:
        warn(
            f"{noun} {name} is made here, because it is not in the promotion of stack {stack}. To promote it "
            f"too, run `vertex-training promote --from {promotion.stack} --to {stack}`."
        )
    return {} if found is None else {INPUT: as_input(found)}
