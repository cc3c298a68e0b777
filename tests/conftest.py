"""Settings shared by all tests."""

import hypothesis

# Same examples every run, and no deadline: the first call of a kernel compiles it.
hypothesis.settings.register_profile("feint", derandomize=True, deadline=None, max_examples=100)
hypothesis.settings.load_profile("feint")
