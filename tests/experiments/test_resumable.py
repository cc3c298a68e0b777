"""Long simulations of experiments give the data set of `simulate`, and an interrupt loses a block at most."""

import pytest

import feint
from cases import PAPER
from feint.experiments import figure1, resumable
from feint.experiments.reproduce import load_or_run
from feint.sweep import runner, store_layout


@pytest.fixture(autouse=True)
def _long(monkeypatch):
    """Treat every simulation as long, with one block per replication."""
    monkeypatch.setattr(resumable, "_LONG", 1)
    monkeypatch.setattr(store_layout, "_BLOCK_SECONDS", 1e-9)


@pytest.mark.parametrize(
    "options", [{}, {"delta": 0.1, "checkpoints": [10, 300]}, {"observe": True, "alpha": 0.1}, {"seed": 2**64 - 3}]
)
def test_the_same_data_set(options, tmp_path):
    explorer, budget = feint.RoundRobin([1, 2]), feint.PowerLaw(1.0, 0.5)
    settings = {"epsilon": budget, "horizon": 300, "replications": 5, "seed": 3, **options}
    made = []
    with resumable.keep_blocks(tmp_path / "unfinished"):
        found = resumable.simulate_resumably(PAPER, explorer, progress=made.append, **settings)
        assert list((tmp_path / "unfinished").iterdir())
    # The answer of the best arm is the recommendation, which is kept.
    assert found.identical(feint.simulate(PAPER, explorer, **settings).drop_vars("answer"))
    assert sum(made) == 5 * 300


def test_an_interrupted_piece_goes_on_with_its_blocks(tmp_path, monkeypatch):
    monkeypatch.setitem(figure1.QUICK, "horizon", 1_000)
    straight, broken = tmp_path / "straight", tmp_path / "broken"
    whole = load_or_run("figure1", straight, 0, "quick", lambda steps: None)
    ran = []

    def stopping(study, tasks, cores):
        for task, outcome in original(study, tasks, cores):
            if len(ran) == 7:
                ran.append(None)
                raise KeyboardInterrupt
            ran.append(task)
            yield task, outcome

    original = runner.run_locally
    monkeypatch.setattr("feint.sweep.workload.TASK_SECONDS", 1e-9)
    monkeypatch.setattr(runner, "run_locally", stopping)
    with pytest.raises(KeyboardInterrupt):
        load_or_run("figure1", broken, 0, "quick", lambda steps: None)
    assert not (broken / "data").exists()
    made = []
    again = load_or_run("figure1", broken, 0, "quick", made.append)
    replications = figure1.QUICK["replications_claims"]
    assert len(ran) == 1 + replications  # seven before, the others after, and none twice
    assert sum(made) == replications * 1_000
    assert again.identical(whole)
    assert [entry.name for entry in broken.iterdir()] == ["data"]


def test_blocks_of_a_piece_that_is_there_are_removed(tmp_path, monkeypatch):
    """A run may be killed after it has written the piece and before it has removed the blocks."""
    monkeypatch.setitem(figure1.QUICK, "horizon", 1_000)
    whole = load_or_run("figure1", tmp_path, 0, "quick", lambda steps: None)
    (tmp_path / "unfinished" / "figure1" / "0.zarr").mkdir(parents=True)
    assert load_or_run("figure1", tmp_path, 0, "quick", lambda steps: None).identical(whole)
    assert [entry.name for entry in tmp_path.iterdir()] == ["data"]
