"""Stores have the numbers of `simulate` and one chunk per block; they are resumed, repaired or refused."""

import errno
import itertools
import json
import re
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import zarr

import feint
from feint.sweep import SweepWarning, runner, target, task, workload
from feint.sweep.checksums import Marker
from feint.sweep.store_root import RECORD, sealed
from sweep_cases import COINS, PAPER, contents, count_tasks, missing_blocks, small_sweep, unpack

pytestmark = pytest.mark.usefixtures("three_blocks")


def test_numbers_are_those_of_simulate(whole):
    data = feint.open_sweep(whole[0])
    assert data.pulls.dims == ("bandit", "explorer", "reference", "epsilon", "replication", "time", "arm")
    for name, bandit in (("paper", PAPER), ("coins", COINS)):
        for explorer in (feint.TopTwo(), feint.Tracking()):
            for epsilon in (0.01, 0.1):
                runs = feint.simulate(
                    bandit,
                    explorer,
                    epsilon=epsilon,
                    horizon=300,
                    replications=7,
                    delta=0.2,
                    checkpoints=data.time.values,
                    method="eager",
                )
                label = f"{type(explorer).__name__}()"
                cell = data.sel(bandit=name, explorer=label, epsilon=epsilon).isel(reference=0)
                for variable in runs.drop_vars("answer").data_vars:  # the recommendation says it
                    found = cell[variable]
                    if "arm" in found.dims:
                        assert found.isel(arm=slice(bandit.n_arms, None)).isnull().all()
                        found = found.isel(arm=slice(bandit.n_arms))
                    np.testing.assert_array_equal(found.values, runs[variable].values)
                    assert found.attrs == runs[variable].attrs
    assert data.is_arm.values.tolist() == [[True] * 4, [True, True, False, False]]
    assert bool(data.complete.all())
    assert data.private_mean.sel(bandit="coins").values[:2].tolist() == [0.2, 0.5]
    assert json.loads(data.attrs["study"])["replications"] == 7
    assert json.loads(data.attrs["versions"])["feint"] == feint.__version__


def test_opened_lazily(whole):
    """Nothing but the records and labels is read before it is asked for."""
    data = feint.open_sweep(whole[0])
    assert not data.pulls.variable._in_memory
    assert not data.log_error.variable._in_memory


def test_a_chunk_is_a_block_of_one_cell(whole):
    group = zarr.open_group(whole[0], mode="r")
    for name in ("pulls", "boosts", "log_error", "stopping_time"):
        array = group[name]
        assert array.chunks[:5] == (1, 1, 1, 1, 3)
        assert array.chunks[5:] == array.shape[5:]
        assert sum(key.startswith(f"{name}/c.") for key in whole[1]) == 8 * 3


def test_chunks_are_the_bytes_that_zarr_writes(whole, tmp_path):
    path, files = whole
    source = zarr.open_group(path, mode="r")
    copy = zarr.open_group(tmp_path / "copy.zarr", mode="w")
    variables = [name for name, array in source.arrays() if array.ndim >= 5 and name != RECORD]
    assert {"pulls", "log_error", "recommendation"} <= set(variables)
    for name in variables:
        array = zarr.create_array(
            copy.store, name=name, data=None, shape=source[name].shape, dtype=source[name].dtype,
            chunks=source[name].chunks, compressors=source[name].compressors, fill_value=source[name].fill_value,
            chunk_key_encoding={"name": "default", "separator": "."}, config={"write_empty_chunks": True},
        )  # fmt: skip
        array[...] = source[name][...]
    written = contents(tmp_path / "copy.zarr")
    chunks = [key for key in written if "/c." in key]
    assert len(chunks) == len(variables) * 8 * 3
    for key in chunks:
        assert written[key] == files[key], key


def test_any_grouping_and_any_number_of_threads_gives_the_same_bytes(whole, tmp_path, monkeypatch):
    for seconds, threads in ((1e-9, "1"), (1e9, "3")):
        monkeypatch.setattr(workload, "TASK_SECONDS", seconds)
        monkeypatch.setenv("FEINT_THREADS", threads)
        path = tmp_path / threads
        small_sweep().run(path)
        assert contents(path) == whole[1]


