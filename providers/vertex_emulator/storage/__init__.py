"""Cloud Storage, JSON API version 1. Whatever it does not support is refused with 501 by name."""
