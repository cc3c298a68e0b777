"""Stores after accidents: readers name the object that is damaged or missing, and running the sweep again mends it."""

import json
import pickle
import re
import shutil

import fsspec
import numpy as np
import pytest

import feint
from feint.sweep import SweepWarning
from feint.sweep.store_writer import StoreWriter
from shell import typed
from sweep_cases import PAPER, contents, count_tasks, missing_blocks, small_sweep, unpack

pytestmark = pytest.mark.usefixtures("three_blocks")

CHUNK = "pulls/c.1.0.0.1.2.0.0"
OTHER_CELL = "pulls/c.0.0.0.1.2.0.0"
RECORD = "chunk_record/c.0.0.0.0.0.0.0"


def flip(path):
    """Change one bit in the middle of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def cut(path):
    path.write_bytes(path.read_bytes()[:-7])


def empty(path):
    path.write_bytes(b"")


def delete(path):
    path.unlink()


def exchange(path):
    """Replace a chunk by the same chunk of another cell, which is undamaged."""
    path.write_bytes((path.parents[1] / OTHER_CELL).read_bytes())


@pytest.fixture
def out(whole, tmp_path):
    """Return a copy of the store, which a test may damage."""
    path = tmp_path / "out.zarr"
    unpack(whole[1], path)
    return path


def named(key, state):
    """Return what a reader says."""
    return rf"out\.zarr/{re.escape(key)} is {state}; run the same sweep again to repair it\.$"


class TestChunks:
    @pytest.mark.parametrize("damage", [flip, cut, empty, delete, exchange])
    def test_readers_name_it_and_resuming_mends_it(self, damage, out, whole, monkeypatch):
        damage(out / CHUNK)
        data = feint.open_sweep(out)
        with pytest.raises(OSError, match=named(CHUNK, "missing" if damage is delete else "damaged")):
            data.pulls.load()
        assert data.pulls.isel(bandit=0).notnull().any()
        assert data.log_error.notnull().all()
        ran = count_tasks(monkeypatch)
        small_sweep().run(out)
        assert [(task.cell, task.first) for task in ran] == [((1, 0, 0, 1), 6)]
        assert contents(out) == whole[1]

    def test_a_chunk_of_another_study_is_run_again(self, out, whole, tmp_path):
        """Such a chunk has the right place, form and checksum; so have all chunks, and the record."""
        other = tmp_path / "other.zarr"
        small_sweep(seed=1).run(other)
        foreign = {key: data for key, data in contents(other).items() if "/c." in key}
        unpack({"log_error/c.0.0.0.0.0.0": foreign["log_error/c.0.0.0.0.0.0"]}, out)
        assert missing_blocks(small_sweep(), out) == 1
        unpack(foreign, out)
        assert missing_blocks(small_sweep(), out) == 24
        with pytest.raises(OSError, match=r"out\.zarr/pulls/c\.\S* is damaged"):
            feint.open_sweep(out).pulls.load()
        small_sweep().run(out)
        assert contents(out) == whole[1]

    def test_without_verifying_sizes_are_looked_at(self, out, whole, monkeypatch):
        flip(out / CHUNK)
        cut(out / OTHER_CELL)
        ran = count_tasks(monkeypatch)
        small_sweep().run(out, verify=False)
        assert [task.cell for task in ran] == [(0, 0, 0, 1)]
        assert {key for key, data in contents(out).items() if whole[1][key] != data} == {CHUNK}
        assert small_sweep().plan(out, verify=False).missing == 0
        assert small_sweep().plan(out).missing == 1

    def test_what_was_not_recorded_is_not_read(self, tmp_path):
        """A block that was written and not recorded when its process was killed is not complete, so it is not there."""
        path = tmp_path / "out.zarr"
        sweep = small_sweep()
        writer = StoreWriter(path, sweep)
        with writer.writing():
            values = {
                name: np.zeros((3, *(writer.layout.sizes[d] for d in inner[1:])))
                for name, (inner, _) in sweep.variables().items()
            }
            writer.target.put(writer.layout.encode_block((0, 0, 0, 0), 0, values))
        data = feint.open_sweep(path)
        assert not data.complete.any()
        assert data.pulls.isnull().all()

    def test_files_of_others_are_left_alone(self, out, whole):
        """This includes a chunk of an array of zeros, which Zarr does not write."""
        notes = {"pulls/notes.txt": b"mine", "pulls/c.9.9.9.9.9.0.0": b"mine", "seed/c": b"mine"}
        assert not set(notes) & set(whole[1])
        unpack(notes, out)
        assert small_sweep().run(out).seed == 0
        assert contents(out) == {**whole[1], **notes}

    def test_what_a_killed_writer_left_is_removed(self, out, whole):
        unpack({f"{CHUNK}.part": b"half", "public_mean/c/0/0.part": b"half", "zarr.json.part": b"half"}, out)
        mine = {"pulls/notes.part": b"mine"}
        unpack(mine, out)
        small_sweep().run(out)
        assert contents(out) == {**whole[1], **mine}

    @pytest.mark.parametrize("array", ["best_private", "public_mean", "pulls"])
    def test_a_deleted_array_is_mended(self, array, out, whole):
        shutil.rmtree(out / array)
        with pytest.raises(OSError, match=array):
            feint.open_sweep(out)
        small_sweep().run(out)
        assert contents(out) == whole[1]

    def test_in_object_stores(self, whole):
        url, system = "memory://damaged/out.zarr", fsspec.filesystem("memory")
        small_sweep().run(url)
        root = "/damaged/out.zarr/"
        try:
            data = bytearray(system.cat_file(root + CHUNK))
            data[9] ^= 1
            system.pipe_file(root + CHUNK, bytes(data))
            system.rm_file(root + "boosts/c.0.0.0.0.0.0.0")
            runs = feint.open_sweep(url)
            with pytest.raises(OSError, match=named(CHUNK, "damaged")):
                runs.pulls.load()
            with pytest.raises(OSError, match=named("boosts/c.0.0.0.0.0.0.0", "missing")):
                runs.boosts.load()
            assert missing_blocks(small_sweep(), url) == 2
            system.rm_file(root + "best_private/c/0")
            with pytest.raises(OSError, match=named("best_private/c/0", "missing")):
                feint.open_sweep(url)
            small_sweep().run(url)
            assert {name.removeprefix(root): system.cat_file(name) for name in system.find(root)} == whole[1]
        finally:
            system.rm("/damaged", recursive=True)

    def test_opened_stores_travel(self, out):
        """A store can be sent to Dask's workers, for example; a damaged chunk is named there too."""
        flip(out / CHUNK)
        data = pickle.loads(pickle.dumps(feint.open_sweep(out)))
        assert data.log_error.notnull().all()
        with pytest.raises(OSError, match=named(CHUNK, "damaged")):
            data.pulls.load()

    def test_commands_name_it(self, out, tmp_path):
        flip(out / CHUNK)
        delete(out / "log_error/c.0.0.0.0.0.0")
        for options, key, state in (
            (["show", out], "log_error/c.0.0.0.0.0.0", "missing"),
            (["show", out, "--plot", tmp_path / "a.png"], "log_error/c.0.0.0.0.0.0", "missing"),
        ):
            result = typed("sweep", *options)
            assert result.returncode == 2
            assert re.search(named(key, state), result.stderr.strip())
        assert not (tmp_path / "a.png").exists()


