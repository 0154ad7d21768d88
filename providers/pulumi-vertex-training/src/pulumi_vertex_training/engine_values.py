"""The texts by which Pulumi's engine marks special values, in its requests, states and JSON."""

from __future__ import annotations

ENGINES_UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""The text for a value that is not known yet (pulumi.runtime.rpc.UNKNOWN)."""

SIGNATURE = "4dabf18193072939515e22adb298388d"
"""The key of an object that represents a special value."""

SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105  a mark, and no secret
"""The value of that key in a secret."""

OUTPUT = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
"""The value of that key in an output, which may be unknown, a secret, or depend on resources."""
