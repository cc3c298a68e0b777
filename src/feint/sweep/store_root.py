"""The root of a store: which study it holds, and the marks of the objects that no run changes.

These objects are the metadata of all arrays and the coordinates. The root also has a checksum of itself.
"""

import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from feint.sweep.checksums import DamageError, Mark, Marker
from feint.sweep.target import ROOT, Target

RECORD = "chunk_record"  # an array that every store has and no other Zarr group
_OBJECTS, _CHECKSUM = "objects", "checksum"


class Root(NamedTuple):
    """The contents of a root."""

    study: dict[str, Any]
    versions: dict[str, str]
    block: int  # replications in a block
    marker: Marker
    objects: dict[str, Mark]  # the marks of what no run changes, by key


def sealed(document: bytes, marker: Marker, objects: Mapping[str, bytes]) -> bytes:
    """Return a root with the marks of these objects and its own checksum."""
    found = json.loads(document)
    found["attributes"][_OBJECTS] = {key: marker.mark(key, data) for key, data in sorted(objects.items())}
    found["attributes"][_CHECKSUM] = _checksum(found)
    return json.dumps(found, indent=2).encode()


def read_root(target: Target) -> Root:
    """Read the root of a store; refuse what is not the store of a sweep."""
    if not target.exists():
        raise FileNotFoundError(f"{target} does not exist; write one with feint.Sweep(…).run or feint sweep.")
    data = target.get(ROOT)
    try:
        found: Any = json.loads(data or b"{}")
        attributes = found["attributes"]
        whole = attributes.pop(_CHECKSUM) == _checksum(found)
    except (ValueError, LookupError, TypeError, AttributeError):
        whole = False
    if whole:
        study, versions = attributes["study"], json.loads(attributes["versions"])
        objects = {key: (size, checksum) for key, (size, checksum) in attributes[_OBJECTS].items()}
        return Root(
            json.loads(study),
            versions,
            attributes["replications_a_block"],
            Marker(study, versions["feint"]),
            objects,
        )
    if target.get(f"{RECORD}/{ROOT}") is None:
        raise ValueError(f"{target} exists and is not a store of feint sweep; choose another name.")
    raise DamageError(str(target), ROOT, missing=data is None)


def check_objects(target: Target, root: Root) -> Iterator[DamageError]:
    """Check all objects that no run changes, and yield the damage."""
    found = target.get_many(list(root.objects))
    for key, mark in root.objects.items():
        try:
            root.marker.check(str(target), key, found.get(key), mark)
        except DamageError as error:
            yield error


def without_seal(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes without those that only guard the store."""
    return {name: value for name, value in attributes.items() if name not in (_OBJECTS, _CHECKSUM)}


def _checksum(document: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(document, sort_keys=True).encode())
