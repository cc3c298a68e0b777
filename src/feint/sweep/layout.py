"""Where a study's numbers stand: one Zarr group, one chunk a block of replications of a cell, never shared by two.

The layout comes from the study alone, not from the machine or the moment, so that every run of a study, interrupted or
not, here or on a cluster, leaves the same bytes. Chunks are encoded in memory, and what is written are whole objects:
no chunk is read, changed and written back, and its size is known.
"""

import json
import math
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from feint.dataset import about, seed_coordinate, versions, words
from feint.kinds import config_of
from feint.sweep.study import AXES, CellIndex, Study

RECORD = "block_bytes"  # of a block: the size of its chunks, 0 where it is missing, FAILED
FAILURE = "failure"
FAILED = -1
_BLOCK_SECONDS = 1.0
# Seconds that a step of four arms takes, roughly: in plain Python, where every step is evaluated, where most are not.
# What a block holds must not depend on a measurement, which would differ from run to run.
_PLAIN_STEP, _SLOW_STEP, _STEP = 2e-4, 1e-5, 1e-6
_MOST_BYTES = 2**24  # of a chunk, before it is compressed
_RECORDS_A_CHUNK = 2**16  # written anew with every task
_FAILURES_A_CHUNK = 2**10
_LEVEL = 1  # of Zstandard


def block_size(study: Study) -> int:
    """Replications in a block: of the slowest cells, about a second's."""
    options = study.options
    step = _PLAIN_STEP if study.plain.any() else _SLOW_STEP if options["observe"] else _STEP
    seconds = options["horizon"] * step * max(1.0, study.most_arms / 4)
    fits = _MOST_BYTES // (8 * study.times.size * study.most_arms)
    return max(1, min(study.replications, int(_BLOCK_SECONDS / seconds), fits))


