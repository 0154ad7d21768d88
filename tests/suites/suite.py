"""The kinds of suites: where tests come from, how they reach the emulator, which do not pass, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Setting = Literal["shell", "proxy", "account", "testbench"]


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Why tests are left out, or do not pass: those whose id the regular expression `tests` finds."""

    tests: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Suite:
    """Tests that are run against an emulator of their own.

    In the setting "shell" they get the variables of `vertex-training emulator env`, with "proxy" also
    `--proxy`; with "account" the key of a service account and the emulator's address instead, as Google's
    clients get them; with "testbench" an address where `suites.testbench` stands in front of the
    emulator. `buckets` are created first, with object versioning if `versioning` is set, and `variables` are
    set on top; their values may name variables of the setting as `$NAME`.
    """

    name: str
    setting: Setting = "shell"
    buckets: tuple[str, ...] = ()
    versioning: bool = False
    variables: tuple[tuple[str, str], ...] = ()
    left_out: tuple[Reason, ...] = ()
    not_passed: tuple[Reason, ...] = ()

    @property
    def source(self) -> str:
        """Return what the tests are from, with the version."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class PytestSuite(Suite):
    """Tests that pytest runs, in an environment with `requirements`, each for at most `seconds`.

    `aliases` are packages that the tests import under a second name, which has no distribution. Jobs can
    install `wheels`: suites reach no package index.
    """

    tests: tuple[str, ...]
    requirements: tuple[str, ...]
    wheels: tuple[str, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    workers: int = 4
    seconds: int = 120


@dataclass(frozen=True, kw_only=True)
class Source:
    """A folder of the source distribution of a package."""

    distribution: str
    version: str
    folder: str


@dataclass(frozen=True, kw_only=True)
class PythonSuite(PytestSuite, Source):
    """Tests in the source distribution of a package.

    `folder` is the part of the distribution that is unpacked; pytest runs `tests` in the distribution's root.
    """

    @property
    def source(self) -> str:
        return f"{self.distribution} {self.version}"


@dataclass(frozen=True, kw_only=True)
class Flows(PytestSuite):
    """Tests of our own in tests/suites/flows, for a package whose own tests do not fit the emulator.

    The tests find `examples` in a folder of this name. `smoke` is the test that continuous integration runs;
    with a `large` environment it is one of the slow tests alone.
    """

    package: str
    smoke: str
    large: bool = False
    examples: Source | None = None

    @property
    def source(self) -> str:
        version = next(each for each in self.requirements if each.startswith(f"{self.package}=="))
        return f"flows of our own, {version.replace('==', ' ')}"


@dataclass(frozen=True, kw_only=True)
class GoSuite(Suite):
    """A program of a Go module that tests a registry and writes junit.xml."""

    module: str
    version: str

    @property
    def source(self) -> str:
        return f"{self.module.removeprefix('github.com/')} {self.version.rpartition('-')[2]}"


@dataclass(frozen=True, kw_only=True)
class Edit:
    """A change of one file of a module: the text `old`, which it has once, becomes `new`.

    Without `old`, `new` is the whole file.
    """

    path: str
    old: str = ""
    new: str


@dataclass(frozen=True, kw_only=True)
class GoTests(Suite):
    """The tests of one package of a Go module.

    `arguments` are given to the test program. `edits` are made to a copy of the module. Reasons to leave out
    name tests of the first level; an edit leaves out tests below them, by `t.Skip("left out: ...")`.
    """

    module: str
    version: str
    package: str
    arguments: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()

    @property
    def source(self) -> str:
        package = "" if self.package == "." else f", {self.package}"
        return f"{self.module.removeprefix('github.com/')} {self.version}{package}"


@dataclass(frozen=True, kw_only=True)
class RustTests(Suite):
    """The tests of a crate whose path begins with `path`, built with `features`."""

    crate: str
    version: str
    features: tuple[str, ...]
    path: str

    @property
    def source(self) -> str:
        return f"{self.crate} {self.version}, {self.path}"
