"""`feint.plot` draws the numbers of plain NumPy; labels, given and new axes, and clear refusals are tested too."""

import math

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_rgb

import feint
from cases import PAPER
from feint.support.figure_style import ordered_colours
from layout import crowded


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_colours_of_things_in_order_stand_out_from_white():
    """Contrast is 2:1 at least, as WCAG 2 measures it; in the dark, report.html inverts the colours."""
    for colour in ordered_colours(12):
        channels = np.array(to_rgb(colour))
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        assert 1.05 / (linear @ (0.2126, 0.7152, 0.0722) + 0.05) >= 2


def made_up(seed, replications=12, *, first=0):
    """Return runs of invented numbers with what `simulate` writes about them."""
    rng = np.random.default_rng(seed)
    times = np.array([4, 10, 100, 1000])
    alarms = np.where(rng.random(replications) < 0.7, rng.integers(5, 1000, replications), np.nan)
    runs = feint.simulate(PAPER, epsilon=0.1, horizon=4, replications=1, method="eager")
    return xr.Dataset(
        {
            "log_error": (("replication", "time"), -rng.exponential(5.0, (replications, 4))),
            "boosts": (("replication", "time", "arm"), rng.integers(1, 50, (replications, 4, 4))),
            "detection_time": ("replication", alarms),
        },
        coords={"replication": np.arange(first, first + replications), "time": times, "arm": np.arange(4)}
        | {name: runs[name] for name in ("seed", "epsilon", "public_mean", "private_mean")},
        attrs=runs.attrs,
    )


def sign_interval(values):
    """Return the 95 % interval of a median by counting coins: the order statistics k and n + 1 − k."""
    n = len(values)
    tails = np.cumsum([math.comb(n, i) / 2**n for i in range(n + 1)])  # P(Bin ≤ i)
    k = int(np.sum(tails <= 0.025))  # the largest k with P(Bin ≤ k − 1) ≤ 2.5 %
    ordered = np.sort(values)
    return ordered[k - 1], ordered[n - k]


def edges(collection, times):
    """Return the lowest and highest points of a drawn band at these times."""
    (path,) = collection.get_paths()
    x, y = path.vertices.T
    return [(y[x == t].min(), y[x == t].max()) for t in times]


def test_error_curves_are_medians_between_order_statistics():
    runs = {"one": made_up(1), "two": made_up(2, 31)}
    axes = feint.plot.error_curves(runs)
    assert [line.get_label() for line in axes.get_lines()] == ["one", "two"]
    for line, drawn, data in zip(axes.get_lines(), axes.collections, runs.values(), strict=True):
        logs = np.log10(np.exp(data.log_error.values))
        np.testing.assert_array_equal(line.get_xdata(), [4, 10, 100, 1000])
        np.testing.assert_allclose(line.get_ydata(), np.median(logs, 0), rtol=1e-12)
        expected = [sign_interval(logs[:, i]) for i in range(4)]
        np.testing.assert_allclose(edges(drawn, [4, 10, 100, 1000]), expected, rtol=1e-12)
    assert "log₁₀" in axes.get_ylabel()
    assert axes.get_xscale() == "log"
    assert crowded(axes.figure) == []


def test_a_band_needs_six_runs():
    axes = feint.plot.error_curves(made_up(1, 5))
    assert np.isfinite(axes.get_lines()[0].get_ydata()).all()
    assert all(not collection.get_paths() for collection in axes.collections)
    assert axes.get_legend() is None
    assert feint.plot.error_curves(made_up(1, 6)).collections[0].get_paths()


def test_differences_are_taken_run_by_run():
    a, b = made_up(1, 20), made_up(2, 20, first=3)
    axes = feint.plot.compare(a, b.isel(time=[0, 2, 3]), labels=("mine", "theirs"))
    logs = (a.log_error.values[3:] - b.log_error.values[:17])[:, [0, 2, 3]] / np.log(10)
    np.testing.assert_allclose(axes.get_lines()[0].get_ydata(), np.median(logs, 0), rtol=1e-12)
    expected = [sign_interval(logs[:, i]) for i in range(3)]
    np.testing.assert_allclose(edges(axes.collections[0], [4, 100, 1000]), expected, rtol=1e-12)
    assert axes.get_ylabel() == "log₁₀ of the error, mine − theirs"
    assert axes.get_title().startswith("17 runs")
    assert crowded(axes.figure) == []


def test_what_is_not_paired_is_refused():
    a = made_up(1)
    with pytest.raises(ValueError, match="same seed"):
        feint.plot.compare(a, a.assign_coords(seed=5))
    with pytest.raises(ValueError, match="one instance"):
        feint.plot.compare(a, a.assign_coords(public_mean=("arm", [1.0, 2.0, 3.0, 4.0])))
    with pytest.raises(ValueError, match="no run or no checkpoint in common"):
        feint.plot.compare(a, made_up(1, first=100))
    with pytest.raises(ValueError, match="over replications and time"):
        feint.plot.compare(a, a, variable="boosts")