def test_resuming_runs_what_is_missing_and_only_that(whole, tmp_path, monkeypatch):
    path = tmp_path / "out.zarr"
    sweep = small_sweep()
    with monkeypatch.context() as patch:
        patch.setattr(runner, "run_locally", _stops_after(5, runner.run_locally))
        with pytest.raises(KeyboardInterrupt):
            sweep.run(path)
    assert missing_blocks(sweep, path) == 24 - 5
    partial = feint.open_sweep(path)
    assert 5 * 3 - 4 <= int(partial.complete.sum()) <= 5 * 3  # the last of three blocks has one replication
    np.testing.assert_array_equal(partial.log_error.isel(time=-1).notnull().values, partial.complete.values)
    ran = count_tasks(monkeypatch)
    sweep.run(path)
    assert len(ran) == 24 - 5
    sweep.run(path)
    assert len(ran) == 24 - 5
    assert contents(path) == whole[1]


def _stops_after(count, original):
    def stopping(study, tasks, cores):
        for number, found in enumerate(original(study, tasks, cores)):
            if number == count:
                raise KeyboardInterrupt
            yield found

    return stopping


class Fixed:
    """An explorer that boosts one arm."""

    def __init__(self, arm):
        self.arm = arm

    def choose(self, view, uniforms):
        return self.arm


def test_a_store_with_other_labels_of_the_same_parts_goes_on(tmp_path):
    """Labels of an older store may leave out the arguments of a user's own parts."""
    place, settings = tmp_path / "out.zarr", {"bandits": {"coins": COINS}, "epsilons": [0.1], "horizon": 20}
    before = small_sweep(**settings, explorers={"Fixed()": Fixed(1)})
    written = before.run(place)
    files = contents(place)
    now = small_sweep(**settings, explorers=[Fixed(1)])
    assert list(now.axes["explorer"]) == ["Fixed(arm=1)"]
    assert missing_blocks(now, place) == 0
    assert now.run(place).identical(written)
    assert contents(place) == files
    for other in ([Fixed(0)], {"mine": Fixed(1)}):
        with pytest.raises(ValueError, match="holds another study"):
            small_sweep(**settings, explorers=other).run(place)


def test_another_study_and_foreign_folders_are_refused(whole, tmp_path):
    for changes, words in (
        ({"seed": 1}, "its seed is 0, not 1"),
        ({"horizon": 301}, "its horizon is 300, not 301"),
        ({"checkpoints": [*range(4, 50), 300]}, r"its checkpoints\[\d+\] is \d+, not \d+"),
        ({"epsilons": [0.01, 0.2]}, r"its epsilons\[1\] is \"0.1\", not \"0.2\""),
        ({"epsilons": [0.01, 0.1, 0.2]}, r"its epsilons has 2 entries, not 3"),
    ):
        with pytest.raises(ValueError, match=f"holds another study: ({words})"):
            small_sweep(**changes).run(whole[0])
    feint.simulate(PAPER, epsilon=0.1, horizon=10, replications=1).to_zarr(tmp_path / "runs.zarr", consolidated=False)
    (tmp_path / "file").write_text("precious")
    for name in ("runs.zarr", "file"):
        with pytest.raises(ValueError, match="is not a store of feint sweep"):
            small_sweep().run(tmp_path / name)
        with pytest.raises(ValueError, match="is not a store of feint sweep"):
            feint.open_sweep(tmp_path / name)
    assert contents(whole[0]) == whole[1]


def test_another_version_is_refused(whole, tmp_path):
    path = tmp_path / "out.zarr"
    this = f'feint\\": \\"{feint.__version__}'.encode()
    document = json.loads(whole[1]["zarr.json"].replace(this, b'feint\\": \\"0.0.9'))
    del document["attributes"]["checksum"]
    unpack({"zarr.json": sealed(json.dumps(document).encode(), Marker("", ""), {})}, path)
    with pytest.raises(ValueError, match=r"was written by feint 0\.0\.9"):
        small_sweep().run(path)


