"""Read a workflow's definition and run it, step by step, until it ends or sleeps.

The emulator runs the subset of the syntax (Workflows documentation, "Syntax overview") with one workflow
`main` and the steps assign, call, switch, for, try with retry and except, next, return and raise. `call` has
http.get, http.post, sys.sleep and sys.log. A sleep has to be a step of `main` itself: there the state is a
position and the variables, which are stored, so a sleeping execution survives the emulator.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

import yaml

from vertex_emulator.http.google_paths import google_path
from vertex_emulator.own_api import Call, is_own_host
from vertex_emulator.workflows import expressions
from vertex_emulator.workflows.expressions import ExpressionError, Functions

_ACTIONS = ("assign", "call", "switch", "for", "try", "return", "raise", "steps")
_OTHER_KEYS = ("next", "args", "result", "retry", "except", "condition")
_CALLS = ("http.get", "http.post", "sys.sleep", "sys.log")
_MOST_STEPS = 100_000
_MOST_VALUES = 50_000
_HTTP_SECONDS = 60.0
_ATTEMPTS = 5
_TRANSIENT = (429, 502, 503, 504)
END = "end"

_OUT_OF_MEMORY = (
    f"ResourceLimitError: the variables of an execution may have {expressions.MOST_MEMORY >> 10} KiB. Use "
    "fewer or smaller values"
)

Step = tuple[str, Mapping[str, Any]]


class DefinitionError(Exception):
    """A definition that cannot be deployed. `unsupported` if only the emulator cannot run it."""

    def __init__(self, message: str, *, unsupported: bool = False) -> None:
        super().__init__(message)
        self.unsupported = unsupported


class Raised(Exception):  # noqa: N818  the documentation's word
    """An error that a step raised: a map with code and message, or a text."""

    def __init__(self, payload: Any) -> None:
        super().__init__(str(payload))
        self.payload = payload


@dataclass(frozen=True, kw_only=True)
class Program:
    """A definition that was read: the parameter of `main`, if it has one, and its steps."""

    parameter: str | None
    steps: Sequence[Step]


@dataclass(kw_only=True)
class State:
    """The state of an execution between two steps of `main`: what is stored while it sleeps."""

    position: int = 0
    variables: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Sleep:
    """The execution sleeps for some seconds; its state has the next step."""

    seconds: float


@dataclass(frozen=True, kw_only=True)
class Returned:
    """The execution has ended with a value."""

    value: Any = None


@dataclass(frozen=True)
class _Jump:
    to: str


def read(source: str) -> Program:
    """Read a definition in YAML or JSON. Raises `DefinitionError`."""
    try:
        document = yaml.safe_load(source)
    except yaml.YAMLError as error:
        raise DefinitionError(f"the definition is not YAML: {error}") from None
    except RecursionError:
        raise DefinitionError("the definition is nested too deeply") from None
    _check_size(document)
    if not isinstance(document, Mapping) or not isinstance(document.get("main"), Mapping):
        raise DefinitionError("the definition has no workflow main with steps")
    if others := sorted(set(document) - {"main"}):
        raise DefinitionError(
            f"the emulator does not run subworkflows ({', '.join(map(str, others))})", unsupported=True
        )
    main = document["main"]
    parameters = main.get("params") or []
    if len(parameters) > 1:
        raise DefinitionError("main has more than one parameter")
    program = Program(parameter=parameters[0] if parameters else None, steps=_steps(main.get("steps")))
    _check_steps(program.steps, top=True)
    return program


def _check_size(document: Any) -> None:
    """Raise `DefinitionError` for too many values, which few aliases of YAML can make of one."""
    found, values = 0, [document]
    while values:
        value = values.pop()
        found += 1
        if found > _MOST_VALUES:
            raise DefinitionError(f"the definition has more than {_MOST_VALUES:,} values")
        if isinstance(value, (Mapping, list)):
            values += value.values() if isinstance(value, Mapping) else value


def run(program: Program, state: State, *, call: Call, known: Functions) -> Sleep | Returned:
    """Run from the state on. The state is changed. Raises `Raised` for an error that no step handles."""
    run_ = _Run(program, state, call, known)
    try:
        return run_.on()
    except ExpressionError as error:
        raise Raised(str(error)) from None


def _steps(value: Any) -> list[Step]:
    if not isinstance(value, list) or not value:
        raise DefinitionError("steps must be a list of steps")
    found: list[Step] = []
    for item in value:
        if not isinstance(item, Mapping) or len(item) != 1:
            raise DefinitionError(f"a step must be a map with one name: {item!r}")
        ((name, body),) = item.items()
        if not isinstance(body, Mapping):
            raise DefinitionError(f"step {name} must be a map")
        found.append((str(name), body))
    return found


def _check_steps(steps: Sequence[Step], *, top: bool = False) -> None:
    for name, body in steps:
        if unknown := sorted(set(body) - {*_ACTIONS, *_OTHER_KEYS}):
            raise DefinitionError(f"the emulator does not run {unknown[0]!r} (step {name})", unsupported=True)
        for part in ("try", "except"):
            if isinstance(body.get(part), Mapping) and "steps" in body[part]:
                _check_steps(_steps(body[part]["steps"]))
        if "steps" in body:
            _check_steps(_steps(body["steps"]))
        if "for" in body:
            _check_steps(_steps(body["for"].get("steps")))
        for inner in [body, *(one for one in [body.get("try")] if isinstance(one, Mapping))]:
            called = inner.get("call")
            if called is not None and called not in _CALLS:
                raise DefinitionError(
                    f"the emulator does not call {called!r} (step {name}); it has {', '.join(_CALLS)}",
                    unsupported=True,
                )
            if called == "sys.sleep" and not (top and inner is body):
                raise DefinitionError(
                    f"the emulator sleeps only in a step of main itself (step {name})", unsupported=True
                )
        try:
            expressions.check({key: item for key, item in body.items() if key not in ("steps", "for")})
        except ExpressionError as error:
            raise DefinitionError(f"step {name}: {error}") from None


def _size(value: Any) -> int:
    return len(json.dumps(value))


class _Run:
    """One run of a program from a state to its end or its next sleep."""

    def __init__(self, program: Program, state: State, call: Call, known: Functions) -> None:
        self._steps = program.steps
        self._state = state
        self._call = call
        self._known = known
        self._count = 0
        self._sizes = {name: _size(value) for name, value in state.variables.items()}

    def on(self) -> Sleep | Returned:
        positions = {name: index for index, (name, _) in enumerate(self._steps)}
        while self._state.position < len(self._steps):
            _, body = self._steps[self._state.position]
            self._state.position += 1
            if body.get("call") == "sys.sleep":
                seconds = float(self._value((body.get("args") or {}).get("seconds", 0)))
                self._follow(body.get("next"), positions)
                return Sleep(seconds=seconds)
            done = self._step(body)
            if isinstance(done, Returned):
                return done
            self._follow(done.to if isinstance(done, _Jump) else body.get("next"), positions)
        return Returned()

    def _follow(self, to: Any, positions: Mapping[str, int]) -> None:
        if to == END:
            self._state.position = len(self._steps)
        elif to is not None and to in positions:
            self._state.position = positions[to]
        elif to is not None:
            raise Raised(f"there is no step {to}")

    def _inner(self, steps: Sequence[Step]) -> Returned | _Jump | None:
        """Run the steps of a block. A `next` inside it can only lead out of it."""
        for _, body in steps:
            done = self._step(body)
            if done is None and body.get("next") is not None:
                done = _Jump(str(body["next"]))
            if done is not None:
                return done
        return None

    def _step(self, body: Mapping[str, Any]) -> Returned | _Jump | None:
        self._count += 1
        if self._count > _MOST_STEPS:
            raise Raised(f"ResourceLimitError: more than {_MOST_STEPS} steps")
        if "assign" in body:
            for item in body["assign"]:
                for target, value in item.items():
                    self._assign(str(target), self._value(value))
        elif "call" in body:
            result = self._do_call(str(body["call"]), self._value(body.get("args") or {}))
            if "result" in body:
                self._assign(str(body["result"]), result)
        elif "switch" in body:
            return self._switch(body["switch"])
        elif "for" in body:
            return self._for(body["for"])
        elif "try" in body:
            return self._try(body)
        elif "return" in body:
            return Returned(value=self._value(body["return"]))
        elif "raise" in body:
            raise Raised(self._value(body["raise"]))
        elif "steps" in body:
            return self._inner(_steps(body["steps"]))
        return None

    def _switch(self, cases: Sequence[Mapping[str, Any]]) -> Returned | _Jump | None:
        for case in cases:
            if self._value(case["condition"]):
                inner = {key: value for key, value in case.items() if key != "condition"}
                done = self._step(inner)
                return _Jump(str(case["next"])) if done is None and "next" in case else done
        return None

    def _for(self, loop: Mapping[str, Any]) -> Returned | _Jump | None:
        for value in self._value(loop["in"]):
            self._assign(str(loop["value"]), value)
            done = self._inner(_steps(loop["steps"]))
            if isinstance(done, _Jump) and done.to == "continue":
                continue
            if isinstance(done, _Jump) and done.to == "break":
                return None
            if done is not None:
                return done
        return None

    def _try(self, body: Mapping[str, Any]) -> Returned | _Jump | None:
        try:
            return self._tried(body["try"], attempts=_ATTEMPTS if "retry" in body else 1)
        except (Raised, ExpressionError) as error:
            handler = body.get("except")
            if handler is None:
                raise
            payload = error.payload if isinstance(error, Raised) else {"message": str(error), "tags": []}
            if "as" in handler:
                self._assign(str(handler["as"]), payload)
            return self._inner(_steps(handler["steps"]))

    def _tried(self, body: Mapping[str, Any], *, attempts: int) -> Returned | _Jump | None:
        """Run a step, again at once after a transient error, whatever the retry policy is."""
        for left in reversed(range(attempts)):
            try:
                return self._step(body)
            except Raised as error:
                payload = error.payload if isinstance(error.payload, Mapping) else {}
                if not left or payload.get("code") not in _TRANSIENT:
                    raise
        return None

    def _assign(self, target: str, value: Any) -> None:
        """Set a variable, or a key inside it: `request.jobSpec.serviceAccount`. The maps on the way exist."""
        first, *path = target.split(".")
        if path:
            self._assign_within(first, path, value)
        else:
            self._state.variables[first] = value
        self._sizes[first] = _size(self._state.variables[first])
        if sum(self._sizes.values()) > expressions.MOST_MEMORY:
            raise Raised(_OUT_OF_MEMORY)

    def _assign_within(self, first: str, path: Sequence[str], value: Any) -> None:
        inner: Any = self._state.variables.get(first)
        for key in path[:-1]:
            inner = inner.get(key) if isinstance(inner, Mapping) else None
        if not isinstance(inner, dict):
            raise ExpressionError(f"KeyError: key not found: {'.'.join([first, *path])}")
        inner[path[-1]] = value

    def _value(self, value: Any) -> Any:
        found = expressions.evaluate(value, self._state.variables, self._known)
        text = json.dumps(found)
        if len(text) > expressions.MOST_MEMORY:
            raise Raised(_OUT_OF_MEMORY)
        return json.loads(text)  # values are copied, never shared

    def _do_call(self, name: str, args: Mapping[str, Any]) -> Any:
        if name == "sys.log":
            return None
        url = str(args.get("url", ""))
        if not is_own_host(url):
            raise Raised({"code": 501, "message": f"The emulator calls only its own APIs, not {url}."})
        parts = urlsplit(url)
        query = "&".join(filter(None, [parts.query, urlencode(args.get("query") or {})]))
        path = google_path(parts.netloc, parts.path)
        body = args.get("body")
        answer = self._call(
            "GET" if name == "http.get" else "POST",
            urlunsplit((parts.scheme, parts.netloc, path, query, "")),
            body=b"" if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "User-Agent": "Google-Workflows"},
            timeout=float(args.get("timeout") or _HTTP_SECONDS),
        )
        try:
            content = json.loads(answer.body) if answer.body else None
        except ValueError:
            content = answer.body.decode("utf-8", "replace")
        if not 200 <= answer.status < 300:
            raise Raised(
                {
                    "code": answer.status,
                    "message": f"HTTP server responded with error code {answer.status}",
                    "body": content,
                    "tags": ["HttpError"],
                }
            )
        return {"code": answer.status, "body": content, "headers": {}}
