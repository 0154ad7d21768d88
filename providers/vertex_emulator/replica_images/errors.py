"""The one error of this package."""

from __future__ import annotations


class ImageError(Exception):
    """An image that cannot be run or unpacked; the message is for the user, without a full stop."""
