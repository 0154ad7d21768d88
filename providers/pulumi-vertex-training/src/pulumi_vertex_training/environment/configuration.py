"""Read the stack's configuration into a frozen dataclass of the program, and report all wrong values at once.

Where a project's `config` section has types, Pulumi checks them itself, but its message names neither the
value nor a remedy, and it stops at the first wrong key. Without types, or with
PULUMI_OPTION_SKIP_CONFIG_VALIDATION=true, it leaves the checks to the program.
"""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
import types
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import pulumi
from pulumi.runtime import config

from pulumi_vertex_training.program import messages
from vertex_training.findings.words import close, nearest, one_of, shown

T = TypeVar("T")
_RULE = "vertex-training:rule"


@dataclass(frozen=True, kw_only=True)
class _Rule:
    """Rule for the value of a setting, besides its type. `words` describe `pattern`."""

    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    pattern: str = ""
    words: str = ""
    example: str = ""


def setting(
    default: object = dataclasses.MISSING,
    *,
    minimum: int | None = None,
    maximum: int | None = None,
    choices: Collection[str] = (),
    pattern: str = "",
    words: str = "",
    example: str = "",
) -> Any:
    """Declare a setting, as the default of a field of a dataclass for `read_configuration`.

    A setting without a default is required. An empty text is the same as no value.

    :param default: Value if the stack has none.
    :param minimum: Least value of a number.
    :param maximum: Greatest value of a number.
    :param choices: The allowed texts.
    :param pattern: Regular expression that the whole text must match, or each text of a list.
    :param words: What `pattern` means, as in "an e-mail address".
    :param example: Value for the command in the message about a wrong one. Default: the default.
    """
    rule = _Rule(
        minimum=minimum,
        maximum=maximum,
        choices=tuple(choices),
        pattern=pattern,
        words=words,
        example=example,
    )
    return dataclasses.field(default=default, metadata={_RULE: rule})


def read_configuration(settings: type[T]) -> T:
    """Return the stack's configuration of this project as a `settings`, a frozen dataclass.

    Each field is a key in lower camel case, such as `machineType` for `machine_type`. Its type is `str`,
    `int`, `bool`, `tuple[str, ...]`, or `pulumi.Output[str]` for a secret, each also with `| None`.
    Raises `pulumi.RunError` that lists every wrong, missing and unknown key, with a command for each.

    :param settings: The dataclass.
    """
    project = pulumi.get_project()
    given = {
        key.partition(":")[2]: value
        for key, value in config.CONFIG.get().items()
        if key.partition(":")[0] == project
    }
    fields = list(_fields(settings))
    values: dict[str, Any] = {}
    problems = list(_unknown(given, [one.key for one in fields]))
    for one in fields:
        try:
            values[one.name] = one.read(given.get(one.key) or None)
        except _WrongValueError as error:
            problems.append(str(error))
    if problems:
        lines = [f"The configuration of stack {pulumi.get_stack()} is wrong:", *problems]
        raise pulumi.RunError(messages.in_shell(messages.masked("\n".join(lines))))
    return settings(**values)


class _WrongValueError(Exception):
    """A value that a setting cannot have. The message is complete."""


