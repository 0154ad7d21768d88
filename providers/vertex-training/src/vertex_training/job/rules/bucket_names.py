"""The rules of bucket names (Cloud Storage documentation, "About Cloud Storage buckets")."""

from __future__ import annotations

import re

_ALPHABET = re.compile(r"[a-z0-9._-]+")
_ENDS = re.compile(r"[a-z0-9](.*[a-z0-9])?", re.DOTALL)
_ADDRESS = re.compile(r"\d{1,3}(\.\d{1,3}){3}")


def bucket_name_faults(name: str) -> list[str]:
    """Return what is wrong with a bucket's name, a sentence with the rule each."""
    if name == "None":
        return [
            "the bucket has no value: an output that names it is None. If it is from a StackReference, that "
            "stack has no such output; require_output in place of get_output names it"
        ]
    faults = []
    longest = 222 if "." in name else 63
    if not 3 <= len(name) <= longest:
        faults.append(
            f"the bucket name {name[:80]!r} has {len(name)} characters; it must have 3 to {longest}"
        )
    if not _ALPHABET.fullmatch(name):
        lower = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")
        example = f"; for example {lower}" if lower and lower != name else ""
        faults.append(
            f"the bucket name {name[:80]!r} may have only lowercase letters, digits, dashes, underscores "
            f"and dots{example}"
        )
    elif not _ENDS.fullmatch(name):
        faults.append(f"the bucket name {name[:80]!r} must begin and end with a letter or a digit")
    if "." in name:
        parts = name.split(".")
        if "" in parts and _ENDS.fullmatch(name):
            faults.append(f"the bucket name {name[:80]!r} must not have two dots in a row")
        if any(len(part) > 63 for part in parts):
            faults.append(f"the bucket name {name[:80]!r} has more than 63 characters between two dots")
        if _ADDRESS.fullmatch(name):
            faults.append(f"the bucket name {name!r} must not look like an IP address")
    if name.startswith("goog") or "google" in name:
        faults.append(
            f"the bucket name {name[:80]!r} must not begin with goog or contain google; choose another"
        )
    return faults
