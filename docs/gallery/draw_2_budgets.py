"""
More budget, sooner sure
========================

The figure shows the posterior probability of a wrong private arm over time, for six budgets. Without a limit it falls
exponentially; with one it falls like exp(−√(εT)·Γ*). At ε = 0 the agent can only follow Thompson Sampling and watch.
The curves are medians of 100 runs, with 95 % intervals that hold for any distribution.
"""

import matplotlib.pyplot as plt

import feint

bandit = feint.Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
runs = {
    f"ε = {name}".replace("inf", "∞"): feint.simulate(bandit, epsilon=float(name), horizon=20_000, replications=100)
    for name in ("0", "0.001", "0.01", "0.1", "1", "inf")
}
axes = feint.plot.error_curves(runs)
axes.set(xlim=(10, 20_000), ylim=(-12, 0))
plt.show()