class Layout:
    """A study's Zarr group in memory: the metadata and coordinates, and the encoder of chunks."""

    def __init__(self, study: Study) -> None:
        import zarr
        from zarr.storage import MemoryStore

        self.study = study
        self.block = block_size(study)
        self.n_blocks = -(-study.replications // self.block)
        self.variables = study.variables()
        self.sizes = {"replication": study.replications, "time": study.times.size, "arm": study.most_arms}
        self._objects: dict[str, Any] = {}
        store = MemoryStore(self._objects)
        self.coordinates().to_zarr(store, mode="w", consolidated=False, zarr_format=3)
        group = zarr.open_group(store, mode="r+")
        self._arrays = {name: self._create(group, name) for name in (*self.variables, RECORD, FAILURE)}
        self.fixed = {key: value.to_bytes() for key, value in self._objects.items()}

    def _create(self, group: Any, name: str) -> Any:
        """An array without chunks yet."""
        from zarr.codecs import Crc32cCodec, ZstdCodec

        attributes: dict[str, Any] = about(name)
        kind: Any = "int64"
        fill: Any = 0
        shape: tuple[int, ...]
        dimensions: tuple[str, ...]
        if name == RECORD:
            shape, dimensions = (*self.study.shape, self.n_blocks), (*AXES, "block")
            chunks = _grouped(shape, _RECORDS_A_CHUNK)
            attributes = {"long_name": "size of a block's chunks; 0: missing, −1: failed", "units": "bytes"}
        elif name == FAILURE:
            shape, dimensions, kind, fill = self.study.shape, AXES, "string", ""
            chunks = _grouped(shape, _FAILURES_A_CHUNK)
            attributes = {"long_name": "why replications of the cell are missing"}
        else:
            inner, sort = self.variables[name]
            shape, dimensions = (*self.study.shape, *(self.sizes[d] for d in inner)), (*AXES, *inner)
            chunks = (1, 1, 1, 1, self.block, *shape[5:])
            kind, fill = ("int64", -1) if sort is int else ("float64", math.nan)
            attributes |= {"_FillValue": -1} if sort is int else {}  # xarray shows NaN there
        return group.create_array(
            name,
            shape=shape,
            dtype=kind,
            chunks=chunks,
            compressors=[ZstdCodec(level=_LEVEL), Crc32cCodec()],
            fill_value=fill,
            dimension_names=dimensions,
            attributes=attributes,
            chunk_key_encoding={"name": "default", "separator": "."},  # flat folders
        )

    def encode_block(self, index: CellIndex, number: int, values: dict[str, NDArray[Any]]) -> dict[str, bytes]:
        """The chunks of one block by key; `values` (replications of the block, …) have as many arms as their bandit."""
        return {
            f"{name}/c." + ".".join(map(str, (*index, number, *(0 for _ in inner[1:])))): _encoded(
                self._whole(name, values)
            )
            for name, (inner, _) in self.variables.items()
        }

    def _whole(self, name: str, values: dict[str, NDArray[Any]]) -> NDArray[Any]:
        """A chunk of a variable, filled up where there are fewer arms, or replications in the last block."""
        inner, sort = self.variables[name]
        chunk = np.full(
            (self.block, *(self.sizes[d] for d in inner[1:])),
            -1 if sort is int else math.nan,
            dtype="<i8" if sort is int else "<f8",
        )
        # Where the cell's explorer boosts and another one of the study tilts, there is no gain.
        found = values.get(name) if name == "private_gain" else values[name]
        if found is not None:
            chunk[tuple(slice(n) for n in found.shape)] = found
        return chunk

    def encode_records(self, records: NDArray[np.int64], index: CellIndex) -> dict[str, bytes]:
        """The chunk of the records in which a cell stands."""
        return self._encode_around(RECORD, records, index)

    def encode_failures(self, failures: NDArray[Any], index: CellIndex) -> dict[str, bytes]:
        """The chunk of the failures in which a cell stands; nothing if there is none in it."""
        return self._encode_around(FAILURE, failures, index)

    def _encode_around(self, name: str, values: NDArray[Any], index: CellIndex) -> dict[str, bytes]:
        chunks = self._arrays[name].chunks
        where = tuple(slice(i // c * c, i // c * c + c) for i, c in zip(index, chunks, strict=False))
        self._arrays[name][where] = values[where]
        return self._taken()

    def key_around(self, name: str, index: CellIndex) -> str:
        """Of the chunk of an array over cells in which a cell stands."""
        places = (i // c for i, c in zip(index, self._arrays[name].chunks, strict=True))
        return f"{name}/c." + ".".join(map(str, places))

    def _taken(self) -> dict[str, bytes]:
        """What has been encoded, out of the memory."""
        keys = [key for key in self._objects if key not in self.fixed]
        return {key: self._objects.pop(key).to_bytes() for key in keys}

    def chunk_keys(self, name: str) -> dict[str, tuple[slice, ...]]:
        """Where the chunks of an array stand, by key."""
        array = self._arrays[name]
        counts = [-(-n // c) for n, c in zip(array.shape, array.chunks, strict=True)]
        return {
            f"{name}/c." + ".".join(map(str, place)): tuple(
                slice(i * c, i * c + c) for i, c in zip(place, array.chunks, strict=True)
            )
            for place in np.ndindex(*counts)
        }

    def decode(self, name: str, key: str, where: tuple[slice, ...], data: bytes) -> NDArray[Any] | None:
        """The values of one chunk; None if it is damaged."""
        from zarr.core.buffer import default_buffer_prototype

        self._objects[key] = default_buffer_prototype().buffer.from_bytes(data)
        try:
            return cast("NDArray[Any]", self._arrays[name][where])
        except Exception:  # whatever the codecs make of it
            return None
        finally:
            del self._objects[key]

    def block_of(self, key: str) -> tuple[int, ...]:
        """(cell …, block) of a chunk of a variable, from the part of its key after the name."""
        return tuple(map(int, key.split(".")[1:6]))

    def coordinates(self) -> Any:
        """Labels, instances and settings, with the study's text and versions as attributes."""
        import xarray as xr

        study, axes = self.study, self.study.axes
        bandits = list(axes["bandit"].values())
        over_arms = {
            "public_mean": [bandit.public for bandit in bandits],
            "private_mean": [bandit.private for bandit in bandits],
            "public_gap": [bandit.public_gaps for bandit in bandits],
            "private_gap": [bandit.private_gaps for bandit in bandits],
        }
        families = [
            ", ".join(dict.fromkeys(words(config_of(family, "family")) for family in bandit.families))
            for bandit in bandits
        ]
        budgets = [words(config_of(budget, "budget")) for budget in axes["epsilon"].values()]
        numbers = all(not isinstance(label, str) for label in axes["epsilon"])
        data = xr.Dataset(
            coords={
                **{axis: (axis, _texts(list(axes[axis]))) for axis in AXES[:3]},
                "epsilon": ("epsilon", np.array(list(axes["epsilon"])) if numbers else _texts(list(axes["epsilon"]))),
                "budget": ("epsilon", _texts(budgets)),
                "replication": np.arange(study.replications),
                "time": study.times,
                "arm": np.arange(study.most_arms),
                **{name: (("bandit", "arm"), self._padded(rows)) for name, rows in over_arms.items()},
                "n_arms": ("bandit", [bandit.n_arms for bandit in bandits]),
                "best_public": ("bandit", [bandit.best_public for bandit in bandits]),
                "best_private": ("bandit", [bandit.best_private for bandit in bandits]),
                "family": ("bandit", _texts(families)),
                "is_arm": (("bandit", "arm"), [np.arange(study.most_arms) < bandit.n_arms for bandit in bandits]),
                "seed": seed_coordinate(study.options["seed"]),
            },
            attrs={
                "study": json.dumps(study.config()),
                "text": study.text,
                "versions": json.dumps(versions()),
                "replications_a_block": self.block,
            },
        )
        for name in data.variables:
            data[name].attrs.update(about(str(name)))
        return data

    def _padded(self, rows: list[Any]) -> NDArray[np.float64]:
        table = np.full((len(rows), self.study.most_arms), math.nan)
        for row, values in zip(table, rows, strict=True):
            row[: len(values)] = values
        return table


def _encoded(chunk: NDArray[Any]) -> bytes:
    """As the codecs of `_create` do, without the millisecond that Zarr takes for a chunk: with fifty chunks in a task
    of one second that was most of what a sweep costs.
    """
    import google_crc32c
    from numcodecs import Zstd

    data = bytes(Zstd(level=_LEVEL).encode(chunk))
    return data + int(google_crc32c.value(data)).to_bytes(4, "little")


def _texts(values: list[str]) -> NDArray[Any]:
    return np.array(values, dtype=object)  # of variable length: Zarr has no specification of fixed ones


def _grouped(shape: tuple[int, ...], most: int) -> tuple[int, ...]:
    """Chunks of about `most` entries: whole trailing dimensions as far as they fit."""
    chunks: list[int] = []
    for n in reversed(shape):
        chunks.insert(0, max(1, min(n, most // math.prod(chunks))))
    return tuple(chunks)
