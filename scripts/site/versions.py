"""Put a built site beside its earlier versions, as the version menu of the site reads them.

`python -m scripts.site.versions FOLDER VERSION ADDRESS [--latest]` copies .local/site to FOLDER/VERSION and
adds it to FOLDER/versions.json. With `--latest` it also copies it to FOLDER/latest, which is the start.
An existing version is replaced. FOLDER is served at ADDRESS, such as https://owner.github.io/name.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from scripts.site.check import SITE

LATEST = "latest"
_VERSION = re.compile(r"[a-z0-9][a-z0-9._-]*")
_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_START = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Distributed training on Vertex AI</title>
<meta http-equiv="refresh" content="0; url={0}/index.html">
<a href="{0}/index.html">Documentation</a>
</html>
"""


def publish(site: Path, published: Path, version: str, *, address: str, latest: bool) -> None:
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
        (published / name / "sitemap.xml").write_text(_sitemap(site, f"{address}/{name}"), encoding="utf-8")
    listing.write_text(json.dumps(entries, indent=2) + "\n", encoding="utf-8")
    (published / "index.html").write_text(_START.format(LATEST), encoding="utf-8")
    (published / ".nojekyll").touch()  # GitHub Pages then serves the files as they are


def _sitemap(site: Path, address: str) -> str:
    """Return the addresses of all pages, by which the version menu finds the same page in another version."""
    pages = sorted(str(page.relative_to(site)) for page in site.rglob("*.html") if page.name != "404.html")
    addresses = ["" if page == "index.html" else quote(page) for page in pages]
    rows = "".join(f"<url><loc>{address}/{each}</loc></url>\n" for each in addresses)
    return f'{_XML}<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{rows}</urlset>\n'


def _order(version: str) -> tuple[bool, list[int], str]:
    """Order 0.10 above 0.9, and names such as main above all numbers."""
    numbers = [int(each) for each in re.findall(r"\d+", version)]
    return re.match(r"v?\d", version) is None, numbers, version


def main(arguments: Sequence[str]) -> int:
    """Publish the built site of this clone. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.site.versions", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("version")
    parser.add_argument("address")
    parser.add_argument("--latest", action="store_true")
    options = parser.parse_args(arguments)
    try:
        publish(SITE, options.folder, options.version, address=options.address, latest=options.latest)
    except ValueError as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
