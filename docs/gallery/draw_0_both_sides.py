"""
Both sides of a deception
=========================

The left panel shows what the agent learns from private rewards that only it sees: the posterior probability of a wrong
arm, over time. The right panel shows what the observer sees of the same runs: the evidence that this is not Thompson
Sampling. The more the agent may bend its probabilities (ε nats per step), the sooner it is sure, and the sooner it is
caught. The curves are medians of 100 runs, and the bands have the middle half of the runs.
"""

import matplotlib.pyplot as plt
import numpy as np

import feint

bandit = feint.Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
for epsilon, colour in {0.0: "#9a9a9a", 0.01: "#9ecae1", 0.1: "#4292c6", 1.0: "#084594"}.items():
    runs = feint.simulate(bandit, epsilon=epsilon, horizon=10_000, replications=100, observe=True)
    label = "ε = 0, honest" if epsilon == 0 else f"ε = {epsilon:g}"
    for axes, values in ((left, runs.log_error), (right, runs.log_e_value)):
        low, middle, high = values.quantile([0.25, 0.5, 0.75], "replication").values / np.log(10)
        axes.fill_between(runs.time, low, high, color=colour, alpha=0.25, linewidth=0)
        axes.plot(runs.time, middle, color=colour, label=label)
left.set(
    xscale="log", xlim=(10, 1e4), ylim=(-6, 0), xlabel="pulls", ylabel="log₁₀ of the error", title="The agent learns"
)
right.axhline(np.log10(20), color="#d55e00", linestyle=":")
right.text(9_000, np.log10(20) - 0.25, "alarm, α = 5 %", color="#d55e00", ha="right", va="top", fontsize=8)
right.set(xscale="log", xlim=(10, 1e4), ylim=(-2, 12), xlabel="pulls", ylabel="log₁₀ E", title="The observer notices")
left.legend(frameon=False, loc="lower left", fontsize=8)
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()
