"""Real processes are killed: whatever dies, the store ends as an undisturbed local run leaves it, bit for bit."""

import os
import signal
import subprocess
import sys

import psutil
import pytest

import feint
from cases import HANGS
from feint.sweep.study_file import load_study
from sweep_cases import LONG, PAPER, cluster, contents, first_record, missing_blocks, start, wait_until


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Return a study as (its file, the sweep, the files of an undisturbed run)."""
    folder = tmp_path_factory.mktemp("undisturbed")
    path = folder / "study.toml"
    path.write_text(LONG)
    sweep = load_study(path)
    sweep.run(folder / "out.zarr")
    return path, sweep, contents(folder / "out.zarr")


def command(path, out, *options):
    return ["-m", "feint", "sweep", path, "--out", out, *options]


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_an_interrupted_client_goes_on(number, study, tmp_path):
    path, sweep, undisturbed = study
    out = tmp_path / "out.zarr"
    client = start(*command(path, out))
    wait_until(lambda: first_record(out), client)
    client.send_signal(number)
    _, said = client.communicate(timeout=HANGS)
    if number == signal.SIGINT:
        assert client.returncode == 130
        assert said.splitlines()[-1] == "feint: interrupted; what is recorded stays, and the same command continues."
    else:
        assert client.returncode == -signal.SIGKILL
    assert 0 < missing_blocks(sweep, out) < 12
    sweep.run(out)
    assert contents(out) == undisturbed


def test_a_worker_that_is_killed_in_mid_task(study, tmp_path):
    """The other worker does its work too."""
    path, _, undisturbed = study
    out = tmp_path / "out.zarr"
    with cluster(tmp_path) as found:
        client = start(*command(path, out, "--scheduler", found.address))
        wait_until(lambda: first_record(out), client)
        found.workers[0].send_signal(signal.SIGKILL)
        said, errors = client.communicate(timeout=HANGS)
        assert client.returncode == 0, errors
        assert "36 replications are in" in said
    assert contents(out) == undisturbed


@pytest.mark.slow
def test_a_scheduler_that_disappears(study, tmp_path):
    """The client says so in one line, and keeps what is recorded."""
    path, sweep, undisturbed = study
    out = tmp_path / "out.zarr"
    with cluster(tmp_path) as found:
        client = start(*command(path, out, "--scheduler", found.address))
        wait_until(lambda: first_record(out), client)
        found.scheduler.send_signal(signal.SIGKILL)
        _, errors = client.communicate(timeout=HANGS)
        assert client.returncode == 2
        assert errors.splitlines()[-1] == (
            "feint: The Dask scheduler is gone; start one and run the sweep again: what is recorded stays."
        )
    assert 0 < missing_blocks(sweep, out) < 12
    sweep.run(out)
    assert contents(out) == undisturbed


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_client_of_a_cluster_goes_on_there(number, study, tmp_path):
    path, sweep, undisturbed = study
    out = tmp_path / "out.zarr"
    with cluster(tmp_path) as found:
        client = start(*command(path, out, "--scheduler", found.address))
        wait_until(lambda: first_record(out), client)
        client.send_signal(number)
        client.communicate(timeout=HANGS)
        assert client.returncode == (130 if number == signal.SIGINT else -number)
        assert missing_blocks(sweep, out) > 0
        again = start(*command(path, out, "--scheduler", found.address))
        _, errors = again.communicate(timeout=HANGS)
        assert again.returncode == 0, errors
    assert contents(out) == undisturbed


@pytest.mark.slow
def test_a_killed_worker_of_a_cluster_that_we_started(study, tmp_path):
    """With `--workers 2`, Dask's nannies start new workers, and tasks are tried again."""
    path, _, undisturbed = study
    out = tmp_path / "out.zarr"
    client = start(*command(path, out, "--workers", "2"))
    wait_until(lambda: first_record(out), client)
    workers = [child for child in psutil.Process(client.pid).children() if "spawn_main" in " ".join(child.cmdline())]
    assert len(workers) == 2
    workers[0].kill()
    _, errors = client.communicate(timeout=HANGS)
    assert client.returncode == 0, errors
    assert contents(out) == undisturbed


