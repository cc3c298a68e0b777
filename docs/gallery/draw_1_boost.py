"""
How far a small probability can be raised
=========================================

Within ε nats of divergence the probability p of an event can be raised to q*(p). The smaller p is, the larger is the
factor: at ε = 0.1 one in a million becomes one in 84. So a deceiver can pull an arm that an honest agent hardly pulls.
"""

import matplotlib.pyplot as plt
import numpy as np

import feint

p = np.logspace(-9, 0, 400)
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for epsilon, shade in zip((0.001, 0.01, 0.1, 1.0), (0.35, 0.5, 0.7, 0.95), strict=True):
    axes.loglog(p, feint.boost_probability(p, epsilon), color=plt.cm.Blues(shade), label=f"ε = {epsilon:g}")
axes.loglog(p, p, color="#777777", linestyle=":", label="no boost")
axes.set(
    xlabel="probability that the observer expects", ylabel="probability after the boost", xlim=(1e-9, 1), ylim=(1e-9, 2)
)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
plt.show()
