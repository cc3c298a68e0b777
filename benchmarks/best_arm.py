"""Compare `best_arm_probabilities` with the paper's Gauss–Hermite rule and with Monte Carlo counting."""

import math
import time
from collections.abc import Callable

import numpy as np
from scipy.special import ndtr

from feint.numerics import best_arm_probabilities, gauss_hermite_probabilities
from feint.registry.instance_files import PAPER

PUBLIC = np.array(PAPER.public)
PULLS = np.array([10_000, 60, 25, 40])  # the paper's instance at about t = 10⁴
EXACT_ARM_3 = 0.00135642  # 40-digit integration, six digits


def posteriors(rows: int, n_arms: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Return posteriors as a run meets them: the paper's instance (repeated for more arms) at varied moments."""
    rng = np.random.default_rng(0)
    pulls = np.resize(PULLS, n_arms) * np.exp(0.3 * rng.normal(size=(rows, n_arms)))
    means = np.resize(PUBLIC, n_arms) + rng.normal(size=(rows, n_arms)) / np.sqrt(pulls)
    return means, 1.0 / np.sqrt(pulls)


def python_loop(means: np.ndarray, sds: np.ndarray) -> np.ndarray:
    """Evaluate the 32-node rule one state at a time, vectorised over its nodes only."""
    nodes, weights = np.polynomial.hermite.hermgauss(32)
    out = np.empty(means.shape)
    for row, (mean, sd) in enumerate(zip(means, sds, strict=True)):
        for a in range(len(mean)):
            x = mean[a] + sd[a] * math.sqrt(2.0) * nodes
            product = weights.copy()
            for j in range(len(mean)):
                if j != a:
                    product *= ndtr((x - mean[j]) / sd[j])
            out[row, a] = product.sum() / math.sqrt(math.pi)
    return out


def monte_carlo(means: np.ndarray, sds: np.ndarray) -> np.ndarray:
    """Count which arm is largest in 100,000 draws."""
    rng = np.random.default_rng(0)
    out = np.empty(means.shape)
    for row, (mean, sd) in enumerate(zip(means, sds, strict=True)):
        winners = (mean + sd * rng.standard_normal((100_000, len(mean)))).argmax(1)
        out[row] = np.bincount(winners, minlength=len(mean)) / 100_000
    return out


def chunked(function: Callable[..., np.ndarray], rows: int) -> Callable[..., np.ndarray]:
    """Return `function` applied to pieces of `rows` rows: NumPy is quickest on pieces that stay in the cache."""

    def run(means: np.ndarray, sds: np.ndarray) -> np.ndarray:
        pieces = range(0, len(means), rows)
        return np.concatenate([function(means[i : i + rows], sds[i : i + rows]) for i in pieces])

    return run


def seconds(function: Callable[..., object], *arguments: object) -> float:
    """Return the seconds of the quickest of five calls."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - start)
    return min(times)


def speed() -> str:
    """Return the table of time per evaluation at K = 4, with median and largest relative errors."""
    means, sds = posteriors(100_000)
    exact = best_arm_probabilities(means, sds)
    methods = {
        "feint, all cores": (best_arm_probabilities, 100_000),
        "Gauss–Hermite 32, batched NumPy": (chunked(gauss_hermite_probabilities, 2_000), 20_000),
        "Gauss–Hermite 32, Python loop": (python_loop, 200),
        "Gauss–Hermite 200, batched NumPy": (
            chunked(lambda m, s: gauss_hermite_probabilities(m, s, nodes=200), 500),
            4_000,
        ),
        "Monte Carlo, 100,000 draws": (monte_carlo, 20),
    }
    lines = ["## Best-arm probabilities, K = 4 (the paper's instance near t = 10⁴)\n"]
    lines += [
        "| method | µs per evaluation | times feint | median error | largest error |",
        "| --- | --- | --- | --- | --- |",
    ]
    base = 0.0
    for name, (function, rows) in methods.items():
        each = seconds(function, means[:rows], sds[:rows]) / rows
        base = base or each
        error = np.abs(function(means[:rows], sds[:rows]) / exact[:rows] - 1)
        shown = (
            ["below 1e-12", "below 1e-12"]
            if name.startswith("feint")
            else [f"{np.median(error):.2g}", f"{error.max():.2g}"]
        )
        lines.append(f"| {name} | {1e6 * each:.2f} | {each / base:.1f} | {shown[0]} | {shown[1]} |")
    ours = best_arm_probabilities(PUBLIC, 1 / np.sqrt(PULLS))[2]
    lines.append(
        "\nErrors are relative, arm by arm, against feint's own values, which tests/numerics/test_best_arm.py compares "
        f"with 40-digit integration; arm 3 at N = (10⁴, 60, 25, 40) is {ours:.6g}, by integration {EXACT_ARM_3}.\n"
    )
    return "\n".join(lines)


def scaling() -> str:
    """Return the table of time per evaluation against K."""
    lines = [
        "## Cost against the number of arms\n",
        "| K | µs, bandit-like | µs per arm | µs, equal sds | µs per arm |",
    ]
    lines.append("| --- | --- | --- | --- | --- |")
    rng = np.random.default_rng(1)
    for n_arms in (2, 4, 10, 30, 100, 300, 1000):
        rows = max(8, 40_000 // n_arms)
        cells = []
        equal = rng.normal(0, 0.5, (rows, n_arms)), np.ones((rows, n_arms))
        for means, sds in (posteriors(rows, n_arms), equal):
            each = 1e6 * seconds(best_arm_probabilities, means, sds) / rows
            cells += [f"{each:.2f}", f"{each / n_arms:.2f}"]
        lines.append(f"| {n_arms} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
