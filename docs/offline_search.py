"""Search in the built book works from a folder that is opened without a server; the book's build tries it."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path


def check(book: Path) -> None:
    """Search for "boost" as a reader of files does, in Chromium if there is one; what fails ends the build."""
    chromium = shutil.which("chromium")
    if chromium is None:
        return
    with tempfile.TemporaryDirectory() as profile:
        shown = subprocess.run(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--no-first-run", f"--user-data-dir={profile}",
             "--enable-logging=stderr", "--virtual-time-budget=8000", "--dump-dom",
             f"{(book / 'search.html').resolve().as_uri()}?q=boost"],
            capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
    found = re.search(r'<li class="kind-[^>]*><a href="notation\.html', shown.stdout)  # the sidebar links it too
    refused = re.findall(r"CONSOLE.*", shown.stderr)
    if not found or refused:
        raise RuntimeError(f"Search does not work from a folder; see {book}/search.html?q=boost. {' '.join(refused)}")
