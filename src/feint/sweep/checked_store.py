"""A Zarr store for reading: it returns only chunks that match the record of a sweep, and names those that do not."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from zarr.abc.store import Store
from zarr.storage import WrapperStore

from feint.sweep.checksums import DamageError
from feint.sweep.store_layout import FAILURE, chunk_places
from feint.sweep.store_root import RECORD, Root
from feint.sweep.target import ROOT, Target

if TYPE_CHECKING:
    from zarr.abc.store import ByteRequest
    from zarr.core.buffer import Buffer, BufferPrototype


class CheckedStore(WrapperStore[Store]):
    """A wrapper of a sweep's Zarr store; `records` has the marks of all chunks by (bandit, explorer, reference,
    epsilon, block, variable).
    """

    def __init__(self, store: Store, place: str, root: Root, variables: list[str], records: NDArray[np.int64]) -> None:
        super().__init__(store)
        self._place, self._root, self._variables, self._records = place, root, variables, records

    def _with_store(self, store: Store) -> "CheckedStore":
        return type(self)(store, self._place, self._root, self._variables, self._records)

    async def get(
        self, key: str, prototype: "BufferPrototype", byte_range: "ByteRequest | None" = None
    ) -> "Buffer | None":
        """Read an object; refuse it if it is not the one that was recorded, and return None if none was recorded."""
        name, _, place = key.partition("/c.")
        if key == ROOT or name in (RECORD, FAILURE):  # checked when the store was opened
            return await self._store.get(key, prototype, byte_range)
        mark = self._root.objects.get(key)
        if name in self._variables and place:
            size, checksum = self._records[(*map(int, place.split(".")[:5]), self._variables.index(name))].tolist()
            mark = (size, checksum) if size > 0 else None
        if mark is None:
            return None
        found = await self._store.get(key, prototype)
        self._root.marker.check(self._place, key, None if found is None else found.to_bytes(), mark)
        return found


def read_array(array: Any, name: str, target: Target, *, full: bool) -> NDArray[Any]:
    """Read an array without marks chunk by chunk, so that a damaged chunk can be named; also a missing one, if the
    array is `full`.
    """
    values = np.empty(array.shape, dtype=array.dtype if array.dtype.kind == "i" else object)
    for key, where in chunk_places(array, name):
        if full and target.get(key) is None:
            raise DamageError(str(target), key, missing=True)
        try:
            values[where] = array[where]
        except Exception:  # whatever the codecs raise
            raise DamageError(str(target), key, missing=False) from None
    return values
