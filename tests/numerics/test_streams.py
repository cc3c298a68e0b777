"""Philox agrees with its published vectors and with NumPy; draws have their layout and their laws."""

import math

import numpy as np
import pytest
from scipy import stats

from feint.numerics import RandomStream, streams
from feint.numerics._jit import kernel


@kernel
def words(c0, c1, c2, c3, k0, k1):
    return streams.philox(c0, c1, c2, c3, k0, k1)


def philox(counter, key):
    return [int(w) for w in words(*(np.uint64(x) for x in (*counter, *key)))]


ALL_ONES = 2**64 - 1


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [  # the known-answer file of Random123, "philox4x64 10"
        (
            (0, 0, 0, 0),
            (0, 0),
            (0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B),
        ),
        (
            (ALL_ONES,) * 4,
            (ALL_ONES,) * 2,
            (0x87B092C3013FE90B, 0x438C3C67BE8D0224, 0x9CC7D7C69CD777B6, 0xA09CAEBF594F0BA0),
        ),
        (
            (0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89),
            (0x452821E638D01377, 0xBE5466CF34E90C6C),
            (0xA528F45403E61D95, 0x38C72DBD566E9788, 0xA5A1610E72FD18B5, 0x57BD43B5E52B7FE6),
        ),
    ],
)
def test_known_answers(counter, key, expected):
    assert philox(counter, key) == list(expected)


def test_numpy_generates_the_same_words():
    for counter, key in [((0, 0, 0, 0), (0, 0)), ((41, 1, 2, 3), (7, 9)), ((5, 0, 0, 0), (2**63, 12345))]:
        generator = np.random.Philox(counter=list(counter), key=list(key))
        ours = [w for step in range(1, 4) for w in philox((counter[0] + step, *counter[1:]), key)]
        assert [int(w) for w in generator.random_raw(12)] == ours  # NumPy counts up before it generates


def test_layout_of_a_step():
    """Uniforms are the midpoints of the words' top 53 bits, normals Box–Muller of the second block's."""
    uniforms, normals = RandomStream(3, 8).uniforms([17])[0], RandomStream(3, 8).normals([17])[0]
    first, second = philox((17, 0, 0, 0), (3, 8)), philox((17, 1, 0, 0), (3, 8))
    assert list(uniforms) == [((w >> 11) + 0.5) / 2**53 for w in first]
    u = [((w >> 11) + 0.5) / 2**53 for w in second]
    for pair in (0, 2):
        radius, angle = math.sqrt(-2 * math.log(u[pair])), 2 * math.pi * u[pair + 1]
        expected = [radius * math.cos(angle), radius * math.sin(angle)]
        assert normals[pair : pair + 2] == pytest.approx(expected, rel=1e-14, abs=1e-15)


def test_any_step_at_once():
    stream = RandomStream(1, 2)
    everything = stream.normals(range(1000))
    assert (stream.normals([999, 0, 500]) == everything[[999, 0, 500]]).all()
    assert stream.uniforms([2**62]).shape == (1, 4)


def test_replications_and_seeds_never_share_a_stream():
    keys = [(seed, replication) for seed in range(20) for replication in range(20)]
    draws = {tuple(RandomStream(*key).uniforms(range(3)).ravel()) for key in keys}
    assert len(draws) == len(keys)
    flat = np.array(sorted(draws)).ravel()
    assert len(np.unique(flat)) == flat.size


@pytest.mark.parametrize("column", range(4))
def test_distributions(column):
    """Each draw has its law (Kolmogorov–Smirnov at 1e-6); neighbours in time or column are uncorrelated (4.9 sds)."""
    n = 200_000
    uniforms, normals = RandomStream(11).uniforms(range(n)), RandomStream(11).normals(range(n))
    assert stats.kstest(uniforms[:, column], "uniform").pvalue > 1e-6
    assert stats.kstest(normals[:, column], "norm").pvalue > 1e-6
    for draws in (uniforms, normals):
        other = draws[:, (column + 1) % 4]
        assert abs(np.corrcoef(draws[1:, column], draws[:-1, column])[0, 1]) < 4.9 / math.sqrt(n)
        assert abs(np.corrcoef(draws[:, column], other)[0, 1]) < 4.9 / math.sqrt(n)
    assert ((uniforms > 0) & (uniforms < 1)).all()


@pytest.mark.parametrize("key", [(-1, 0), (0, -1), (2**64, 0), (0.5, 0), (True, 0), ("a", 0)])
def test_bad_keys_are_explained(key):
    with pytest.raises(ValueError, match="whole number"):
        RandomStream(*key)


@pytest.mark.parametrize("steps", [[-1], [0.5], [[1, 2]], [[1], [2, 3]], "x", [2**63]])
def test_bad_steps_are_explained(steps):
    with pytest.raises(ValueError, match="whole numbers"):
        RandomStream(0).uniforms(steps)
