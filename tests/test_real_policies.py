"""Policies of river, mabwiser and Vowpal Wabbit, by the adapters of the guide, in an environment of their own."""

import json
import subprocess
from pathlib import Path

import pytest

from own_environment import make_environment

ROOT = Path(__file__).parent.parent
POLICIES = ROOT / "docs" / "policies"
CHECKS = {
    "river_exp3.py:RiverExp3": ([], False),
    "mabwiser_thompson.py:Thompson": ([], False),
    "mabwiser_thompson.py:Softmax": ([], True),
    "vowpal_wabbit.py:VowpalWabbit": (["--contexts", "vowpal_wabbit.py:people"], False),
}


@pytest.mark.slow
def test_they_draw_what_they_say(tmp_path):
    """There are two policies of mabwiser, of which the second is known to draw something else."""
    programs, environment = make_environment(tmp_path, "river", "mabwiser==2.7.4", "vowpalwabbit")
    for policy, (options, rejected) in CHECKS.items():
        run = [programs / "feint", "check", policy, "--public", "0.7,0.5,0.3", "--family", "bernoulli", "--json"]
        done = subprocess.run([*run, *options], cwd=POLICIES, env=environment, capture_output=True, text=True)
        assert done.returncode == int(rejected), (policy, done.stdout, done.stderr)
        found = json.loads(done.stdout)
        assert found["rejected"] == rejected
        assert found["steps"] == 20_000 or rejected
