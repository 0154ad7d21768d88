"""Read from a hostile registry, as `TrainingImage` does, and print what became of it.

    python -m support.client.registries.registry_reader HOST

Prints a JSON document: the error of each call, and whether a part of a blob was left.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from pulumi_vertex_training.cloud import errors
from pulumi_vertex_training.cloud.container_registry import client as registry
from pulumi_vertex_training.cloud.container_registry.descriptors import Descriptor
from pulumi_vertex_training.cloud.container_registry.image_names import parse
from pulumi_vertex_training.cloud.endpoint import Endpoint


def main(host: str) -> None:
    endpoint = Endpoint(kind="google", project="p", location="nowhere")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "blob")
        blob = Descriptor(digest="sha256:" + "0" * 64, size=1000)

        def named(answer: str) -> Callable[[], object]:
            return lambda: registry.manifest(endpoint, parse(f"{host}/{answer}/image:latest"))

        calls: dict[str, Callable[[], object]] = {
            **{
                answer: named(answer)
                for answer in ("manifest", "token", "redirect", "refusal", "compressed", "unbounded")
            },
            "tags": lambda: registry.tags(endpoint, parse(f"{host}/tags/image")),
            "config": lambda: registry.read_blob(endpoint, parse(f"{host}/config/image"), blob),
            "layer": lambda: registry.download_blob(endpoint, parse(f"{host}/layer/image"), blob, target),
        }
        found = {}
        for answer, call in calls.items():
            try:
                call()
                found[answer] = ""
            except errors.CloudError as error:
                found[answer] = f"{type(error).__name__}: {error}"
        left = target.exists()
    sys.stdout.write(json.dumps({"errors": found, "left": left}))


if __name__ == "__main__":
    main(sys.argv[1])
