"""Makes the helpers of this folder importable; one profile of hypothesis for all."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The sanitizers make everything slower; fewer examples keep that run short.
settings.register_profile("sanitized", settings.get_profile("default"), max_examples=20)
settings.load_profile("sanitized" if "libasan" in os.environ.get("LD_PRELOAD", "") else "default")