OWN = """
import os

class Mine:
    def __init__(self, fails):
        self.fails = fails

    def choose(self, view, uniforms):
        if self.fails and os.path.exists({switch!r}):
            raise RuntimeError("not today")
        return view.time % view.pulls.size
"""

OWN_STUDY = """
horizon = 60
replications = 4
epsilons = [0.1]
[[explorers]]
kind = "mine.py:Mine"
fails = false
label = "good"
[[explorers]]
kind = "mine.py:Mine"
fails = true
label = "bad"
[bandits.paper]
public = [0.6, 0.3, 0.0, 0.2]
private = [0.2, 0.5, 0.1, 0.0]
"""


@pytest.mark.slow
def test_explorers_of_the_users_own_travel_and_fail_on_workers(tmp_path):
    """Workers run in a folder without mine.py; a task that raises there is recorded, and runs when it is mended."""
    home, out, undisturbed = tmp_path / "home", tmp_path / "out.zarr", tmp_path / "undisturbed.zarr"
    home.mkdir()
    switch = tmp_path / "fail"
    (home / "mine.py").write_text(OWN.format(switch=str(switch)))
    (home / "study.toml").write_text(OWN_STUDY)
    sweep = load_study(home / "study.toml")
    sweep.run(undisturbed)
    (tmp_path / "cluster").mkdir()
    with cluster(tmp_path / "cluster") as found:
        switch.write_text("")
        client = start(*command(home / "study.toml", out, "--scheduler", found.address))
        _, errors = client.communicate(timeout=HANGS)
        assert client.returncode == 2, errors
        assert "explorer 'bad'" in errors
        assert "RuntimeError: not today; run again with --retry-failed" in errors
        data = feint.open_sweep(out)
        assert data.complete.sel(explorer="good").all()
        assert not data.complete.sel(explorer="bad").any()
        switch.unlink()
        client = start(*command(home / "study.toml", out, "--scheduler", found.address, "--retry-failed"))
        _, errors = client.communicate(timeout=HANGS)
        assert client.returncode == 0, errors
    assert contents(out) == contents(undisturbed)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="a disk that is really full needs a mount")
def test_a_disk_that_is_really_full(study, tmp_path):
    path, sweep, undisturbed = study
    disk = tmp_path / "disk"
    disk.mkdir()
    size = sum(-(-len(data) // 4096) * 4096 for data in undisturbed.values()) // 1024
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size - 40}k", "tmpfs", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip("this machine does not let us mount a small disk")
    try:
        out = disk / "out.zarr"
        client = start(*command(path, out))
        _, errors = client.communicate(timeout=HANGS)
        assert client.returncode == 2, errors
        assert "out.zarr cannot be written: No space left on device. What is recorded stays" in errors.splitlines()[-1]
        assert 0 < missing_blocks(sweep, out) < 12
        subprocess.run(["mount", "-o", "remount,size=100m", disk], check=True)
        sweep.run(out)
        assert contents(out) == undisturbed
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.slow
def test_a_client_of_the_users_own(tmp_path):
    """`scheduler` is a Client, and a class of this very file is imported by name on workers, or sent by value."""
    code = f"""
import feint, distributed
class Mine:
    def choose(self, view, uniforms):
        return view.time % view.pulls.size
if __name__ == "__main__":
    sweep = feint.Sweep({{"paper": {PAPER!r}}}, [Mine()], [0.1], horizon=60, replications=4)
    with distributed.Client(n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
        sweep.run("cluster.zarr", client)
        client.submit(int, 1).result()  # it is left open
    sweep.run("here.zarr")
"""
    script = tmp_path / "script.py"
    script.write_text(code.replace("Bandit(", "feint.Bandit(").replace("Gaussian(", "feint.Gaussian("))
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "cluster.zarr") == contents(tmp_path / "here.zarr")
