"""The page of the JSON: how to read it, an example, and each command with the title of its schema.

The schema is the file `command.schema.json` beside the page. Tests compare it with what the commands print.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pulumi_vertex_training.cli import parser
from scripts.reference.markdown import HEADER, REFERENCE, code, items

PAGE = REFERENCE / "json.md"
SCHEMA = REFERENCE / "command.schema.json"

_TOP = f"""# The JSON of the command

With `--json`, a command prints one JSON document on standard output, and nothing on standard error. Each key
is in the JSON Schema [{SCHEMA.name}]({SCHEMA.name}). To check an output:

```sh
vertex-training status train --json > status.json
jq '{{"$ref": "#/$defs/status", "$defs": ."$defs"}}' {SCHEMA.name} > status.schema.json
check-jsonschema --schemafile status.schema.json status.json
```

Keys of the command are in camel case. Paths in findings are in snake case, also for resources of the
[package](../guides/programs/other-languages.md). Later versions may add keys; a key is renamed or changes its
type only with a note in the changelog.

[Exit codes](commands.md#exit-codes) are the same as without it. With 2, the document has `errors`; after a
mistake in the command it has nothing else.

`ui --json` prints one line, `{{"url": "http://127.0.0.1:PORT/?token=TOKEN"}}`, and then serves the
[dashboard](../guides/running/dashboard.md).

## An example

`vertex-training diff job.yaml new.yaml --json`, where the second file has two more workers:
"""


@functools.cache
def definitions() -> Mapping[str, Mapping[str, Any]]:
    """Return the schema of each command by its name."""
    found: Mapping[str, Mapping[str, Any]] = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]
    return found


def pages() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of the page."""
    yield PAGE, "\n\n".join([HEADER + _TOP.rstrip("\n"), *_parts()]) + "\n"


def _parts() -> Iterator[str]:
    yield code(json.dumps(definitions()["diff"]["examples"][0], indent=2), "json")
    yield "## Commands"
    yield (
        "`$defs` has a definition for each command by its name, such as `emulator status`, and these;\n"
        "several have an example. Durations are in seconds."
    )
    commands = {one.prog.removeprefix("vertex-training ") for one in parser.build().each()}
    shown = [each for each in definitions().items() if each[0] not in commands]
    yield items(PAGE, [(f"`{name}`", "", each.get("title", "")) for name, each in shown]).rstrip("\n")