def test_the_pairing_narrows_the_interval():
    """Draws are shared: the paired interval is shorter than the one after the runs of b were shuffled."""
    a, b = (
        feint.simulate(PAPER, epsilon=e, horizon=300, replications=60, checkpoints=[300], method="eager")
        for e in (0.1, 0.11)
    )
    paired = np.diff(edges(feint.plot.compare(a, b).collections[0], [300]))
    mixed = b.assign(log_error=b.log_error.roll(replication=1))
    assert paired < np.diff(edges(feint.plot.compare(a, mixed).collections[0], [300]))


def test_shares_noticed_are_counted_and_the_band_is_simultaneous():
    data = made_up(3, 40)
    axes = feint.plot.detection_curves(data)
    times, shares = axes.get_lines()[0].get_data()
    alarms = data.detection_time.values
    assert np.isnan(alarms).any()
    np.testing.assert_array_equal(shares, [np.mean(alarms <= t) for t in times])
    assert set(alarms[~np.isnan(alarms)]) <= set(times)
    half = math.sqrt(math.log(40) / 80)
    low, high = np.array(edges(axes.collections[0], [times[-1]]))[0]
    assert high == pytest.approx(min(1, shares[-1] + half))
    y = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert y.min() == 0.0
    assert y.max() == pytest.approx(min(1, shares[-1] + half))
    assert low == pytest.approx(max(0, shares[-2] - half), abs=0.03)
    assert crowded(axes.figure) == []
    with pytest.raises(ValueError, match="observe=True"):
        feint.plot.detection_curves(data.drop_vars("detection_time"))


def test_shares_of_boosts_stand_beside_the_best_ones():
    data = made_up(4)
    axes = feint.plot.allocation({"mine": data})
    boosts = data.boosts.values[:, -1].astype(float)
    shares = boosts / boosts.sum(1, keepdims=True)
    np.testing.assert_allclose([bar.get_height() for bar in axes.patches], np.median(shares, 0), rtol=1e-12)
    intervals, best = axes.collections
    drawn = [segment[:, 1] for segment in intervals.get_segments()]
    np.testing.assert_allclose(drawn, [sign_interval(shares[:, arm]) for arm in range(4)], rtol=1e-12)
    # w* of the paper's instance, to the digits that the paper's Equation 9 gives with mpmath (tests/theory)
    np.testing.assert_allclose([line[0, 1] for line in best.get_segments()], [0, 0.3692, 0.5623, 0.0685], atol=5e-5)
    assert crowded(axes.figure) == []


def test_a_sweep_has_a_curve_for_every_cell(tmp_path):
    sweep = feint.Sweep(
        bandits={"paper": PAPER},
        explorers={"two": feint.TopTwo(), "turn": feint.RoundRobin([1, 2, 3])},
        epsilons=[0.01, 0.1],
        horizon=100,
        replications=7,
        method="eager",
    )
    data = sweep.run(tmp_path / "sweep.zarr")
    axes = feint.plot.error_curves(data)
    labels = [f"{name}, ε = {e}" for name in ("two", "turn") for e in ("0.01", "0.1")]
    assert [line.get_label() for line in axes.get_lines()] == labels
    cell = data.sel(bandit="paper", explorer="turn", reference=data.reference.values[0], epsilon=0.1)
    expected = np.median(cell.log_error.values, 0) / np.log(10)
    np.testing.assert_allclose(axes.get_lines()[3].get_ydata(), expected, rtol=1e-12)
    with pytest.raises(ValueError, match=r"differ in explorer too.*sel\(explorer"):
        feint.plot.error_curves(data, by="epsilon")
    one = feint.plot.error_curves(data.sel(explorer="two"), by="epsilon")
    assert [line.get_label() for line in one.get_lines()] == ["ε = 0.01", "ε = 0.1"]
    assert len(feint.plot.allocation(data.sel(epsilon=0.1)).patches) == 8
    pair = feint.plot.compare(data.sel(explorer="two", epsilon=0.1), data.sel(explorer="turn", epsilon=0.1))
    assert len(pair.get_lines()[0].get_xdata()) == data.sizes["time"]


def test_axes_go_in_and_come_out():
    _, given = plt.subplots()
    for draw in (feint.plot.error_curves, feint.plot.detection_curves, feint.plot.allocation):
        assert draw(made_up(1), ax=given) is given
    assert feint.plot.compare(made_up(1), made_up(2), ax=given) is given
    assert plt.get_fignums() == [given.figure.number]


@pytest.mark.parametrize("runs", [3, {"a": 3}, {}, xr.Dataset({"x": ("time", [1.0])})])
def test_what_is_not_runs_is_refused(runs):
    with pytest.raises(ValueError, match=r"simulate|nothing to draw"):
        feint.plot.error_curves(runs)
    with pytest.raises(ValueError, match="by names 'colour'"):
        feint.plot.error_curves(made_up(1), by="colour")
