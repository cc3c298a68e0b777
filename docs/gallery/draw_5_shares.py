"""
What each arm costs
===================

The figure shows the best shares of boosts while the public mean of one arm moves. The worse an arm looks in public, the
more every pull of it costs, and the more of the budget goes to it. The exponent Γ* falls at the same time.
"""

import matplotlib.pyplot as plt
import numpy as np

import feint

means = np.linspace(-0.4, 0.55, 96)
answers = [feint.optimal_boosting(feint.Bandit([0.6, 0.3, mean, 0.2], [0.2, 0.5, 0.1, 0.0])) for mean in means]
shares = np.array([answer.weights for answer in answers])
figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.3), layout="constrained")
for arm, colour in zip((1, 2, 3), ("#0072b2", "#d55e00", "#009e73"), strict=True):
    left.plot(means, shares[:, arm], color=colour, label=f"arm {arm}")
left.set(xlabel="public mean of arm 2", ylabel="share of boosts", ylim=(0, 1))
left.legend(frameon=False)
right.plot(means, [answer.gamma for answer in answers], color="#000000")
right.set(xlabel="public mean of arm 2", ylabel="exponent Γ*", ylim=(0, None))
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()
