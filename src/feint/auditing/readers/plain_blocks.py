"""Blocks of plain lines of a CSV or TSV file, which Arrow splits straight from their bytes.

Lines are plain if they are UTF-8, are not empty, end with a line feed, and have the header's fields without quotes, as
logs of machines do.
"""

import codecs
from collections.abc import Iterator

from feint.auditing.readers.base import WORTH_ARROW, Texts
from feint.auditing.readers.stored_file import Bytes
from feint.support.extras import is_there

_FIRST_BYTES, _MOST_BYTES = 2**17, 2**24  # which must hold enough lines
_MARGIN = 0.95  # of a block that would have just as many rows as are wanted at once, if lines stay as long


def plain_blocks(
    stream: Bytes, delimiter: str, width: int, where: list[int], n_rows: int
) -> Iterator[tuple[list[Texts], int]]:
    """Yield the columns at these places of the lines below the header, at most `n_rows` at once, and their number.

    At the first lines that are not plain, what was read goes back to `stream`. If that is right at the start, or if the
    file is too short for Arrow to be worth its import, nothing is yielded and the header goes back too.
    """
    if width == 1 or n_rows * width < WORTH_ARROW or not delimiter.isascii():
        return
    held, size, header = b"", _FIRST_BYTES, True
    while True:
        held += _read_bytes(stream, size - len(held))
        whole = len(held) < size
        cut = len(held) if whole else held.rfind(b"\n") + 1
        start = held.find(b"\n") + 1 if header else 0
        block = held[start:cut]
        if header and block.count(b"\n") * width < WORTH_ARROW:
            if whole or size >= _MOST_BYTES:
                break
            size *= 2
            continue
        if header and not is_there("pyarrow"):  # which imports it
            break
        plain = not header or (b"\r" not in held[:start] and held[:start].count(b'"') % 2 == 0)  # it ends there
        found = split_block(block, delimiter, width, where) if plain and block else None
        if found is None:
            break
        n = len(found[0])
        for first in range(0, n, n_rows):
            yield [Texts(column.arrow.slice(first, n_rows)) for column in found], min(n_rows, n - first)
        header, held, size = False, held[cut:], max(1, int(_MARGIN * n_rows * len(block) / n))
    stream.give_back(held)


def _read_bytes(stream: Bytes, size: int) -> bytes:
    """Return this many bytes; fewer at the end."""
    found = []
    while size > 0 and (data := stream.read1(size)):
        found.append(data)
        size -= len(data)
    return b"".join(found)


def _is_plain_block(block: bytes) -> bool:
    if b'"' in block or b"\r" in block or b"\0" in block or b"\n\n" in block:
        return False
    if block.startswith((b"\n", codecs.BOM_UTF8)):  # Arrow turns an empty line into empty fields, and drops a mark
        return False
    try:
        return block.isascii() or bool(block.decode())
    except UnicodeDecodeError:
        return False


def split_block(block: bytes, delimiter: str, width: int, where: list[int]) -> list[Texts] | None:
    """Return the columns at these places of some lines; None unless all of them are plain."""
    import pyarrow as pa
    from pyarrow import csv

    if not _is_plain_block(block):
        return None
    names = [str(i) for i in range(width)]
    wanted = [names[i] for i in where]
    try:
        found = csv.read_csv(
            pa.py_buffer(block),
            csv.ReadOptions(use_threads=False, column_names=names, block_size=2**30),
            csv.ParseOptions(delimiter=delimiter, quote_char=False, ignore_empty_lines=False),
            csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), include_columns=wanted, strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        return None
    n = block.count(b"\n") + (not block.endswith(b"\n"))
    return [Texts(column.chunk(0)) for column in found.columns] if len(found) == n else None
