"""Reading of a declared job of any kind into its spec, with every finding."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from vertex_training.fields.decode import Decoded, decode
from vertex_training.fields.schema import camel_case
from vertex_training.fields.values import Unknown
from vertex_training.findings.problems import Problem, known
from vertex_training.job.auto_replicas import fill_in
from vertex_training.job.framework_choices import Choice, choose, preset_of
from vertex_training.job.rules.job_spec import below
from vertex_training.job.stall_timeout import with_stall_timeout
from vertex_training.topology.rules.reduction_servers import Sizing

Spec = TypeVar("Spec")

_COUNT = ".replica_count"


def decode_spec(
    cls: type[Spec],
    value: object,
    *,
    normalise: Callable[[Spec], Spec],
    check: Callable[[Spec], Sequence[Problem]],
    location: str | Unknown | None = None,
    at: Sequence[str] = ("",),
    framework: object = None,
    stall_timeout: object = None,
) -> Decoded[Spec]:
    """Decode, normalise and check a spec of any kind; report every problem at once, with its path.

    Reduction servers with the count "auto" are filled in first, for `location`, which may not be known yet,
    then the choices of the framework, and then the `stall_timeout` of the job.
    `at` has the possible paths of a `JobSpec`, "trial_job_spec" or "". `check` returns the findings about a
    spec.
    """
    filled = fill_parts(value, at=at, location=location, framework=framework, stall_timeout=stall_timeout)
    decoded = filled.with_reasons(decode(cls, filled.value))
    if filled.problems:
        decoded = dataclasses.replace(decoded, spec=None, problems=(*filled.problems, *decoded.problems))
    # A pool whose replica count is not known yet may turn out to be empty, and then no rule applies to it.
    uncertain = {path.removesuffix(_COUNT) for path in decoded.unknown if path.endswith(_COUNT)}
    return decoded.then(normalise, lambda spec: known(check(spec), uncertain))


@dataclasses.dataclass(frozen=True, kw_only=True)
class FilledParts:
    """A declaration whose parts have reduction servers (`auto_replicas`) and choices (`framework_choices`).

    The problems have their paths in the whole declaration. `sizing` is the calculation of the number, and
    `arithmetic` the same in words; None and "" if no count is "auto". `choices` are the framework's,
    with their paths in the whole declaration, and `sentences` the same in words. `without_image` has the
    paths of images that are missing and that the framework `named` cannot choose.
    """

    value: Any
    problems: tuple[Problem, ...] = ()
    arithmetic: str = ""
    sizing: Sizing | None = None
    choices: tuple[Choice, ...] = ()
    sentences: tuple[str, ...] = ()
    without_image: frozenset[str] = frozenset()
    named: str = ""

    def with_reasons(self, decoded: Decoded[Spec]) -> Decoded[Spec]:
        """Return what was decoded, with the reason why the framework did not choose a missing image."""
        return dataclasses.replace(decoded, problems=tuple(map(self._with_reason, decoded.problems)))

    def _with_reason(self, problem: Problem) -> Problem:
        if problem.path not in self.without_image:
            return problem
        return dataclasses.replace(
            problem,
            message=f"is missing, and Google has no prebuilt image for {self.named} with this machine; give "
            "that of your program, for example of a TrainingImage",
        )


def fill_parts(
    value: object,
    *,
    at: Sequence[str] = ("",),
    location: str | Unknown | None = None,
    framework: object = None,
    stall_timeout: object = None,
) -> FilledParts:
    """Fill in each `JobSpec` of a declaration that is at one of the paths.

    `replica_count: "auto"` becomes a number, and the pools get the choices of a framework, if one is named,
    and the variable of the stall timeout, if there is one.
    """
    problems: list[Problem] = []
    sizings: list[Sizing] = []
    choices: list[Choice] = []
    sentences: list[str] = []
    without_image: list[str] = []
    preset = preset_of(framework)

    def filled(value: object, path: Sequence[str], whole: str) -> Any:
        if not isinstance(value, Mapping):
            return value
        if not path:
            filled_in = fill_in(value, location=location)
            problems.extend(below(filled_in.problems, whole))
            sizings.extend([filled_in.sizing] if filled_in.sizing else [])
            chosen = choose(filled_in.value, framework, location=location)
            choices.extend(
                dataclasses.replace(one, path=f"{whole}.{one.path}" if whole else one.path)
                for one in chosen.choices
            )
            sentences.extend(chosen.sentences)
            without_image.extend(f"{whole}.{one}" if whole else one for one in chosen.without_image)
            return with_stall_timeout(chosen.value, stall_timeout)
        key = next((key for key in (path[0], camel_case(path[0])) if key in value), None)
        return value if key is None else {**value, key: filled(value[key], path[1:], whole)}

    for path in at:
        value = filled(value, path.split(".") if path else [], path)
    return FilledParts(
        value=value,
        problems=tuple(problems),
        arithmetic=" ".join(sentence for sizing in sizings for sentence in sizing.arithmetic),
        sizing=sizings[0] if sizings else None,
        choices=tuple(choices),
        sentences=tuple(sentences),
        without_image=frozenset(without_image),
        named=preset.name if preset is not None else "",
    )
