"""Read the commands in a page's blocks, and check that they print what the page shows."""

import re

LEFT_OUT = "…"  # stands for lines that a page leaves out, or at the end of a line for the rest of it


def commands(text):
    """Yield (command, lines shown) of a page's blocks of commands, in order."""
    for kind, block in re.findall(r"^```(console|sh)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for part in block.splitlines() if kind == "sh" else re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            yield command, shown.strip("\n").splitlines()


def assert_shown(shown, output, *, whole=False):
    """Check that the output has these lines in order, apart from lines left out; `whole`: up to its end."""
    printed = iter([line.rstrip() for line in output.strip("\n").splitlines()])
    anywhere = False
    for line in shown:
        if line == LEFT_OUT:
            anywhere = True
        elif line.endswith(LEFT_OUT):
            assert next(printed).startswith(line.removesuffix(LEFT_OUT))
        elif anywhere:
            assert line in printed, f"{line!r} is not printed, or not in this place:\n{output}"
            anywhere = False
        else:
            assert next(printed) == line
    if whole and not anywhere:
        assert list(printed) == []
