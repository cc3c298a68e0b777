"""
More budget, sooner sure
========================

The posterior probability of a wrong private arm, over time, for six budgets. Without a limit it falls exponentially;
with one it falls like exp(−√(εT)·Γ*), and at ε = 0 the agent can only watch Thompson Sampling. Means of 100 runs.
"""

import math

import matplotlib.pyplot as plt

import feint

bandit = feint.Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
budgets = {0.0: "0", 0.001: "0.001", 0.01: "0.01", 0.1: "0.1", 1.0: "1", math.inf: "∞"}
for i, (epsilon, name) in enumerate(budgets.items()):
    runs = feint.simulate(bandit, epsilon=epsilon, horizon=20_000, replications=100)
    error = runs.log_error.mean("replication") / math.log(10)
    axes.plot(runs.time, error, color=plt.cm.viridis(0.9 - 0.18 * i), label=f"ε = {name}")
axes.set(xscale="log", xlim=(10, 20_000), ylim=(-12, 0), xlabel="pulls", ylabel="mean of log₁₀ of the error")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, loc="lower left")
plt.show()
