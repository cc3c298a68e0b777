from feint.style import *  # noqa: F403
