"""The commands that README.md shows, typed: what they print is what it says."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_console_blocks_show_what_is_printed(tmp_path):
    blocks = re.findall(r"```console\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    compared = 0
    for block in blocks:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            program, *arguments = shlex.split(command)
            assert program == "feint"
            result = subprocess.run(
                [sys.executable, "-m", "feint", *arguments], capture_output=True, text=True, cwd=tmp_path
            )
            assert result.stderr == ""
            if expected.strip():
                printed = "\n".join(line.rstrip() for line in result.stdout.splitlines())
                assert printed.strip("\n") == expected.strip("\n")
                compared += 1
    assert compared == 2
