"""How a store is laid out: one Zarr group, with one chunk per variable and block of replications of a cell.

The layout depends on the study alone, not on the machine or the moment. So every run of a study, interrupted or not,
here or on a cluster, leaves the same bytes. Chunks are encoded in memory and written as whole objects: no chunk is
read, changed and written back, and its size is known.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from feint.simulation.dataset import about
from feint.support.extras import need
from feint.sweep.axes import AXES, CellIndex
from feint.sweep.checksums import Marker
from feint.sweep.store_coordinates import make_coordinates
from feint.sweep.store_root import RECORD, sealed
from feint.sweep.study import Study
from feint.sweep.target import ROOT
from feint.version import VERSION

FAILURE = "failure"
FAILED = -1  # recorded instead of a chunk's size
_BLOCK_SECONDS = 1.0
# Rough seconds per step of four arms: in plain Python, where every step is evaluated (also where one choice in Python
# serves all replications), and where most are not. The size of a block must not depend on a measurement, which would
# differ from run to run.
_PLAIN_STEP, _SLOW_STEP, _STEP = 2e-4, 1e-5, 1e-6
TOGETHER = 100  # replications in a block, at least, where one choice in Python serves all of them
_MOST_BYTES = 2**24  # of a chunk, before it is compressed
_RECORDS_PER_CHUNK = 2**14  # numbers, rewritten with every task
_FAILURES_PER_CHUNK = 2**10
_ZSTD: dict[str, Any] = {"level": 1, "checksum": True}
_MOST_RUNS, _MOST_BLOCKS = 10**8, 10**7


def block_size(study: Study) -> int:
    """Return the number of replications in a block: about a second of the slowest cells."""
    options = study.options
    one_by_one, together = (study.plain & ~study.together).any(), study.together.any()
    step = _PLAIN_STEP if one_by_one else _SLOW_STEP if options["observe"] or together else _STEP
    seconds = options["horizon"] * step * max(1.0, study.most_arms / 4)
    fits = _MOST_BYTES // (8 * study.times.size * study.most_arms)
    least = TOGETHER if together and not one_by_one else 1
    return max(1, min(study.replications, max(least, int(_BLOCK_SECONDS / seconds)), fits))


class StoreLayout:
    """A study's Zarr group in memory: its metadata and coordinates, and the encoder of its chunks."""

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
        """Create an array that has no chunks yet."""
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
        """Return the chunks of one block by key; `values` (replications of the block, …) have their bandit's arms."""
        return {self.key_of(name, (*index, number)): _encoded(self._whole(name, values)) for name in self.variables}

    def key_of(self, name: str, place: tuple[int, ...]) -> str:
        """Return the key of a variable's chunk; `place` is the cell and the number of its block."""
        dimensions, _ = self.variables[name]
        return chunk_key(name, place + (0,) * (len(dimensions) - 1))

    def _whole(self, name: str, values: dict[str, NDArray[Any]]) -> NDArray[Any]:
        """Return a chunk of a variable, padded where there are fewer arms, or fewer replications in the last block."""
        inner, sort = self.variables[name]
        chunk = np.full(
            (self.block, *(self.sizes[d] for d in inner[1:])),
            -1 if sort is int else math.nan,
            dtype="<i8" if sort is int else "<f8",
        )
        # There is no gain if the cell's explorer boosts, while another one of the study tilts.
        found = values.get(name) if name == "private_gain" else values[name]
        if found is not None:
            chunk[tuple(slice(n) for n in found.shape)] = found
        return chunk

    def encode_records(self, records: NDArray[np.int64], index: CellIndex) -> dict[str, bytes]:
        """Return the chunk of the records that holds a cell."""
        return self._encode_around(RECORD, records, index)

    def encode_all_records(self, records: NDArray[np.int64]) -> dict[str, bytes]:
        """Return all chunks of the records."""
        self._arrays[RECORD][...] = records
        return self._taken()

    def encode_failures(self, failures: NDArray[Any], index: CellIndex) -> dict[str, bytes]:
        """Return the chunk of the failures that holds a cell; nothing if the chunk has no failure."""
        return self._encode_around(FAILURE, failures, index)

    def _encode_around(self, name: str, values: NDArray[Any], index: CellIndex) -> dict[str, bytes]:
        chunks = self._arrays[name].chunks
        where = tuple(slice(i // c * c, i // c * c + c) for i, c in zip(index, chunks, strict=False))
        self._arrays[name][where] = values[where]
        return self._taken()

    def key_around(self, name: str, index: CellIndex) -> str:
        """Return the key of the chunk that holds a cell, in an array over cells."""
        places = (i // c for i, c in zip(index, self._arrays[name].chunks, strict=True))
        return chunk_key(name, places)

    def _taken(self) -> dict[str, bytes]:
        """Return what has been encoded, and remove it from memory."""
        keys = [key for key in self._objects if key not in self.fixed]
        return {key: self._objects.pop(key).to_bytes() for key in keys}

    def chunk_keys(self, name: str) -> dict[str, tuple[slice, ...]]:
        """Return the positions of an array's chunks by key."""
        return dict(chunk_places(self._arrays[name], name))

    def decode(self, name: str, key: str, where: tuple[slice, ...], data: bytes) -> NDArray[Any] | None:
        """Return the values of one chunk; None if it is damaged."""
        from zarr.core.buffer import default_buffer_prototype

        self._objects[key] = default_buffer_prototype().buffer.from_bytes(data)
        try:
            return cast("NDArray[Any]", self._arrays[name][where])
        except Exception:  # whatever the codecs raise
            return None
        finally:
            del self._objects[key]


def _encoded(chunk: NDArray[Any]) -> bytes:
    """Encode a chunk with the codec that `_create` names. Through Zarr it would take 0.4 ms longer: with fifty chunks
    in a task of one second, the client of fifty workers would do nothing else.
    """
    from numcodecs import Zstd

    return bytes(Zstd(**_ZSTD).encode(chunk))


def chunk_places(array: Any, name: str) -> Iterator[tuple[str, tuple[slice, ...]]]:
    """Yield the key of every chunk of an array, and its position."""
    counts = [-(-n // c) for n, c in zip(array.shape, array.chunks, strict=True)]
    for place in np.ndindex(*counts):
        where = tuple(slice(i * c, i * c + c) for i, c in zip(place, array.chunks, strict=True))
        yield chunk_key(name, place), where


def chunk_key(name: str, place: Iterable[int]) -> str:
    """Return the key of a chunk by its place among the chunks of an array."""
    return f"{name}/c." + ".".join(map(str, place))


def _check_size(study: Study, n_blocks: int) -> None:
    """Refuse a study that is too large: the labels of all runs and the record of all chunks must fit into memory."""
    cells = math.prod(study.shape)
    if cells * study.replications > _MOST_RUNS or cells * n_blocks > _MOST_BLOCKS:
        raise ValueError(
            f"replications is {study.replications:,}, which makes {cells * study.replications:,} runs in {cells:,} "
            f"cells and {cells * n_blocks:,} blocks; a store holds at most {_MOST_RUNS:,} runs and {_MOST_BLOCKS:,} "
            "blocks. Give fewer, or divide them among studies with different seeds."
        )


def _grouped(shape: tuple[int, ...], most: int) -> tuple[int, ...]:
    """Return the shape of chunks of at most `most` entries, with as many whole trailing dimensions as fit."""
    chunks: list[int] = []
    for n in reversed(shape):
        chunks.insert(0, max(1, min(n, most // math.prod(chunks))))
    return tuple(chunks)
