"""Replications in lockstep: one step of all of them at a time, so that one call in Python chooses for all.

Only the choice is made in Python (`explorers.together`). Everything else is compiled, from the same parts as in the
eager method, so the trajectories are those of one replication after the other.

Each replication needs its own knowledge, draws and observer. All arrays of one run are therefore laid
out in one row of memory, with one row per replication. Kernels receive the run of row 0 and move to that of row i
(`shifted`): every array that lies in row 0 lies in row i at the same place.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.agent.step import draw_arm, most_pulled, set_policy, update
from feint.explorers.together import Chosen, PlainViews, choose_together
from feint.families.base import fill_log_best
from feint.numerics._jit import kernel, shared, shifted
from feint.references.base import expect
from feint.simulation.engine.record import Run, record, sure_exactly
from feint.simulation.engine.rewards import BLOCK, draw_block, initial_round, reward_pull
from feint.simulation.engine.watch import begin, see

_ALIGNMENT = 64  # bytes


class Rows(NamedTuple):
    """Where the rows of n replications lie in memory, and what `choose_many` sees of them."""

    start: int  # the address of row 0
    end: int  # the address of what follows row 0
    bytes: int  # the size of a row
    first: int  # the replication of row 0 in the records
    running: BoolArray  # (n,) whether it has not stopped yet
    pulls: IntArray  # (n, K)
    boosts: IntArray  # (n, K)
    public_means: FloatArray  # (n, K)
    private_means: FloatArray  # (n, K)
    uniforms: FloatArray  # (n, 3)
    log_best: FloatArray  # (n, K) filled when the explorer asks for it
    pi: FloatArray  # (n, K) likewise


@shared
def _show(run: Run, rows: Rows, i: int, t: int, row: int) -> None:
    """Record a replication after t pulls, where `row` is that of the next checkpoint, and show it to the explorer."""
    known, r = run.known, rows.first + i
    rows.running[i] = not (run.delta > 0.0 and sure_exactly(run))
    record(run, r, t, row, not rows.running[i])
    for a in range(known.pulls.size):
        rows.pulls[i, a] = known.pulls[a]
        rows.boosts[i, a] = known.boosts[a]
        rows.public_means[i, a] = known.public.means[a]
        rows.private_means[i, a] = known.private.means[a]
    at = (t - known.pulls.size) % BLOCK
    if at == 0:
        draw_block(run.rewards, r, t)
    for u in range(3):
        rows.uniforms[i, u] = run.rewards.uniforms[u, at]


@kernel
def _begin_all(run: Run, rows: Rows) -> None:
    """Make the initial round of all replications."""
    for i in range(rows.running.size):
        own = shifted(run, rows.start, rows.end, i * rows.bytes)
        begin(own.watch, rows.first + i)
        initial_round(own.rewards, own.known, rows.first + i)
        _show(own, rows, i, own.known.pulls.size, 0)


@kernel
def _pull_all(run: Run, rows: Rows, chosen: IntArray, t: int, row: int) -> None:
    """Make the (t + 1)-th pull of all replications that have not stopped; `row` is that of the next checkpoint."""
    for i in range(rows.running.size):
        if rows.running[i]:
            own = shifted(run, rows.start, rows.end, i * rows.bytes)
            known, s, boosted = own.known, own.space, chosen[i]
            at = (t - known.pulls.size) % BLOCK
            set_policy(own.problem, known, s, t, boosted)
            pulled = draw_arm(s.policy, boosted, most_pulled(known.pulls), own.rewards.uniforms[3, at])
            known.boosts[boosted] += 1
            see(own.watch, rows.first + i, own.problem, known, s, boosted, pulled, t + 1)
            reward_pull(own.rewards, known, pulled, at)
            update(known, pulled)
            _show(own, rows, i, t + 1, row)


@kernel
def _fill_private(run: Run, rows: Rows) -> None:
    """Fill `rows.log_best`."""
    for i in range(rows.running.size):
        private = shifted(run.known.private, rows.start, rows.end, i * rows.bytes)
        fill_log_best(private.family, private.posterior, private.ws, rows.log_best[i])


@kernel
def _fill_expected(run: Run, rows: Rows, t: int) -> None:
    """Fill `rows.pi` of the replications that have not stopped, after t pulls."""
    for i in range(rows.running.size):
        if rows.running[i]:
            own = shifted(run, rows.start, rows.end, i * rows.bytes)
            expect(own.problem.reference, own.known.public, t, rows.pi[i], own.space.log_pi)


class Lockstep:
    """Some replications that are moved forward together; owned by one thread."""

    def __init__(self) -> None:
        self._run: Any = None
        self._explorer: Any = None
        self._rows: Any = None
        self._memory: Any = None

    def advance(self, run: Run, first: int, last: int, t: int, row: int, t_end: int) -> tuple[int, int]:
        """Move replications first … last − 1 from t pulls to t_end, or until all have stopped; return (t, the row of
        the next checkpoint).
        """
        if t == 0:
            self._explorer = run.problem.explorer.explorer
            self._lay_out(run, first, last)
        own, rows = self._run, self._rows
        own = own._replace(problem=own.problem._replace(budget=run.problem.budget))
        if t == 0:
            _begin_all(own, rows)
            t = own.known.pulls.size
            row = self._row_after(t)
        while t < t_end and rows.running.any():
            seen = rows.pulls, rows.boosts, rows.public_means, rows.private_means
            views = PlainViews(t, *seen, *self._probabilities(own, t))
            chosen = choose_together(self._explorer, views, rows.uniforms)
            _pull_all(own, rows, chosen, t, row)
            t += 1
            row = self._row_after(t)
        return t, row

    def _row_after(self, t: int) -> int:
        """Return the row of the first checkpoint after t."""
        return int(np.searchsorted(self._run.records.checkpoints, t, side="right"))

    def _probabilities(self, own: Run, t: int) -> tuple[Any, Any]:
        """Return functions that compute what an explorer may ask for."""
        rows = self._rows

        def private() -> FloatArray:
            _fill_private(own, rows)
            return np.asarray(np.exp(rows.log_best))

        def expected() -> FloatArray:
            _fill_expected(own, rows, t)
            return np.asarray(rows.pi.copy())

        return private, expected

    def _lay_out(self, run: Run, first: int, last: int) -> None:
        """Copy the arrays of a run that knows nothing into a row of memory for each replication."""
        n, n_arms = last - first, run.known.pulls.size
        run = run._replace(problem=run.problem._replace(explorer=Chosen(), uses_posterior=False, budget=None))
        # What is indexed by replication stays where it is.
        common = {id(array) for array in (*_arrays((run.records, run.best)), *_arrays(run.watch[-2:]))}
        places, size = {}, 0
        for array in _arrays(run):
            root = _root(array)
            if id(array) not in common and id(root) not in places:
                places[id(root)], size = size, size + -(-root.nbytes // _ALIGNMENT) * _ALIGNMENT
        self._memory = memory = np.zeros((n, size), dtype=np.uint8)

        def move(array: Any) -> Any:
            if id(array) in common:
                return array
            root = _root(array)
            offset = places[id(root)] + array.ctypes.data - root.ctypes.data
            moved: Any = np.ndarray(array.shape, array.dtype, memory.data, offset, array.strides)
            moved[...] = array
            return moved

        self._run = _changed(run, move)
        memory[1:] = memory[0]
        pulls, boosts = np.zeros((2, n, n_arms), dtype=np.int64)
        public, private, log_best = np.zeros((3, n, n_arms))
        start, running, uniforms = memory.ctypes.data, np.ones(n, dtype=bool), np.zeros((n, 3))
        seen = pulls, boosts, public, private, uniforms, log_best, np.full((n, n_arms), 1.0 / n_arms)
        self._rows = Rows(start, start + size, size, first, running, *seen)


def _arrays(values: Any) -> Iterator[Any]:
    """Yield the arrays in nested tuples."""
    if isinstance(values, np.ndarray):
        yield values
    elif isinstance(values, tuple):
        for value in values:
            yield from _arrays(value)


def _changed(values: Any, change: Callable[[Any], Any]) -> Any:
    """Return nested tuples with every array changed."""
    if isinstance(values, np.ndarray):
        return change(values)
    if not isinstance(values, tuple):
        return values
    items = [_changed(value, change) for value in values]
    return type(values)(*items) if hasattr(values, "_fields") else tuple(items)


def _root(array: Any) -> Any:
    """Return the array of which this one is a view, or itself; so what shares memory keeps sharing it."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
