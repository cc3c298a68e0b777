"""Whatever may take long shows its progress in a terminal and in a notebook, unasked, but never in a pipe."""

import contextlib
import importlib
import io
import sys
import threading
import types

import numpy as np
import pytest

import feint
from cases import HANGS
from feint.numerics import _threads
from feint.support import progress
from feint.sweep import store_writer

PAIR = feint.Bandit([0.6, 0.3], [0.2, 0.5])
SEEN = threading.Event()  # set as soon as something is shown


class Enough(Exception):
    """Raised when progress has been seen, which ends the work."""


class Terminal(io.StringIO):
    """A standard error that is a terminal."""

    def isatty(self):
        return True

    def write(self, text):
        if "━" in text:
            SEEN.set()
        return super().write(text)


class Handle:
    """The object that `display` of a notebook returns."""

    def __init__(self):
        self.texts = []

    def update(self, data, raw):
        assert raw
        self.texts.append(data["text/plain"])
        if self.texts[-1]:
            SEEN.set()


def wait():
    """Work until progress has been seen."""
    assert SEEN.wait(HANGS)


class Waits:
    """A part (explorer, reference or policy) that works until progress has been seen."""

    def choose(self, view, uniforms):
        wait()
        return 0

    def log_probabilities(self, view):
        wait()
        return np.log([0.5, 0.5])

    def probabilities(self):
        return [0.5, 0.5]

    def pull(self):
        wait()
        return 0

    def update(self, arm, reward):
        pass


def stop_there(*arguments, **options):
    wait()
    raise Enough


def waiting_sweep():
    return feint.Sweep({"pair": PAIR}, [Waits()], epsilons=[0.1], horizon=4, replications=1)


LOG = {"arms": [0, 1, 0, 1], "rewards": [0.0, 1.0, 0.0, 1.0]}
VERBS = {
    "simulating": lambda folder: feint.simulate(PAIR, Waits(), epsilon=0.1, horizon=4, replications=1),
    "measuring": lambda folder: waiting_sweep().run(folder / "out.zarr"),
    "auditing": lambda folder: feint.audit(**LOG, n_arms=2, reference=Waits()),
    "checking": lambda folder: feint.check_policy(Waits(), PAIR, steps=3),
    "computing": lambda folder: _threads.run_slices(lambda start, stop: wait(), 1000, smallest=1),
    "planning a time": lambda folder: feint.plan(PAIR, 0.1, 0.1),
    "planning epsilon": lambda folder: feint.plan_epsilon(PAIR, 100, 0.1),
    "planning a total": lambda folder: feint.plan_total(PAIR, 100, 0.1),
    "planning unseen": lambda folder: feint.plan_unseen(PAIR, 0.5, 0.05, 1000),
}


@pytest.fixture(autouse=True)
def _work(monkeypatch):
    SEEN.clear()
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FEINT_THREADS", "2")
    for module, name in (("plan", "checked_budget"), ("inverse", "stopping_paths"), ("unseen", "draw_paths")):
        monkeypatch.setattr(importlib.import_module(f"feint.planning.{module}"), name, stop_there)


@pytest.fixture
def notebook(monkeypatch):
    handle = Handle()
    shell = types.SimpleNamespace(kernel=None)
    display = types.SimpleNamespace(display=lambda data, raw, display_id: handle)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell, display=display))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return handle


def use(name, folder):
    with contextlib.suppress(Enough):
        VERBS[name](folder)
    return name.split()[0]


@pytest.mark.parametrize("name", VERBS)
def test_in_a_terminal(name, tmp_path, capsys):
    with contextlib.redirect_stderr(Terminal()) as terminal:
        what = use(name, tmp_path)
    assert what in terminal.getvalue()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", VERBS)
def test_in_a_notebook(name, tmp_path, notebook, capsys):
    what = use(name, tmp_path)
    assert any(what in text for text in notebook.texts)
    assert notebook.texts[-1] == ""
    assert what not in "".join(capsys.readouterr())


@pytest.mark.parametrize("name", VERBS)
def test_never_into_a_pipe(name, tmp_path, capsys):
    SEEN.set()
    assert use(name, tmp_path) not in "".join(capsys.readouterr())


@pytest.mark.parametrize("asked", [True, False, None])
def test_who_is_asked_shows_it_at_once_or_never(asked, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", HANGS)
    if not asked:
        SEEN.set()
    with contextlib.redirect_stderr(Terminal()) as terminal:
        feint.simulate(PAIR, Waits(), epsilon=0.1, horizon=4, replications=1, progress=asked)
    assert ("steps/s" in terminal.getvalue()) == bool(asked)


def test_asked_for_it_still_stays_out_of_a_pipe(capsys):
    SEEN.set()
    feint.simulate(PAIR, Waits(), epsilon=0.1, horizon=4, replications=1, progress=True)
    assert "simulating" not in "".join(capsys.readouterr())


def test_verifying_a_store_shows_it(tmp_path, monkeypatch):
    monkeypatch.setattr(store_writer, "_LONG", 0)
    SEEN.set()
    waiting_sweep().run(tmp_path / "out.zarr", progress=False)
    store = store_writer.StoreWriter(tmp_path / "out.zarr", waiting_sweep())
    SEEN.clear()
    monkeypatch.setattr(type(store.layout.marker), "mark", lambda *given: wait() or (0, 0))
    with contextlib.redirect_stderr(Terminal()) as terminal:
        store._drop_other_checksums(None)
    assert "verifying" in terminal.getvalue()


def test_what_runs_inside_shows_nothing_itself():
    with contextlib.redirect_stderr(Terminal()) as terminal, progress.progress_bars(at_once=True) as start:
        tick = start("outside", 10)
        wait()
        with progress.progress_bars(at_once=True) as inner:
            inner("inside", 10)(5)
        tick(10)
    assert "outside" in terminal.getvalue()
    assert "inside" not in terminal.getvalue()


def test_a_bar_says_how_far_it_is_and_how_long_it_will_take(notebook):
    with progress.progress_bars("rows") as start:
        tick = start("reading", 200)
        tick(50)
        wait()
    line = next(text for text in notebook.texts if "25%" in text)
    assert "rows/s" in line
    assert " left" in line
