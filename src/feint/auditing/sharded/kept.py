"""The finished shards of an audit, kept in a folder: each file is complete or absent, and all are of one audit."""

import json
from dataclasses import fields
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from feint.auditing.arms import LogArms
from feint.auditing.claim import Claim
from feint.auditing.columns import LogColumns
from feint.auditing.report import AuditReport
from feint.auditing.sharded.pieces import LogPiece
from feint.auditing.sharded.shard import ShardResult
from feint.support.files import load_state, save_state, write_whole
from feint.support.printable import short_repr
from feint.version import VERSION

MANIFEST, REPORT = "manifest.json", "report.json"
_FORMAT = 1
_ARRAYS = ("blocks", "last_rows", "log_e", "arrivals", "tested", "group_log_e")


class KeptShards:
    """A folder with the shards that are done. A file that is damaged counts as missing, and is made again."""

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder = folder
        path = folder / MANIFEST
        if path.exists():
            _check_same(folder, load_state(path), manifest)
            return
        if folder.exists() and any(not entry.name.startswith(".") for entry in folder.iterdir()):
            raise ValueError(f"{folder} has something other than shards of an audit; give another folder (`out`).")
        folder.mkdir(parents=True, exist_ok=True)
        save_state(manifest, path)

    def get(self, shard: int) -> ShardResult | None:
        """Return a shard that is done; None if it is not."""
        try:
            with open(self._path(shard), "rb") as file, np.load(file, allow_pickle=False) as kept:
                facts = json.loads(bytes(kept["facts"]))
                arrays = {name: kept[name] for name in _ARRAYS}
        except Exception:  # zipfile, NumPy and JSON each have their own errors for damaged data
            return None
        return ShardResult(shard, facts["facts"], labels=facts["labels"], **arrays)

    def put(self, result: ShardResult) -> None:
        """Keep a shard."""
        text = json.dumps({"facts": result.facts, "labels": result.labels}, allow_nan=False)
        facts = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)
        arrays: dict[str, Any] = {name: getattr(result, name) for name in _ARRAYS}

        def write(path: Path) -> None:
            with open(path, "wb") as file:
                np.savez(file, facts=facts, **arrays)

        write_whole(self._path(result.shard), write, force=True)

    def put_report(self, report: AuditReport) -> None:
        """Keep the report beside the shards."""
        save_state(report.to_json(), self.folder / REPORT, force=True)

    def _path(self, shard: int) -> Path:
        return self.folder / f"shard-{shard:05}.npz"


def describe_audit(claim: Claim, columns: LogColumns, arms: LogArms, pieces: list[LogPiece]) -> dict[str, Any]:
    """Return all that identifies an audit and its log, as plain JSON types. A log is identified by the names, sizes and
    times of its files.
    """
    said = {f.name: short_repr(getattr(claim, f.name)) for f in fields(claim)}
    files = []
    for piece in pieces:
        status = piece.place.path.stat()
        groups = None if piece.row_groups is None else list(piece.row_groups)
        files.append([piece.place.name, piece.place.inside, status.st_size, getattr(status, "st_mtime_ns", 0), groups])
    digest = blake2b(json.dumps(files).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    log = {"pieces": len(files), "first": files[0][0], "digest": digest}
    return {
        "feint_shards": _FORMAT,
        "feint": VERSION,
        "claim": said | {"columns": columns.used(), "tested": columns.mode, "arms": arms.names()},
        "log": log,
    }


def _check_same(folder: Path, found: Any, manifest: dict[str, Any]) -> None:
    """Refuse the shards of another audit, and say how it differs."""
    kept = found if isinstance(found, dict) else {}
    mine, its = manifest["claim"], kept.get("claim")
    its = its if isinstance(its, dict) else {}
    differing = [f"its {name} is {its.get(name)!r}, not {mine[name]!r}" for name in mine if its.get(name) != mine[name]]
    if kept.get("log") != manifest["log"]:
        differing.append("its log is another one, or has changed")
    if any(kept.get(name) != manifest[name] for name in ("feint_shards", "feint")):
        differing.append("another version of feint wrote it")
    if differing:
        raise ValueError(f"{folder} has shards of another audit: {differing[0]}; give another folder (`out`).")