def test_one_writer_at_a_time(tmp_path):
    path = tmp_path / "out.zarr"
    sweep = small_sweep()
    sweep.run(path)
    code = (
        f"import fcntl, os; fcntl.flock(os.open({str(path)!r}, 0), fcntl.LOCK_EX); print('held', flush=True); input()"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(ValueError, match="Another process is writing"):
            sweep.run(path)
    finally:
        holder.communicate("\n")
    sweep.run(path)


class Fails:
    """An explorer that raises at a pull where it is told to."""

    broken = True

    def __init__(self, at):
        self.at = at

    def choose(self, view, uniforms):
        if Fails.broken and view.time == self.at:
            raise RuntimeError(f"no arm at {view.time}")
        return 0


def failing_sweep():
    return feint.Sweep(
        {"paper": PAPER},
        {"top": feint.TopTwo(), "fails": Fails(50)},
        [0.1],
        horizon=60,
        replications=4,
        checkpoints=[40, 60],
    )


def test_a_task_that_raises_is_recorded_and_the_rest_goes_on(tmp_path, monkeypatch):
    path, undisturbed = tmp_path / "out.zarr", tmp_path / "undisturbed.zarr"
    with pytest.warns(
        SweepWarning, match=r"In 1 of 2 cells tasks failed; .*explorer 'fails'.*RuntimeError: no arm at 50"
    ):
        data = failing_sweep().run(path)
    assert data.complete.sel(explorer="top").all()
    assert not data.complete.sel(explorer="fails").any()
    assert re.fullmatch(
        r"replication \d: Fails.choose failed at step 51 \(test_store.py, line \d+\): RuntimeError: no arm at 50",
        data.failure.sel(explorer="fails").item(),
    )
    assert data.failure.sel(explorer="top").item() == ""
    ran = count_tasks(monkeypatch)
    with pytest.warns(SweepWarning):
        failing_sweep().run(path)
    assert not ran  # not tried again unasked
    monkeypatch.setattr(Fails, "broken", False)
    mended = failing_sweep().run(path, retry_failed=True)
    assert {task.cell[1] for task in ran} == {1}
    assert mended.complete.all()
    failing_sweep().run(undisturbed)
    assert contents(path) == contents(undisturbed)


def test_a_full_disk_loses_nothing(whole, tmp_path, monkeypatch):
    path, room = tmp_path / "out.zarr", 30
    put = target.Folder.put

    def short_of_room(self, objects):
        nonlocal room
        for key, data in objects.items():
            room -= 1
            if room < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            put(self, {key: data})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(target.Folder, "put", short_of_room)
        with pytest.raises(OSError, match=r"out.zarr cannot be written: No space left on device\. What is recorded"):
            small_sweep().run(path)
    assert 0 < missing_blocks(small_sweep(), path) < 24
    small_sweep().run(path)
    assert contents(path) == whole[1]


def test_remote_stores(whole):
    import fsspec

    url = "memory://sweeps/out.zarr"
    data = small_sweep().run(url)
    np.testing.assert_array_equal(data.pulls.values, feint.open_sweep(whole[0]).pulls.values)
    system = fsspec.filesystem("memory")
    root = "/sweeps/out.zarr/"
    assert {name.removeprefix(root): system.cat_file(name) for name in system.find(root)} == whole[1]
    cut = root + "pulls/c.1.0.0.1.2.0.0"
    system.pipe_file(cut, system.cat_file(cut)[:-7])
    system.rm_file(root + "boosts/c.0.0.0.0.0.0.0")
    assert missing_blocks(small_sweep(), url) == 2
    small_sweep().run(url)
    assert {name.removeprefix(root): system.cat_file(name) for name in system.find(root)} == whole[1]
    system.rm(root, recursive=True)


def test_chosen_cells_only(tmp_path):
    sweep = small_sweep(cells=[{"bandit": "coins", "epsilon": 0.1}, {"explorer": "TopTwo()", "bandit": "paper"}])
    data = sweep.run(tmp_path / "out.zarr")
    assert data.complete.all("replication").isel(reference=0).values.tolist() == [
        [[True, True], [False, False]],
        [[False, True], [False, True]],
    ]
    assert missing_blocks(sweep, tmp_path / "out.zarr") == 0


def test_plans_say_what_is_to_do_and_write_nothing(tmp_path):
    found = small_sweep().plan(tmp_path / "out.zarr", workers=3)
    assert (len(found.tasks), found.cells, found.blocks, found.missing, found.cores) == (24, 8, 24, 24, 3)
    assert found.seconds == pytest.approx(sum(task.seconds for task in found.tasks) / 3)
    # Eight bytes a number: pulls and boosts by time and arm, four by time, one by run; nine replications are stored.
    times = len(small_sweep().times)
    assert found.store_bytes == pytest.approx(8 * 9 * 8 * (2 * times * 4 + 4 * times + 1), rel=0.1)
    assert "8 cells, 24 tasks to run: about" in str(found)
    assert not list(tmp_path.iterdir())


def test_tasks_take_about_a_second_each():
    wanted = np.ones((1, 2, 1, 1, 40), dtype=bool)
    wanted[0, 1, 0, 0, 10:30] = False
    sweep = small_sweep(bandits={"paper": PAPER}, epsilons=[0.1], replications=200)
    seconds = np.array([0.02, 3.0]).reshape(1, 2, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workload, "TASK_SECONDS", 1.0)
        tasks = list(workload.cut_into_tasks(sweep, 5, wanted, seconds))
    quick = [task for task in tasks if task.cell[1] == 0]
    assert [(task.first, task.last) for task in quick] == [(0, 50), (50, 100), (100, 150), (150, 200)]
    assert [task.seconds for task in quick] == pytest.approx([1.0] * 4)
    slow = [(task.first, task.last) for task in tasks if task.cell[1] == 1]
    assert slow == [(5 * block, 5 * block + 5) for block in (*range(10), *range(30, 40))]


def test_stopping_does_not_wait_for_long_tasks(monkeypatch):
    """When nobody listens any more, tasks of minutes end within one piece of the engine."""
    sweep = small_sweep(bandits={"paper": PAPER}, epsilons=[0.1], horizon=10**9, replications=2, checkpoints=[10**9])
    tasks = [workload.Task((0, 0, 0, 0), r, r + 1, 60.0) for r in range(2)]
    outcomes = runner.run_locally(sweep, [*tasks, *tasks], 2)
    monkeypatch.setattr("feint.sweep.local.wait", lambda running, return_when: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        next(outcomes)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("feint-sweep")]


class Ticks:
    """An explorer that takes a millisecond of a clock that is not this machine's."""

    now = 0.0

    def choose(self, view, uniforms):
        Ticks.now += 1e-3
        return 0


@pytest.mark.parametrize("steps", [100, 20_000])
def test_plain_python_is_measured_and_has_one_core_in_threads(steps, tmp_path, monkeypatch):
    microseconds = itertools.count()
    clock = SimpleNamespace(perf_counter=lambda: Ticks.now, thread_time=lambda: 1e-6 * next(microseconds))
    monkeypatch.setattr(task, "time", clock)
    explorers = {f"top {n}": feint.FixedBoosting([0, 1 - n / 10, n / 10, 0]) for n in range(3)} | {"mine": Ticks()}
    sweep = feint.Sweep({"paper": PAPER}, explorers, [0.1], horizon=steps, replications=10)
    monkeypatch.setattr(workload, "_MEASURING", 0.0)
    monkeypatch.setenv("FEINT_THREADS", "2")
    assert sweep.plan(tmp_path / "out.zarr").seconds == pytest.approx(10 * (steps - 4) * 1e-3, rel=0.01)
    assert sweep.plan(tmp_path / "out.zarr", workers=2).seconds == pytest.approx(5 * (steps - 4) * 1e-3, rel=0.5)
