"""The engine's calls on the core's: what a program in any language declares, and what the core needs besides.

With dynamic providers a program hands over where its resources are and whose they are; here this follows from
the configuration of the provider and from the URN. A program in Python that uses the package says so
(`PROGRAM_INPUT`): it hands over what its preview knows, and waits for its jobs itself.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pulumi_vertex_training import configuration_keys as keys
from pulumi_vertex_training import urns
from pulumi_vertex_training.core.call import Call, Difference, PropertyChange
from pulumi_vertex_training.core.engine import CANCELLED
from pulumi_vertex_training.core.identity.resource_key import resource_key
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.promotion import entries
from pulumi_vertex_training.core.promotion.entries import PromotedImage, PromotedPackage
from pulumi_vertex_training.core.provider import carry_out, refusals
from pulumi_vertex_training.core.running import prerequisites
from pulumi_vertex_training.core.running.declaration import JobResourceType
from pulumi_vertex_training.core.secret_masking import KEY
from pulumi_vertex_training.core.settings import TARGET_FIELDS, target_of
from pulumi_vertex_training.core.state.hidden_input import (
    CLIMB_INPUT,
    COMPONENT,
    HANDED_OVER,
    INTERRUPT_INPUT,
    PREVIEW_INPUT,
    PROGRAM_INPUT,
    reveal_outputs,
)
from pulumi_vertex_training.core.text_of_outputs import with_texts
from pulumi_vertex_training.package import configuration, importing
from pulumi_vertex_training.package.kinds import IN_PROGRAM, PackageKind, marks_of
from pulumi_vertex_training.package.waits.job_wait import JobWait, WaitOptions
from pulumi_vertex_training.package.waits.ready_wait import ReadyOptions, ReadyWait
from pulumi_vertex_training.package.waits.waiting import Wait, Waited
from pulumi_vertex_training.package.wire import names
from pulumi_vertex_training.package.wire.properties import Properties
from pulumi_vertex_training.runs.identity import identity_of
from vertex_training.fields.decode import UNKNOWN, Decoded, decode
from vertex_training.fields.uris import DIRECTORY
from vertex_training.findings.problems import Problem


class InitError(Exception):
    """A resource exists, and the deployment fails: the state keeps its id and properties."""

    def __init__(self, reason: str, id_: str, outputs: Properties, inputs: Properties) -> None:
        super().__init__(reason)
        self.id, self.outputs, self.inputs = id_, outputs, inputs


@dataclass(frozen=True, kw_only=True)
class Request:
    """A call of the engine about one resource. The parts are `Call`'s, with the names of the wire.

    `promotion` is the one of the stack, as its configuration has it, None without one.
    """

    kind: PackageKind
    urn: str
    stack_key: str = ""
    promotion: str | None = None
    id: str = ""
    seed: bytes = b""
    timeout: float | None = None
    inputs: Properties = field(default_factory=Properties)
    old_inputs: Properties = field(default_factory=Properties)
    outputs: Properties = field(default_factory=Properties)

    @property
    def secrets(self) -> frozenset[str]:
        """The paths of all secrets, and of what is made of them, with the names of the wire.

        A program in Python, and a component, convert the names at the top alone.
        """
        found = self.inputs.secrets | self.old_inputs.secrets | self.outputs.secrets
        spelt = (names.text_outward(path, self.kind.inputs) for path in found)
        return self.kind.derived_secrets(frozenset(spelt))

    def answer(self, props: Mapping[str, Any], options: Mapping[str, Any]) -> Properties:
        """Return the core's properties for the wire, with the secrets of the call."""
        return Properties(values=self.kind.outward({**props, **options}), secrets=self.secrets)


def check(request: Request) -> tuple[Properties, Sequence[str]]:
    """Return the inputs as the state keeps them, or every reason to refuse them."""
    kind, given = request.kind, _given(request.inputs)
    handed_over = {name: given.values[name] for name in HANDED_OVER if name in given.values}
    in_python = _in_python(handed_over)
    declared, own = kind.split(
        {name: value for name, value in kind.inward(given.values).items() if name not in handed_over}
    )
    in_class = in_python or handed_over.get(PROGRAM_INPUT) == COMPONENT
    if not in_class:
        # The classes for Python decide this themselves: they pass each input, as None without a value.
        declared |= _empty(kind, request.inputs.values)
    problems = [] if in_class else [*_set_here(kind, declared)]
    problems += [] if in_python else [*_not_in_python()]
    options = None if in_python else _options(kind, own)
    old, _ = kind.split(kind.inward(request.old_inputs.values))
    call = _call(
        request,
        inputs={
            **_place(kind),
            **kind.provider.defaults(urns.parse(request.urn).name),
            **declared,
            **_facts(request),
            **({} if in_python else _promoted(request)),
            **_secrets(given),
        },
        old_inputs={**old, **_secrets(request.old_inputs)},
    )
    call.context.given = {**call.inputs, **_climb(options), **handed_over}
    call.context.recorded = call.old_inputs or call.context.recorded
    call = dataclasses.replace(call, is_preview=call.context.given.get(PREVIEW_INPUT) is True)
    found = carry_out(kind.provider.check, call)
    problems += options.problems if options else ()
    problems += with_texts(found, call.inputs) if in_class else found.problems
    spelt = str if in_python else functools.partial(names.text_outward, inputs=kind.inputs)
    if reasons := refusals(problems, call, spelt=spelt):
        return request.inputs, reasons
    call.context.checked = found.inputs
    kept: dict[str, Any] = {IN_PROGRAM: True} if in_python and kind.options else {}
    if options:  # all of them, so that a default that changes in a later version shows as a change
        kept = {} if options.spec is None else dataclasses.asdict(options.spec)
    return request.answer(found.inputs, kept), ()


