from __future__ import annotations

import support.properties  # noqa: F401  loads the profile
