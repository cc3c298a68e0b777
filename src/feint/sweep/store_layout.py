"""Where a study's numbers stand: one Zarr group, one chunk a block of replications of a cell, never shared by two.

The layout comes from the study alone, not from the machine or the moment, so that every run of a study, interrupted or
not, here or on a cluster, leaves the same bytes. Chunks are encoded in memory, and what is written are whole objects:
no chunk is read, changed and written back, and its size is known.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from feint.dataset import about
from feint.extras import need
from feint.sweep.checksums import Marker
from feint.sweep.store_coordinates import make_coordinates
from feint.sweep.store_root import RECORD, sealed
from feint.sweep.study import AXES, CellIndex, Study
from feint.sweep.target import ROOT
from feint.version import VERSION

FAILURE = "failure"
FAILED = -1  # in the place of a chunk's size
_BLOCK_SECONDS = 1.0
# Seconds that a step of four arms takes, roughly: in plain Python, where every step is evaluated, where most are not.
# What a block holds must not depend on a measurement, which would differ from run to run.
_PLAIN_STEP, _SLOW_STEP, _STEP = 2e-4, 1e-5, 1e-6
_MOST_BYTES = 2**24  # of a chunk, before it is compressed
_RECORDS_PER_CHUNK = 2**14  # numbers, written anew with every task
_FAILURES_PER_CHUNK = 2**10
_ZSTD: dict[str, Any] = {"level": 1, "checksum": True}
_MOST_RUNS, _MOST_BLOCKS = 10**8, 10**7


def block_size(study: Study) -> int:
    """Replications in a block: of the slowest cells, about a second's."""
    options = study.options
    step = _PLAIN_STEP if study.plain.any() else _SLOW_STEP if options["observe"] else _STEP
    seconds = options["horizon"] * step * max(1.0, study.most_arms / 4)
    fits = _MOST_BYTES // (8 * study.times.size * study.most_arms)
    return max(1, min(study.replications, int(_BLOCK_SECONDS / seconds), fits))


class StoreLayout:
    """A study's Zarr group in memory: the metadata and coordinates, and the encoder of chunks."""

    def __init__(self, study: Study) -> None:
        need("zarr", "A sweep")
        import zarr
        from zarr.storage import MemoryStore

        self.study = study
        self.block = block_size(study)
        self.n_blocks = -(-study.replications // self.block)
        _check_size(study, self.n_blocks)
        self.variables = study.variables()
        self.sizes = {"replication": study.replications, "time": study.times.size, "arm": study.most_arms}
        self._objects: dict[str, Any] = {}
        store = MemoryStore(self._objects)
        coordinates = make_coordinates(study, self.block)
        coordinates.to_zarr(store, mode="w", consolidated=False, zarr_format=3)
        group = zarr.open_group(store, mode="r+")
        self._arrays = {name: self._create(group, name) for name in (*self.variables, RECORD, FAILURE)}
        self.marker = Marker(coordinates.attrs["study"], VERSION)
        self.fixed = {key: value.to_bytes() for key, value in self._objects.items()}
        others = {key: data for key, data in self.fixed.items() if key != ROOT}
        self.fixed[ROOT] = sealed(self.fixed[ROOT], self.marker, others)

    def _create(self, group: Any, name: str) -> Any:
        """An array without chunks yet."""
        from zarr.codecs import ZstdCodec

        attributes: dict[str, Any] = about(name)
        kind: Any = "int64"
        fill: Any = 0
        shape: tuple[int, ...]
        dimensions: tuple[str, ...]
        if name == RECORD:
            shape = (*self.study.shape, self.n_blocks, len(self.variables), 2)
            dimensions = (*AXES, "block", "variable", "mark")
            chunks = _grouped(shape, _RECORDS_PER_CHUNK)
            attributes = {
                "long_name": "bytes of a chunk (0: missing, −1: failed) and its checksum",
                "variables": list(self.variables),
            }
        elif name == FAILURE:
            shape, dimensions, kind, fill = self.study.shape, AXES, "string", ""
            chunks = _grouped(shape, _FAILURES_PER_CHUNK)
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
            compressors=[ZstdCodec(**_ZSTD)],
            fill_value=fill,
            dimension_names=dimensions,
            attributes=attributes,
            chunk_key_encoding={"name": "default", "separator": "."},  # flat folders
            config={"write_empty_chunks": name == RECORD},
        )

    def encode_block(self, index: CellIndex, number: int, values: dict[str, NDArray[Any]]) -> dict[str, bytes]:
        """The chunks of one block by key; `values` (replications of the block, …) have as many arms as their bandit."""
        return {self.key_of(name, (*index, number)): _encoded(self._whole(name, values)) for name in self.variables}

    def key_of(self, name: str, place: tuple[int, ...]) -> str:
        """The key of a variable's chunk of a block; `place` is the block's cell and its number."""
        dimensions, _ = self.variables[name]
        return chunk_key(name, place + (0,) * (len(dimensions) - 1))

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

    def encode_all_records(self, records: NDArray[np.int64]) -> dict[str, bytes]:
        """All chunks of the records."""
        self._arrays[RECORD][...] = records
        return self._taken()

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
        return chunk_key(name, places)

    def _taken(self) -> dict[str, bytes]:
        """What has been encoded, out of the memory."""
        keys = [key for key in self._objects if key not in self.fixed]
        return {key: self._objects.pop(key).to_bytes() for key in keys}

    def chunk_keys(self, name: str) -> dict[str, tuple[slice, ...]]:
        """Where the chunks of an array stand, by key."""
        return dict(chunk_places(self._arrays[name], name))

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


def _encoded(chunk: NDArray[Any]) -> bytes:
    """Encode a chunk by the codec that `_create` names. Zarr's own way to it takes 0.4 ms more: with fifty chunks in a
    task of one second, the client of fifty workers would do nothing else.
    """
    from numcodecs import Zstd

    return bytes(Zstd(**_ZSTD).encode(chunk))


def chunk_places(array: Any, name: str) -> Iterator[tuple[str, tuple[slice, ...]]]:
    """Yield the key of every chunk of an array, and where it stands."""
    counts = [-(-n // c) for n, c in zip(array.shape, array.chunks, strict=True)]
    for place in np.ndindex(*counts):
        where = tuple(slice(i * c, i * c + c) for i, c in zip(place, array.chunks, strict=True))
        yield chunk_key(name, place), where


def chunk_key(name: str, place: Iterable[int]) -> str:
    """Return the key of a chunk by its place among the chunks of an array."""
    return f"{name}/c." + ".".join(map(str, place))


def _check_size(study: Study, n_blocks: int) -> None:
    """Refuse what no memory holds: labels of all runs, and the record of all chunks."""
    cells = math.prod(study.shape)
    if cells * study.replications > _MOST_RUNS or cells * n_blocks > _MOST_BLOCKS:
        raise ValueError(
            f"replications is {study.replications:,}, which are {cells * study.replications:,} runs in {cells:,} cells "
            f"and {cells * n_blocks:,} blocks of them; a store holds at most {_MOST_RUNS:,} runs and {_MOST_BLOCKS:,} "
            "blocks. Give fewer, or divide them among studies with different seeds."
        )


def _grouped(shape: tuple[int, ...], most: int) -> tuple[int, ...]:
    """Chunks of about `most` entries: whole trailing dimensions as far as they fit."""
    chunks: list[int] = []
    for n in reversed(shape):
        chunks.insert(0, max(1, min(n, most // math.prod(chunks))))
    return tuple(chunks)
