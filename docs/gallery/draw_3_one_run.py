"""
One run, step by step
=====================

This is a live agent beside its observer. The upper panel shows which arm the agent pulled. The middle one shows how
likely Thompson Sampling was to pull the best private arm, and how likely the agent made it. (Where the agent boosts the
best public arm until its pull is certain, this is zero and off the scale.) The lower one shows the observer's evidence,
against the agent and against its honest twin.
"""

import matplotlib.pyplot as plt
import numpy as np

import feint

bandit = feint.Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])


def live(epsilon, steps=600):
    """Return the arms, the expected and the actual probability of arm 1, and log₁₀ E."""
    rng = np.random.default_rng(1)
    agent, observer = feint.Agent(4, epsilon=epsilon, seed=5), feint.Observer(4)
    arms, expected, bent, evidence = [], [], [], []
    for _ in range(steps):
        arm = agent.pull()
        public, private = rng.normal([bandit.public[arm], bandit.private[arm]])
        expected.append(agent.reference_probabilities()[1])
        bent.append(agent.probabilities()[1])
        agent.update(arm, public, private)
        evidence.append(observer.update(arm, public))
        arms.append(arm)
    return np.array(arms), np.array(expected), np.array(bent), np.array(evidence) / np.log(10)


arms, expected, bent, evidence = live(0.1)
honest = live(0.0)[3]
figure, (top, middle, bottom) = plt.subplots(3, figsize=(7, 6.4), sharex=True, layout="constrained")
top.scatter(np.arange(1, arms.size + 1), arms, s=4, color="#0072b2")
top.set(yticks=range(4), ylabel="arm", ylim=(3.5, -0.5))
middle.semilogy(bent, ".", color="#d55e00", markersize=2, label="the agent's probability of arm 1")
middle.semilogy(expected, color="#777777", linewidth=1.2, label="what the observer expects")
middle.set(ylim=(1e-3, 8), ylabel="probability")
middle.legend(frameon=False, loc="upper right", ncols=2)
bottom.plot(evidence, color="#d55e00", label="deceptive, ε = 0.1")
bottom.plot(honest, color="#009e73", label="honest twin")
bottom.axhline(np.log10(20), color="#777777", linestyle=":", label="alarm at α = 5 %")
bottom.set(xlabel="pulls", ylabel="evidence, log₁₀ E", xlim=(0, arms.size))
bottom.legend(frameon=False, loc="upper left")
for axes in (top, middle, bottom):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()
