"""How much the tests leave to chance: 60 examples, the same in every normal run; with JELLY_LONG=1 10,000 others."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

LONG = bool(os.environ.get("JELLY_LONG"))
SANITIZED = any(name in os.environ.get("LD_PRELOAD", "") for name in ("libasan", "libtsan"))
# Their number is what takes the time of a normal run. The sanitizers make everything slower.
COUNT = (20 if SANITIZED else 100 if LONG else 60) * (100 if LONG else 1)


# One profile for all tests. A slow machine is no failure.
settings.register_profile(
    "jelly",
    max_examples=COUNT,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    **({} if LONG else {"derandomize": True, "database": None}),
)
settings.load_profile("jelly")
if not LONG:
    # Hypothesis also draws the constants of the modules that other tests happen to have imported.
    _NOTHING = type(providers._local_constants)()
    providers._get_local_constants = lambda: _NOTHING


def examples(count: int, *allowed: HealthCheck) -> settings:
    """A decorator: `count` examples where 100 would be as many as the profile has."""
    return settings(
        max_examples=max(count * settings.default.max_examples // 100, 1),
        suppress_health_check=[*settings.default.suppress_health_check, *allowed],
    )


# A decorator for what is quick and matters.
many = examples(150)
