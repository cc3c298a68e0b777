"""`feint audit --follow`: audit a log as it grows, and end at the alarm."""

import json
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from feint.cli.shared import naming_output
from feint.cli.verdicts import exit_code, saying, write_now
from feint.support.printable import printable

if TYPE_CHECKING:
    from feint.auditing import Claim
    from feint.auditing.auditor import Auditor


def check_command(text: str | None) -> list[str] | None:
    """Return the words of a command, which runs without a shell. Refuse a missing program before the audit starts."""
    if text is None:
        return None
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"--on-alarm is {text!r}, which cannot be read: {error}.") from None
    if not words or shutil.which(words[0]) is None:
        raise ValueError(
            f"--on-alarm is {text!r}, but there is no such program; give a program with its arguments. No shell runs "
            "it: for pipes and the like, write sh -c '…'."
        )
    return words


def follow_growing(log: str, claim: "Claim", state: Path | None, *, wait: bool, on_alarm: list[str] | None) -> int:
    """Print the verdict as soon as there is one, then keep the state. Return the exit code.

    The command of the alarm runs before the state is kept: if this process is killed between the two, the next one
    finds no alarm in the state and gives it again.
    """
    from feint.auditing.pipeline import follow_log, followed_state
    from feint.auditing.readers import GrowingFile, open_growing_log, standard_input
    from feint.support.files import load_state, save_state

    before = load_state(state) if state is not None and state.exists() else None
    said = rejected = isinstance(before, dict) and before.get("rejected_at") is not None
    failures: list[str] = []
    with standard_input() if log == "-" else GrowingFile(log, wait=wait) as stream:
        source = open_growing_log(stream, claim.delimiter, claim.encoding)

        def keep(auditor: "Auditor") -> None:
            if state is not None:
                with saying(failures), naming_output(state):
                    save_state(followed_state(auditor, source), state, force=True)

        for auditor in follow_log(source, claim, before, keep):
            rejected = auditor.rejected_at is not None
            if rejected and not said:
                words = f"(claim: {printable(auditor.mode.words())}; α = {auditor.alpha:g})"
                with saying(failures):
                    write_now(f"rejected at row {auditor.rejected_at:,} {words}\n")
                if on_alarm is not None:
                    with saying(failures):
                        _give_alarm(on_alarm, auditor)
            keep(auditor)
            if rejected or failures:
                break
        else:
            with saying(failures):
                write_now(f"no evidence against the claim in {auditor.rows:,} rows (α = {auditor.alpha:g})\n")
    return exit_code(rejected, failures)


def _give_alarm(command: list[str], auditor: "Auditor") -> None:
    """Run a command with the report as JSON on its standard input, and wait for it."""
    report = json.dumps(auditor.report([]).to_json(), allow_nan=False)
    try:
        ended = subprocess.run(command, input=report, text=True, encoding="utf-8", check=False).returncode
    except OSError as error:
        raise OSError(f"--on-alarm cannot be run: {error.strerror}.") from None
    if ended:
        raise ValueError(f"--on-alarm {shlex.join(command)!r} ended with exit code {ended}.")