def _climb(options: Decoded[Any] | None) -> dict[str, Any]:
    """Return how long a job that has a capacity ladder may climb: as long as its deployment waits."""
    draft = options.draft if options else None
    if not isinstance(draft, WaitOptions):
        return {}
    return {CLIMB_INPUT: draft.wait_timeout if draft.waits else 0.0}


def _in_python(given: Mapping[str, Any]) -> bool:
    """Return whether a program in Python declares the resource, which waits for its jobs itself."""
    return given.get(PROGRAM_INPUT) == "python"


def _set_here(kind: PackageKind, declared: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the inputs that the plugin sets, and no program."""
    for name in declared:
        if not name.startswith("__") and name not in kind.public_names and name in _core_names(kind):
            yield Problem(path=name, message="is no input: the provider sets it. Leave it out.")


def _not_in_python() -> Iterator[Problem]:
    """Yield why a program in another language than Python cannot declare anything."""
    if OPERATION.settings.form == "package" and OPERATION.settings.cost_limits.are_set:
        yield Problem(path=keys.FORM.name, message=f"is for programs in Python. {configuration.ONLY_PYTHON}")


def diff(request: Request) -> Difference:
    """Return what the declared inputs change, with the names of the wire."""
    kind = request.kind
    (outputs, was), (inputs, will) = _parts(request)
    call = _call(request, inputs=inputs, outputs=outputs)
    # It may be that of a preview, in which what the job needs may not exist yet: see `delete`. Only a program
    # in Python tells.
    given = call.context.given
    is_preview = given.get(PREVIEW_INPUT) is True or not _in_python(given)
    found = carry_out(kind.provider.diff, dataclasses.replace(call, is_preview=is_preview))
    changes = [
        dataclasses.replace(each, path=names.path_outward(each.path, kind.inputs))
        for each in found.properties
    ]
    own = _other_options(kind, was, will)
    if not found.replaces and "wait" not in own and _waits(request, outputs, will):
        own = [*own, "wait"]
    changes += [PropertyChange(path=(names.wire_name(name),), kind="update") for name in own]
    return Difference(
        changes=found.changes or bool(changes),
        properties=changes,
        delete_before_replace=found.delete_before_replace,
    )


def _other_options(kind: PackageKind, was: Mapping[str, Any], will: Mapping[str, Any]) -> list[str]:
    """Return the package's own options that differ; one that is not recorded has its default."""
    if was.get(IN_PROGRAM) != will.get(IN_PROGRAM):
        return ["wait"] if was else []  # An import records no option.
    old, new = _options(kind, was), _options(kind, will)
    if old is None or new is None or old.draft is None or new.draft is None:
        return []
    return [
        name
        for name in sorted(kind.option_names)
        if name in new.unknown or getattr(old.draft, name) != getattr(new.draft, name)
    ]


def create(request: Request) -> tuple[str, Properties]:
    """Create or adopt the resource, and wait for it. Raises InitError for one that has failed."""
    _, (inputs, options) = _parts(request)
    made = carry_out(request.kind.provider.create, _call(request, inputs=inputs))
    return made.id, _waited(request, made.id, made.outputs, options)


def created_in_preview(request: Request) -> Properties:
    """Return the outputs as far as a preview knows them."""
    kind = request.kind
    values = dict(request.inputs.values)
    wanted = {names.wire_name(name): UNKNOWN for name in kind.outputs}
    return Properties(values={**wanted, **values}, secrets=request.secrets)


def update(request: Request) -> Properties:
    """Change the resource in place, and wait for it. Raises InitError for one that has failed."""
    (outputs, _), (inputs, options) = _parts(request)
    changed = carry_out(request.kind.provider.update, _call(request, inputs=inputs, outputs=outputs))
    return _waited(request, request.id, changed, options)


def updated_in_preview(request: Request) -> Properties:
    """Return the outputs as far as a preview knows them. Warn of a resource that has failed."""
    kind = request.kind
    (outputs, _), (_, options) = _parts(request)
    kept = {
        wire: value
        for name in kind.outputs
        if (value := request.outputs.values.get(wire := names.wire_name(name))) is not None
    }
    if wait := _wait(request, request.id, outputs, options):
        if failure := wait.recorded().failure:
            OPERATION.print_once(f"warning: {failure}", urn=request.urn)
        elif wait.is_due():
            kept |= {names.wire_name(name): UNKNOWN for name in wait.changed}
    return Properties(values={**kept, **request.inputs.values}, secrets=request.secrets)


def read(request: Request) -> tuple[str, Properties, Properties]:
    """Return the id, the outputs and the inputs of a resource; the id is "" if it certainly does not exist.

    Without recorded properties, that is for an import, all of them are the service's. Raises InitError for a
    failed job that a deployment waits for.
    """
    kind = request.kind
    if not request.outputs.values:
        found, id_ = carry_out(lambda call: importing.read(kind, call), _call(request))
        if found is None:
            return "", Properties(), Properties()
        return id_, Properties(values=kind.outward(found.outputs)), Properties(values=found.inputs or {})
    (outputs, own), _ = _parts(request)
    if kind.inward(request.old_inputs.values).get(IN_PROGRAM):
        own = {IN_PROGRAM: True}  # The outputs may come from an import, or another language.
    read_ = carry_out(kind.provider.read, _call(request, outputs=outputs))
    if read_ is None:
        return "", Properties(), Properties()
    inputs = request.old_inputs
    if read_.inputs is not None:
        # An import records no outputs among the inputs, a check does: a refresh keeps what there is.
        without = frozenset(kind.outputs).difference(kind.inward(request.old_inputs.values))
        inputs = request.answer({k: v for k, v in read_.inputs.items() if k not in without}, own)
    wait = _wait(request, request.id, read_.outputs, own)
    if wait is None:
        return request.id, request.answer(read_.outputs, own), inputs
    waited = wait.refreshed()
    answer = request.answer({**read_.outputs, **_seen(request.kind, waited)}, own)
    if waited.failure:
        raise InitError(waited.failure, request.id, answer, inputs)
    return request.id, answer, inputs


def delete(request: Request) -> None:
    """Delete the resource. A job that runs again goes only if its next run can be submitted."""
    (outputs, _), _ = _parts(request)

    def delete_checked(call: Call) -> None:
        if request.kind.job is not None:
            _require_next_run(request.kind.job, call)
        request.kind.provider.delete(call)

    carry_out(delete_checked, _call(request, outputs=outputs))


def _require_next_run(declared: JobResourceType, call: Call) -> None:
    """Raise Failure if the run that replaces the job could not be submitted.

    The engine does not tell a diff whether it is that of a preview. It deletes only in a deployment, when
    everything that the job needs exists.
    """
    if call.context.decided is None:
        return
    outputs = reveal_outputs(call.outputs)
    prerequisites.require(
        declared,
        declared.resource(outputs),
        call,
        identity=identity_of(str(outputs.get("run"))),
        place=target_of(outputs),
        certain=True,
    )


def _waited(request: Request, id_: str, outputs: dict[str, Any], options: dict[str, Any]) -> Properties:
    wait = _wait(request, id_, outputs, options) or _interrupted(request, id_, outputs)
    if wait is None:
        return request.answer(outputs, options)
    waited: Waited = carry_out(lambda _: wait.run(), _call(request, inputs=outputs))
    directory = {"base_output_directory": outputs[DIRECTORY]} if DIRECTORY in outputs else {}
    answer = request.answer({**outputs, **_seen(request.kind, waited), **directory}, options)
    if waited.failure:
        raise InitError(waited.failure, id_, answer, request.inputs)
    return answer


def _interrupted(request: Request, id_: str, outputs: Mapping[str, Any]) -> Wait | None:
    """Return a wait, which ends at once, for a job that Ctrl-C cancels before its program waits for it."""
    declared, given = request.kind.job, OPERATION.context(request.urn, request.id).given
    if declared is None or given.get(INTERRUPT_INPUT) != "cancel" or not CANCELLED.is_set():
        return None
    options = WaitOptions(wait="done", on_interrupt="cancel")
    return JobWait(
        declared=declared, urn=request.urn, id=id_, outputs=reveal_outputs(outputs), options=options
    )


def _seen(kind: PackageKind, waited: Waited) -> dict[str, Any]:
    """Return the outputs that the wait has seen: the hidden ones stay as they are."""
    return {name: value for name, value in waited.outputs.items() if name in kind.outputs}


def _wait(request: Request, id_: str, outputs: Mapping[str, Any], options: Mapping[str, Any]) -> Wait | None:
    """Return the wait for a resource that takes time, None for any other, and if the program waits."""
    kind = request.kind
    if options.get(IN_PROGRAM):
        return None
    decoded = _options(kind, options)
    chosen = decoded.spec if decoded else None
    if kind.job is not None:
        return JobWait(
            declared=kind.job,
            urn=request.urn,
            id=id_,
            outputs=reveal_outputs(outputs),
            options=chosen if isinstance(chosen, WaitOptions) else WaitOptions(),
            joins=bool(request.id),
        )
    if kind.provider.readiness is not None:
        return ReadyWait(
            declared=kind.provider.readiness,
            urn=request.urn,
            id=id_,
            outputs=outputs,
            options=chosen if isinstance(chosen, ReadyOptions) else ReadyOptions(),
        )
    return None


def _waits(request: Request, outputs: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
    """Return whether a deployment waits for the recorded resource of an unchanged declaration."""
    wait = _wait(request, request.id, outputs, options)
    return wait is not None and wait.is_due()


Parts = tuple[dict[str, Any], dict[str, Any]]


def _parts(request: Request) -> tuple[Parts, Parts]:
    """Return the outputs and the inputs with the core's names, each beside the package's own options."""
    kind = request.kind
    outputs, was = kind.split(kind.inward(request.outputs.values))
    inputs, will = kind.split(kind.inward(request.inputs.values))
    return ({**outputs, **_secrets(request.outputs)}, was), ({**inputs, **_secrets(request.inputs)}, will)


def _call(
    request: Request,
    *,
    inputs: dict[str, Any] | None = None,
    old_inputs: dict[str, Any] | None = None,
    outputs: dict[str, Any] | None = None,
) -> Call:
    return Call(
        urn=request.urn,
        id=request.id,
        seed=request.seed,
        timeout=request.timeout or None,
        key=_key(request),
        inputs=inputs or {},
        old_inputs=old_inputs or {},
        outputs=outputs or {},
        context=OPERATION.context(request.urn, request.id),
    )


def _given(props: Properties) -> Properties:
    """Return the properties that have a value."""
    values = {name: value for name, value in props.values.items() if value is not None}
    return dataclasses.replace(props, values=values)


def _empty(kind: PackageKind, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs that are given as null and mean an output without a value."""
    named = {name: given.get(names.wire_name(name), "") for name in kind.provider.empty_if_null}
    return {name: "" for name, value in named.items() if value is None}


def _secrets(props: Properties) -> dict[str, Any]:
    return {KEY: sorted(props.secrets)} if props.secrets else {}


def _place(kind: PackageKind) -> dict[str, Any]:
    """Return endpoint, project and location by the configuration, as far as the kind has them."""
    settings = OPERATION.settings
    place = {
        "endpoint": settings.endpoint,
        "project": settings.project or "",
        "location": settings.location or "",
    }
    return {name: place[name] for name in TARGET_FIELDS if name in _core_names(kind)}


def _facts(request: Request) -> dict[str, Any]:
    """Return what a program in Python hands over beside the inputs, by the URN."""
    facts: dict[str, Any] = {"endpoint": OPERATION.settings.endpoint}
    if "marks" in _core_names(request.kind):
        facts["marks"] = marks_of(request.urn)
    return facts


def _promoted(request: Request) -> dict[str, Any]:
    """Return the input with the promoted content of an image or package, {} if it is made here."""
    urn = urns.parse(request.urn)

    def given(kind: type[entries.Entry], noun: str) -> dict[str, Any]:
        return entries.input_of(
            request.promotion,
            kind,
            noun,
            urn.name,
            stack=urn.stack,
            warn=lambda warning: OPERATION.print_once(f"warning: {warning}", urn=request.urn),
        )

    if request.kind.resource == "StagedPackage":
        return given(PromotedPackage, "package")
    return given(PromotedImage, "image") if request.kind.resource == "TrainingImage" else {}


def _key(request: Request) -> str:
    """Return the key of the resource, "" without one of the stack."""
    urn = urns.parse(request.urn)
    ancestors, _, _ = urn.types.rpartition("$")
    if not request.stack_key:
        return ""
    return resource_key(request.stack_key, [ancestors] if ancestors else [], request.kind.resource, urn.name)


def _core_names(kind: PackageKind) -> frozenset[str]:
    return frozenset(item.name for item in dataclasses.fields(kind.inputs))


def _options(kind: PackageKind, own: Mapping[str, Any]) -> Decoded[Any] | None:
    return None if kind.options is None or own.get(IN_PROGRAM) else decode(kind.options, dict(own))
