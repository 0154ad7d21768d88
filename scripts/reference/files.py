"""All generated files: those of `scripts.arguments`, the schema of the package, and the pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from scripts.arguments import api_tables, classes, package_schema
from scripts.arguments import resources as signatures
from scripts.reference.pages import (
    commands,
    configuration,
    functions,
    gallery,
    index,
    json_page,
    parity,
    policies,
    resources,
    rules,
    variables,
)


def pages() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of each page of the reference."""
    for module in (
        *(index, resources, functions, configuration, commands, json_page),
        *(rules, policies, variables, parity, gallery),
    ):
        yield from module.pages()


def outdated() -> Mapping[Path, str]:
    """Return the files that differ from what the code says, with the text that they should have."""
    code = [*api_tables.modules(), *signatures.modules(), *classes.modules(), *package_schema.modules()]
    generated = dict([*code, *pages()])
    return {path: text for path, text in generated.items() if not path.exists() or path.read_text() != text}
