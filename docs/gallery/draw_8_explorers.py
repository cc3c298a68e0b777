"""
Two explorers on the same seeds
===============================

Algorithm 1 is compared with boosting all arms in turn. The left panel shows their differences run by run. Both face the
same noise, so it shows a difference that the two curves alone would hide. Below 0, Algorithm 1 is surer. The right
panel shows why: it gives its boosts to the arms that need them, close to w*.
"""

import matplotlib.pyplot as plt

import feint

bandit = feint.Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
settings = {"epsilon": 0.1, "horizon": 20_000, "replications": 100}
ours = feint.simulate(bandit, feint.TopTwo(), **settings)
in_turn = feint.simulate(bandit, feint.RoundRobin([0, 1, 2, 3]), **settings)
figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
feint.plot.compare(ours, in_turn, labels=("Algorithm 1", "in turn"), ax=left)
feint.plot.allocation({"Algorithm 1": ours, "in turn": in_turn}, ax=right)
plt.show()
