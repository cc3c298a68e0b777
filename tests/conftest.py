"""Settings shared by all tests."""

import signal

import hypothesis
import pytest

# Same examples every run, and no deadline: the first call of a kernel compiles it.
hypothesis.settings.register_profile("feint", derandomize=True, deadline=None, max_examples=100)
hypothesis.settings.load_profile("feint")

# A background job inherits that interrupts are ignored, and so would the commands that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def typed_run(monkeypatch):
    """Return what `feint run` would simulate."""
    from typer.testing import CliRunner

    from feint.cli import app

    found = {}

    class Stop(Exception):
        pass

    def run_simulation(scenario, options, progress):
        found.update(scenario.parts(), family=scenario.bandit.families[0], feedback=scenario.bandit.feedback)
        raise Stop

    monkeypatch.setattr("feint.simulation.simulate.run_simulation", run_simulation)

    def typed(*options):
        means = ["--public", "0.6,0.3,0.1,0.2", "--private", "0.2,0.5,0.1,0.3"]
        result = CliRunner().invoke(app, ["run", *means, *options])
        if not isinstance(result.exception, Stop):
            raise result.exception
        return found

    return typed