@dataclass(frozen=True, kw_only=True)
class _Field:
    """A setting of a program: its field, key, type without None, rule and default."""

    name: str
    key: str
    hint: Any
    rule: _Rule
    default: Any
    is_optional: bool

    @property
    def is_secret(self) -> bool:
        return get_origin(self.hint) is pulumi.Output

    @property
    def is_list(self) -> bool:
        return get_origin(self.hint) is tuple

    def read(self, text: str | None) -> Any:
        """Return the value of a text, or the default without one. Raises _WrongValueError."""
        if text is None:
            if self.default is not dataclasses.MISSING:
                return self.default
            if self.is_optional:
                return None
            raise _WrongValueError(self._message("is not set"))
        if self.is_secret:
            return self._secret(text)
        if config.is_config_secret(_full(self.key)):
            raise _WrongValueError(self._message("is stored as a secret, which this program does not keep"))
        value = self._value(text)
        if value is None:
            raise _WrongValueError(self._message(f"is {shown(text)}"))
        return value

    def _secret(self, text: str) -> pulumi.Output[str]:
        messages.note(text)
        if not config.is_config_secret(_full(self.key)):
            raise _WrongValueError(
                f"  {_full(self.key)} is stored in plain text; it must be a secret. Store a new one, "
                f"because this one may be in your history: run `{self._command()}`."
            )
        if not self._fits(text):
            raise _WrongValueError(self._message("has a value that does not fit"))
        return pulumi.Output.secret(text)

    def _value(self, text: str) -> Any:
        """Return the value of a text, or None if the setting cannot have it."""
        if self.hint is bool:
            return {"true": True, "false": False}.get(text)
        if self.hint is int:
            number = int(text) if re.fullmatch(r"[+-]?\d{1,18}", text) else None
            return number if number is not None and self._is_in_range(number) else None
        if self.is_list:
            texts = _texts(text)
            return tuple(texts) if texts is not None and all(map(self._fits, texts)) else None
        return text if self._fits(text) else None

    def _is_in_range(self, number: int) -> bool:
        low, high = self.rule.minimum, self.rule.maximum
        return (low is None or number >= low) and (high is None or number <= high)

    def _fits(self, text: str) -> bool:
        if self.rule.choices:
            return text in self.rule.choices
        return not self.rule.pattern or re.fullmatch(self.rule.pattern, text) is not None

    def _message(self, fault: str) -> str:
        return f"  {_full(self.key)} {fault}; it must be {self._must()}. Run `{self._command(fault)}`."

    def _must(self) -> str:
        if self.hint is bool:
            return "true or false"
        if self.hint is int:
            return _number_in_words(self.rule)
        text = one_of(self.rule.choices) or self.rule.words or "a text"
        return f"a list; each item is {text}" if self.is_list else text

    def _command(self, fault: str = "") -> str:
        key, stack = _full(self.key), pulumi.get_stack()
        if self.is_secret:
            return f"pulumi config set --secret {key} --stack {stack}"
        path = f"--path '{key}[0]'" if self.is_list else key
        return f"pulumi config set {path} {shlex.quote(self._example(fault))} --stack {stack}"

    def _example(self, fault: str) -> str:
        """Return a value that fits: the choice that is meant, the example, the default or the minimum."""
        if self.rule.choices:
            meant = close(fault.removeprefix("is ").strip("'\""), self.rule.choices, count=1)
            return (meant or [str(self.default or self.rule.choices[0])])[0]
        if self.rule.example:
            return self.rule.example
        if isinstance(self.default, (bool, int, str)) and self.default != "":
            return str(self.default).lower() if isinstance(self.default, bool) else str(self.default)
        return str(self.rule.minimum or 0) if self.hint is int else "true" if self.hint is bool else "VALUE"


def _fields(settings: type[Any]) -> Iterator[_Field]:
    hints = get_type_hints(settings)
    for each in dataclasses.fields(settings):
        hint, is_optional = _without_none(hints[each.name])
        if hint not in (str, int, bool) and get_origin(hint) not in (tuple, pulumi.Output):
            raise TypeError(f"{settings.__name__}.{each.name} is a {hint}, which no setting can be")
        yield _Field(
            name=each.name,
            key=_camel(each.name),
            hint=hint,
            rule=each.metadata.get(_RULE) or _Rule(),
            default=each.default,
            is_optional=is_optional,
        )


def _without_none(hint: object) -> tuple[Any, bool]:
    if get_origin(hint) not in (Union, types.UnionType):
        return hint, False
    rest = [each for each in get_args(hint) if each is not type(None)]
    return rest[0], len(rest) < len(get_args(hint))


def _unknown(given: Mapping[str, str], known: Collection[str]) -> Iterator[str]:
    for key in sorted(given.keys() - set(known)):
        hint = nearest(key, known, count=1) or f"the settings are {', '.join(sorted(known))}"
        yield (
            f"  {_full(key)} is no setting of this program; {hint.rstrip('?.')}"
            f"{'?' if hint.endswith('?') else '.'} "
            f"Run `pulumi config rm {shlex.quote(_full(key))} --stack {pulumi.get_stack()}`."
        )


def _texts(text: str) -> list[str] | None:
    """Return the items of a list of texts, as Pulumi passes it on, or None for anything else."""
    try:
        items = json.loads(text)
    except ValueError:
        return None
    is_list = isinstance(items, list) and all(isinstance(each, str) for each in items)
    return cast("list[str]", items) if is_list else None


def _number_in_words(rule: _Rule) -> str:
    if rule.minimum is not None and rule.maximum is not None:
        return f"a whole number from {rule.minimum} to {rule.maximum}"
    if rule.minimum is not None:
        return f"a whole number, {rule.minimum} or more"
    return "a whole number" if rule.maximum is None else f"a whole number, {rule.maximum} or less"


def _full(key: str) -> str:
    return f"{pulumi.get_project()}:{key}"


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
