"""The decorator that makes a Pulumi input type of typed arguments."""

from __future__ import annotations

from collections.abc import Collection
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, TypeVar

import pulumi

from pulumi_vertex_training.program.arguments.references import image_uri
from vertex_training.findings.words import all_of, nearest

T = TypeVar("T")

IMAGES = ("image_uri", "executor_image_uri")
"""Arguments that take an image resource or its name."""

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object) -> Any:
        """Do nothing at runtime: the real decorator is for type checkers."""
        return lambda decorated: decorated


@dataclass_transform(kw_only_default=True)
def arguments_class(cls: type[T]) -> type[T]:
    """Make a Pulumi input type with a keyword-only constructor from the class's annotations."""
    defaults = {name: cls.__dict__.get(name, Parameter.empty) for name in cls.__annotations__}
    for name, default in defaults.items():
        if default is not Parameter.empty:
            delattr(cls, name)
    signature = Signature(
        [
            Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=cls.__annotations__[name])
            for name, default in defaults.items()
        ]
    )

    def construct(self: T, *args: object, **given: object) -> None:
        if args:
            first = next(iter(defaults))
            raise pulumi.RunError(f"{cls.__name__}: give arguments by name, such as {first}=...")
        try:
            bound = signature.bind(**given)
        except TypeError as error:
            unknown = [name for name in given if name not in defaults]
            hint = "; ".join(_hint(name, defaults) for name in unknown) or str(error)
            raise pulumi.RunError(f"{cls.__name__}: {hint}") from None
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            pulumi.set(self, name, image_uri(value) if name in IMAGES else value)

    cls.__init__ = construct  # type: ignore[assignment]
    cls.__signature__ = signature  # type: ignore[attr-defined]
    return pulumi.input_type(cls)


def _hint(name: str, known: Collection[str]) -> str:
    """Return a hint about a misspelt argument."""
    others = nearest(name, known) or f"the arguments are {all_of(list(known))}"
    return f"{name!r} is not an argument; {others}"
