"""
When the observer notices
=========================

The figure shows the share of runs in which the observer's test (α = 5 %) has raised the alarm by each time. The honest
agent (ε = 0) is accused in at most 5 % of runs, however long it is watched. There are 100 runs, and each 95 % band
holds for a whole curve at once.
"""

import matplotlib.pyplot as plt

import feint

bandit = feint.Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
runs = {
    f"ε = {epsilon:g}": feint.simulate(bandit, epsilon=epsilon, horizon=3_000, replications=100, observe=True)
    for epsilon in (0.0, 0.03, 0.1, 0.3, 1.0)
}
axes = feint.plot.detection_curves(runs)
axes.axhline(0.05, color="#777777", linestyle=":")
plt.show()
