"""Make one small store for all tests of a process."""

import pytest

from feint.sweep import store_layout, workload
from sweep_cases import contents, small_sweep


@pytest.fixture
def three_blocks(monkeypatch):
    """Put three replications into a block and one block into a task, so that seven replications make three of each."""
    monkeypatch.setattr(store_layout, "_BLOCK_SECONDS", 3 * 300 * 1e-6)
    monkeypatch.setattr(workload, "TASK_SECONDS", 1e-9)


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """Return the folder of an undisturbed run, and its files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_layout, "_BLOCK_SECONDS", 3 * 300 * 1e-6)
        path = tmp_path_factory.mktemp("whole") / "out.zarr"
        small_sweep().run(path)
    return path, contents(path)
