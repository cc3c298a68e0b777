"""
Sure or caught
==============

The budget of a step is small, but an observer adds up many steps. Each dot is one seed. It shows when the agent was
sure (posterior error 1 %), and when the observer raised the alarm (α = 5 %). Above the line the agent was caught first.
"""

import matplotlib.pyplot as plt

import feint

bandit = feint.Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
figure, axes = plt.subplots(figsize=(7, 4.6), layout="constrained")
for epsilon, colour in zip((0.03, 0.1, 0.3, 1.0), ("#9ecae1", "#4292c6", "#2171b5", "#08306b"), strict=True):
    # Two simulations, since a run that has stopped is no longer watched.
    sure = feint.simulate(bandit, epsilon=epsilon, horizon=300_000, replications=60, delta=0.01).stopping_time
    caught = feint.simulate(bandit, epsilon=epsilon, horizon=3_000, replications=60, observe=True).detection_time
    axes.loglog(caught, sure, "o", markersize=4, color=colour, label=f"ε = {epsilon:g}")
axes.plot([5, 1e5], [5, 1e5], color="#777777", linestyle=":", label="at the same time")
axes.set(xlabel="pulls until the alarm", ylabel="pulls until the agent is sure", xlim=(5, 3e3), ylim=(5, 3e5))
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()
