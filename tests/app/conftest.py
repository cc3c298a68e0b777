"""Start a server of the page as a user does."""

import os
import re
import subprocess
import sys
import time

import pytest

from cases import HANGS


@pytest.fixture(scope="session")
def url(tmp_path_factory):
    """Yield the server's address; its warnings, such as unclosed files, are errors."""
    said = tmp_path_factory.mktemp("server") / "stderr"
    command = [sys.executable, "-m", "feint", "app", "--no-show", "--port", "0"]
    with open(said, "w") as stderr:
        environment = {**os.environ, "PYTHONWARNINGS": "error"}
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr, env=environment)
    while not (found := re.search(r"http://127\.0\.0\.1:\d+/", said.read_text())):
        assert server.poll() is None, said.read_text()
        time.sleep(0.05)
    yield found[0]
    server.terminate()
    server.wait(HANGS)
    assert "Traceback" not in said.read_text()