class TestLabels:
    """Test metadata and coordinates, which no run changes."""

    @pytest.mark.parametrize("damage", [flip, delete])
    def test_readers_name_them_and_resuming_mends_them(self, damage, out, whole, monkeypatch):
        keys = [key for key in whole[1] if "/c." not in key]
        assert {"best_private/c/0", "time/zarr.json", "pulls/zarr.json", "zarr.json"} <= set(keys)
        for key in keys:
            damage(out / key)
            with pytest.raises(OSError, match=named(key, "missing" if damage is delete else "damaged")):
                feint.open_sweep(out)
            unpack({key: whole[1][key]}, out)
        for key in keys:
            if key != "zarr.json":
                damage(out / key)
        ran = count_tasks(monkeypatch)
        small_sweep().run(out)
        assert contents(out) == whole[1]
        assert not ran

    @pytest.mark.parametrize("damage", [flip, empty, delete])
    def test_a_root_alone_is_mended(self, damage, out, whole, monkeypatch):
        damage(out / "zarr.json")
        ran = count_tasks(monkeypatch)
        small_sweep().run(out, verify=False)
        assert contents(out) == whole[1]
        assert not ran

    def test_a_changed_root_of_the_same_form_is_found(self, out, whole):
        """Without its checksum, the store would be taken for another study's."""
        document = json.loads(whole[1]["zarr.json"])
        document["attributes"]["study"] = document["attributes"]["study"].replace('"seed": 0', '"seed": 1')
        unpack({"zarr.json": json.dumps(document).encode()}, out)
        with pytest.raises(OSError, match=named("zarr.json", "damaged")):
            feint.open_sweep(out)
        small_sweep().run(out)
        assert contents(out) == whole[1]

    def test_another_study_without_a_root_is_refused(self, out):
        delete(out / "zarr.json")
        before = contents(out)
        with pytest.raises(ValueError, match="can be recognised as this study's; choose another store"):
            small_sweep(seed=1).run(out)
        assert contents(out) == before


class TestRecords:
    @pytest.mark.parametrize("damage", [flip, cut, delete])
    def test_without_its_record_a_block_is_run_again(self, damage, out, whole, monkeypatch):
        damage(out / RECORD)
        with pytest.raises(OSError, match=named(RECORD, "missing" if damage is delete else "damaged")):
            feint.open_sweep(out)
        ran = count_tasks(monkeypatch)
        small_sweep().run(out)
        assert len(ran) == 24
        assert contents(out) == whole[1]

    def test_a_record_of_no_cell_is_mended_too(self, tmp_path, monkeypatch):
        """A chunk of records all of whose cells are left out is written by no task."""
        monkeypatch.setattr("feint.sweep.store_layout._RECORDS_PER_CHUNK", 1)
        path, sweep = tmp_path / "out.zarr", small_sweep(cells=[{"bandit": "coins"}])
        sweep.run(path)
        before = contents(path)
        delete(path / "chunk_record/c.0.0.0.0.0.0.0")
        sweep.run(path)
        assert contents(path) == before

    @pytest.mark.parametrize("damage", [flip, delete])
    def test_without_the_reason_a_failure_is_tried_again(self, damage, tmp_path, monkeypatch):
        class Fails:
            def choose(self, view, uniforms):
                raise RuntimeError("not today")

        path = tmp_path / "out.zarr"
        sweep = feint.Sweep({"paper": PAPER}, [Fails()], [0.1], horizon=60, replications=1, checkpoints=[60])
        with pytest.warns(SweepWarning):
            sweep.run(path)
        before = contents(path)
        damage(path / "failure/c.0.0.0.0")
        state = "missing" if damage is delete else "damaged"
        with pytest.raises(OSError, match=named("failure/c.0.0.0.0", state)):
            feint.open_sweep(path)
        ran = count_tasks(monkeypatch)
        with pytest.warns(SweepWarning, match="not today"):
            sweep.run(path)
        assert ran
        assert contents(path) == before
