"""`feint sweep show` prints a table of 80 columns with log₁₀, whose numbers are those of plain NumPy."""

import numpy as np
import pytest
from typer.testing import CliRunner

import feint
from cases import PAPER
from feint.cli import app
from sweep_cases import small_sweep


def shown(store, columns):
    result = CliRunner().invoke(app, ["sweep", "show", str(store)], env={"COLUMNS": str(columns)})
    assert result.exit_code == 0, result.output
    return [line.rstrip() for line in result.stdout.splitlines()]


def test_the_table_fits_80_columns_and_says_the_same_when_wide(tmp_path):
    explorers = {"top-two-of-the-paper": feint.TopTwo(), "tracking": feint.Tracking()}
    sweep = small_sweep(bandits={"paper": PAPER}, explorers=explorers, delta=0.01, replications=9)
    data = sweep.run(tmp_path / "out.zarr")
    narrow, wide = shown(tmp_path / "out.zarr", 80), shown(tmp_path / "out.zarr", 200)
    assert max(map(len, narrow)) <= 80
    assert any("log₁₀ error" in line for line in narrow)
    assert "9 runs each" in narrow[0]  # the same in all cells, so it needs no column
    assert not any("runs" in line.split() for line in narrow if "log₁₀ error" in line)
    for e, explorer in enumerate(explorers):
        for i, epsilon in enumerate((0.01, 0.1)):
            logs = np.sort(data.log_error.values[0, e, 0, i, :, -1]) / np.log(10)
            # of nine runs, 2.5 % leave out one at either end: P(Bin(9, ½) ≤ 1) = 10/512 < 2.5 % < 46/512
            median, interval = f"{logs[4]:.2f}", f"({logs[1]:.2f}…{logs[7]:.2f})"
            median, interval = median.replace("-", "−"), interval.replace("-", "−")
            row = [j for j, line in enumerate(narrow) if line.split()[:2] == [explorer, str(epsilon)]]
            assert len(row) == 1
            assert median in narrow[row[0]]
            assert interval in narrow[row[0] + 1]
            assert any(line.split()[:2] == [explorer, str(epsilon)] and f"{median} {interval}" in line for line in wide)
    assert not any("∞ (∞" in line or "(∞…∞)" in line for line in narrow + wide)


def test_control_characters_of_labels_and_failures_are_shown_escaped(tmp_path):
    class Failing:
        def choose(self, view, uniforms):
            raise RuntimeError("no\x1b[2Jway")

    bandit = feint.Bandit([0.5, 0.0], [0.0, 0.5])
    sweep = feint.Sweep({"pa\x1b[2Kper": bandit}, {"ok": feint.TopTwo(), "ba\x1bd": Failing()}, [0.1], horizon=9)
    with pytest.warns(feint.sweep.SweepWarning):
        sweep.run(tmp_path / "out.zarr")
    text = "\n".join(shown(tmp_path / "out.zarr", 200))
    (head,) = [line for line in text.splitlines() if "log₁₀ error" in line]
    assert "runs" in head.split()  # a cell that failed has none
    assert "\x1b" not in text
    assert r"pa\x1b[2Kper" in text
    assert r"no\x1b[2Jway" in text
