"""Run experiments into a folder, piece by piece, so that an interrupted run continues where it stopped.

A piece is one experiment's data, a Zarr store. It is written under a temporary name and renamed when it is complete,
so a half-written piece is never taken for a finished one. Long simulations of an unfinished piece are kept block by
block (`resumable`), so that an interrupt loses only seconds. A manifest names the settings; a folder with other
settings is refused, and so is one that feint did not make. Figures, claims and the report are made from the pieces.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from feint.experiments import choose_experiments
from feint.experiments.claims_page import write_claims
from feint.experiments.contract import Size, Tick, digest_settings, load_experiment, settings_of
from feint.experiments.findings import Finding
from feint.experiments.report import DPI, write_report
from feint.experiments.resumable import keep_blocks
from feint.support.extras import need
from feint.support.files import remove_leftovers, write_whole
from feint.version import VERSION

if TYPE_CHECKING:
    from xarray import Dataset

MANIFEST = "feint-reproduce.json"


def prepare_folder(out: Path, seed: int, size: Size, force: bool) -> None:
    """Prepare the folder for this run, or refuse it."""
    wanted = {"feint": VERSION, "seed": seed, "size": size, "settings": digest_settings(size)}
    manifest = out / MANIFEST
    for folder in (out, out / "data"):
        remove_leftovers(folder)
    if manifest.exists():
        found = json.loads(manifest.read_text())
        if found == wanted:
            return
        if not force:
            raise ValueError(f"{out} holds a run with {found}, not {wanted}; choose another `out`, or use `force`.")
        for name in ("data", "unfinished", "figures", "claims.json", "claims.md", "report.html"):
            path = out / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
    elif out.exists() and (not out.is_dir() or any(out.iterdir())) and not force:
        raise ValueError(f"{out} exists and is not a folder of feint reproduce; choose another `out`, or use `force`.")
    text = json.dumps(wanted)
    write_whole(manifest, lambda name: name.write_text(text), force=True)


def load_or_run(name: str, out: Path, seed: int, size: Size, tick: Tick) -> "Dataset":
    """Return one experiment's data: read it if it exists, otherwise run the experiment and write it whole."""
    import xarray as xr

    experiment = load_experiment(name)
    path, unfinished = out / "data" / f"{name}.zarr", out / "unfinished" / name
    if not path.exists():
        with keep_blocks(unfinished):
            data = experiment.run(settings_of(experiment, size), seed, tick)
            write_whole(path, lambda store: data.to_zarr(store, mode="w", consolidated=False))
    # Needed even now if an earlier run was killed after it had written the piece.
    shutil.rmtree(unfinished, ignore_errors=True)
    with suppress(OSError):  # interrupted simulations of others are still there
        unfinished.parent.rmdir()
    # Always read back, so that a resumed and an uninterrupted run see the same bytes.
    with xr.open_zarr(path, consolidated=False) as stored:
        loaded: Dataset = stored.load()
    return loaded


def write_figure(name: str, data: "Dataset", out: Path) -> None:
    """Draw the figure as PDF and PNG; an existing one is kept, since its data have not changed."""
    figure = load_experiment(name).plot(data)
    for suffix in ("pdf", "png"):
        path = out / "figures" / f"{name}.{suffix}"
        if not path.exists():
            # Without the date, the same data give the same bytes.
            metadata = {"CreationDate": None} if suffix == "pdf" else None
            write_whole(path, partial(figure.savefig, dpi=DPI, metadata=metadata))


def check_claims(name: str, data: "Dataset", size: Size) -> list[Finding]:
    """Return the claims about one experiment's data."""
    experiment = load_experiment(name)
    found: list[Finding] = experiment.claims(data, settings_of(experiment, size))
    return found


@contextmanager
def hide_progress(name: str, total: int) -> Iterator[Tick]:
    """Yield a function to call with progress that shows nothing."""
    yield lambda steps: None


def reproduce(
    names: list[str],
    out: Path,
    *,
    seed: int = 0,
    size: Size = "usual",
    force: bool = False,
    progress: Callable[[str, int], Any] = hide_progress,
) -> dict[str, list[Finding]]:
    """Run the named experiments (also "paper" or "all") into `out`, and return the claims by experiment."""
    chosen = choose_experiments(names)
    for library in ("matplotlib", "zarr"):
        need(library, "feint reproduce")
    prepare_folder(out, seed, size, force)
    claims = {}
    for name in chosen:
        experiment = load_experiment(name)
        with progress(name, experiment.steps(settings_of(experiment, size))) as tick:
            data = load_or_run(name, out, seed, size, tick)
        write_figure(name, data, out)
        claims[name] = check_claims(name, data, size)
    rows = {name: [claim.to_json() for claim in found] for name, found in claims.items()}
    text = json.dumps({"feint": VERSION, "seed": seed, "size": size, "claims": rows}, indent=1, ensure_ascii=False)
    write_whole(out / "claims.json", lambda name: name.write_text(text), force=True)
    write_claims(out, claims, seed=seed, size=size)
    write_report(out, claims, seed=seed, size=size)
    return claims
