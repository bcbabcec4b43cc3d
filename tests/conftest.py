"""What every test run shares: Hypothesis profiles. `default` keeps `make test` short and the same
each time, `verify` is the long sweep, which draws anew."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# No deadline: a loaded two-core machine stretches single examples, and a slow one is no fault of the code.
settings.register_profile(
    "default", deadline=None, max_examples=100, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("verify", settings.get_profile("default"), max_examples=2000, derandomize=False)
settings.load_profile("default")
