"""The bill of materials of a wheel: what pip installs with it into an empty environment, as CycloneDX.

Each component has its version, its license and the SHA-256 of the file that was installed, but no address of
an index. A bill that CycloneDX's own schema refuses is not written. To write one, run
`python -m scripts.release.sbom REPORT WHEEL` with the Python of .venv.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

ENDING = ".cdx.json"
_VERSION = SchemaVersion.V1_6


def write(report: Path, wheel: Path) -> Path:
    """Write the bill of a wheel beside it, by the file of `pip install --report`. Return its path.

    Raises ValueError if the bill is not valid.
    """
    installed: Sequence[Mapping[str, Any]] = json.loads(report.read_text())["install"]
    components = {canonicalize_name(one["metadata"]["name"]): _component(one) for one in installed}
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    own = canonicalize_name(wheel.name.partition("-")[0])
    bom = Bom(serial_number=uuid5(NAMESPACE_URL, sha256))
    bom.metadata.component = components[own]
    bom.components = [one for name, one in components.items() if name != own]
    for one in installed:
        name = canonicalize_name(one["metadata"]["name"])
        needed = [components[each] for each in _needed(one) if each in components and each != name]
        bom.register_dependency(components[name], needed)
    target = wheel.with_name("-".join(wheel.name.split("-")[:2]) + ENDING)
    text = make_outputter(bom, OutputFormat.JSON, _VERSION).output_as_string(indent=1)
    found = problems(text)
    if found:
        title = f"{target.name} is not a CycloneDX {_VERSION.to_version()} bill:"
        raise ValueError("\n".join([title, *found]))
    target.write_text(text + "\n")
    return target


def problems(text: str) -> list[str]:
    """Return what CycloneDX's schema refuses in a bill, each with its path. No other keys are allowed."""
    errors = JsonStrictValidator(_VERSION).validate_str(text, all_errors=True) or ()
    return [f"{error.data.json_path}: {error.data.message[:300]}" for error in errors]


def _component(installed: Mapping[str, Any]) -> Component:
    metadata = installed["metadata"]
    name, version = str(metadata["name"]), str(metadata["version"])
    archive = installed["download_info"].get("archive_info", {})
    sha256 = archive.get("hashes", {}).get("sha256")
    license_text = metadata.get("license_expression") or metadata.get("license") or ""
    return Component(
        name=name,
        version=version,
        type=ComponentType.LIBRARY,
        bom_ref=f"{canonicalize_name(name)}=={version}",
        purl=PackageURL(type="pypi", name=canonicalize_name(name), version=version),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=sha256)] if sha256 else [],
        # Some packages have the whole text of a license in this field.
        licenses=[DisjunctiveLicense(name=license_text)] if 0 < len(license_text) < 80 else [],
    )


def _needed(installed: Mapping[str, Any]) -> Iterator[NormalizedName]:
    """Yield the names of the packages that the metadata of one require here."""
    extras = ["", *installed.get("requested_extras", ())]
    for text in installed["metadata"].get("requires_dist", ()):
        requirement = Requirement(re.sub(r"\s+", " ", text))
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": each}) for each in extras):
            yield canonicalize_name(requirement.name)


if __name__ == "__main__":
    try:
        sys.stdout.write(str(write(Path(sys.argv[1]), Path(sys.argv[2]))))
    except ValueError as error:
        sys.exit(str(error))
