"""Put a built site beside its earlier versions, as the version menu of the site reads them.

`python -m scripts.site.versions FOLDER VERSION [--latest]` copies .local/site to FOLDER/VERSION, adds it to
FOLDER/versions.json, and with `--latest` also copies it to FOLDER/latest, which the start page leads to. A
version that is there already is replaced.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from scripts.site.check import SITE

LATEST = "latest"
_VERSION = re.compile(r"[a-z0-9][a-z0-9._-]*")
_START = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Distributed training on Vertex AI</title>
<meta http-equiv="refresh" content="0; url={0}/index.html">
<a href="{0}/index.html">Documentation</a>
</html>
"""


def publish(site: Path, published: Path, version: str, *, latest: bool) -> None:
    """Copy a built site into the folder of all versions. Raises ValueError for a bad name of a version."""
    if not _VERSION.fullmatch(version) or version == LATEST:
        raise ValueError(f"{version}: is not a version. Use a name such as 1.2 or main.")
    published.mkdir(parents=True, exist_ok=True)
    listing = published / "versions.json"
    known = json.loads(listing.read_text(encoding="utf-8")) if listing.exists() else []
    others = [each for each in known if each["version"] != version]
    was_latest = any(each["version"] == version and LATEST in each["aliases"] for each in known)
    is_latest = latest or was_latest or not others
    if is_latest:
        others = [
            {**each, "aliases": [alias for alias in each["aliases"] if alias != LATEST]} for each in others
        ]
    entry = {"version": version, "title": version, "aliases": [LATEST] if is_latest else []}
    entries = sorted([entry, *others], key=lambda each: _order(each["version"]), reverse=True)
    for name in [version, *([LATEST] if is_latest else [])]:
        shutil.rmtree(published / name, ignore_errors=True)
        shutil.copytree(site, published / name)
    listing.write_text(json.dumps(entries, indent=2) + "\n", encoding="utf-8")
    (published / "index.html").write_text(_START.format(LATEST), encoding="utf-8")
    (published / ".nojekyll").touch()  # GitHub Pages then serves the files as they are


def _order(version: str) -> tuple[bool, list[int], str]:
    """Order 0.10 above 0.9, and names such as main above all numbers."""
    numbers = [int(each) for each in re.findall(r"\d+", version)]
    return re.match(r"v?\d", version) is None, numbers, version


def main(arguments: Sequence[str]) -> int:
    """Publish the built site of this clone. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.site.versions", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("version")
    parser.add_argument("--latest", action="store_true")
    options = parser.parse_args(arguments)
    try:
        publish(SITE, options.folder, options.version, latest=options.latest)
    except ValueError as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
