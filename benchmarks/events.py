"""Compare the event method with the lazy one: single trajectories on one core, by CPU time in one run."""

import time

from benchmarks.engine import PAPER
from feint.simulation.simulate import simulate

_EPSILON = 0.1


def cpu_seconds(horizon: int, method: str, replications: int = 1) -> float:
    """Return the CPU seconds per trajectory."""
    start = time.process_time()
    for r in range(replications):
        one = range(r, r + 1)
        simulate(PAPER, epsilon=_EPSILON, horizon=horizon, replications=one, checkpoints=[horizon], method=method)
    return (time.process_time() - start) / replications


def horizons() -> str:
    """Return the table of CPU seconds per trajectory, with ratios and growth."""
    for method in ("lazy", "event"):
        cpu_seconds(1_000, method)  # compile
    lines = [
        "## Long horizons: the paper's instance, ε = 0.1, one trajectory on one core",
        "",
        "| horizon | lazy, s | event, s | ratio |",
        "| --- | --- | --- | --- |",
    ]
    events = {}
    for exponent, replications, with_lazy in ((6, 20, 20), (8, 4, 2), (9, 2, 1), (10, 1, 0), (12, 1, 0)):
        horizon = 10**exponent
        events[exponent] = cpu_seconds(horizon, "event", replications)
        lazy = cpu_seconds(horizon, "lazy", with_lazy) if with_lazy else None
        shown = f"{lazy:.3g} | {events[exponent]:.3g} | {lazy / events[exponent]:.2g}×" if lazy else ""
        lines.append(f"| 10^{exponent} | {shown or f'| {events[exponent]:.3g} |'} |")
        print(lines[-1], flush=True)
    lines += ["", f"From 10⁸ to 10¹⁰ steps the time grows {events[10] / events[8]:.1f} times (√100 is 10).", ""]
    return "\n".join(lines)
