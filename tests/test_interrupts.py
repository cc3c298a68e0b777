"""Ctrl-C ends the command with 130, at whatever moment of a cold start it comes."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import psutil
import pytest

from cases import HANGS
from feint.support import interrupts

INSTANCE = ["--public", "0.6,0.3,0,0.2", "--private", "0.2,0.5,0.1,0", "--epsilon", "0.1"]
# What stands before the command has watched interrupts is Python's own, which ends with the signal itself.
COMMAND = [sys.executable, "-c", "from feint.__main__ import main; print(flush=True); main()", "plan", *INSTANCE]


def start(cache):
    """Start a command that has to compile all of its kernels; return when it is about to begin."""
    shutil.rmtree(cache, ignore_errors=True)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    process = subprocess.Popen(COMMAND, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "\n"
    return process


def cpu_seconds(process):
    """Return the CPU seconds of the process, which can be read until somebody waits for it."""
    times = psutil.Process(process.pid).cpu_times()
    return times.user + times.system


@pytest.mark.slow
def test_an_interrupt_ends_a_cold_start_at_any_of_twenty_moments(tmp_path):
    """Moments are shares of the CPU time of a whole run, so that they do not depend on what else the machine does."""
    whole = start(tmp_path / "cache")
    begun, used = cpu_seconds(whole), 0.0
    while psutil.Process(whole.pid).status() != psutil.STATUS_ZOMBIE:
        used = cpu_seconds(whole) - begun
        time.sleep(0.01)
    whole.communicate()
    assert whole.returncode == 0
    for moment in range(20):
        process = start(tmp_path / "cache")
        begun = cpu_seconds(process)
        while cpu_seconds(process) - begun < used * (moment + 0.5) / 21:
            assert process.poll() is None, f"it ended before the interrupt at moment {moment}"
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=HANGS)
        assert (process.returncode, out) == (130, ""), f"moment {moment}: {err}"
        assert "Traceback" not in err
        assert "Exception ignored" not in err


def test_an_interrupt_that_was_ignored_is_raised_again():
    """A callback from C ignores an interrupt; Python then calls the hook."""
    before = signal.getsignal(signal.SIGINT), sys.unraisablehook
    told = []
    sys.unraisablehook = told.append
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        interrupts.watch()
        other = SimpleNamespace(exc_type=ValueError)
        sys.unraisablehook(other)
        assert told == [other]
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - it comes while waiting
            sys.unraisablehook(SimpleNamespace(exc_type=KeyboardInterrupt))
            threading.Event().wait(HANGS)
        assert told == [other]
        assert interrupts.arrived()
    finally:
        signal.signal(signal.SIGINT, before[0])
        sys.unraisablehook = before[1]
        interrupts._seen = False


def test_nobody_elses_handler_is_replaced():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    hook = sys.unraisablehook
    try:
        interrupts.watch()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert sys.unraisablehook is hook
    finally:
        signal.signal(signal.SIGINT, before)
