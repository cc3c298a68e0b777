"""
An audit
========

The agent of this log says that it splits 80 to 20, but after row 1,000 it pulls the second arm a little more often. The
evidence against the claim first sinks, and then crosses the line. The arms show where the claim is wrong.
"""

import matplotlib.pyplot as plt
import numpy as np

import feint

rng = np.random.default_rng(3)
claimed = np.tile([0.8, 0.2], (3_000, 1))
arms = np.concatenate([rng.random(1_000) < 0.2, rng.random(2_000) < 0.28]).astype(int)
report = feint.audit(arms, probabilities=claimed)
print(report.verdict)

figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.2), width_ratios=[3, 2], layout="constrained")
left.plot(report.history_rows, report.history_log_e_values / np.log(10), color="#d55e00")
left.axhline(-np.log10(report.alpha), color="#777777", linestyle=":")
left.set(xlabel="row", ylabel="evidence, log₁₀ E")
for arm in report.arms:
    right.errorbar(
        arm.excess, arm.arm, xerr=[[arm.excess - arm.low], [arm.high - arm.excess]], fmt="o", color="#0072b2", capsize=3
    )
right.axvline(0, color="#777777", linestyle=":")
right.set(yticks=[0, 1], yticklabels=["arm 0", "arm 1"], ylim=(-0.6, 1.6), xlabel="observed − expected pulls")
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()
