"""Small damages to valid input, drawn from a seeded generator."""

import random
from collections.abc import Sequence

NUMBERS = (b"0", b"-1", b"1", b"9" * 19, b"1e309", b"nan", b"inf", b"-0", b"1.5", b"18446744073709551616", b"007", b"")
BYTES = (
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\r\n",
    b"\n",
    b"\r",
    b"\t",
    b'"',
    b"'",
    b"\\",
    b"\xc3\xa9",
    b"\xe2\x80\xa8",
    b"\x1b[2J",
)


def damaged(draw: random.Random, content: bytes, tokens: Sequence[bytes] = (), max_damages: int = 4) -> bytes:
    """Return the content with one to `max_damages` damages."""
    result = bytearray(content)
    for _ in range(draw.randint(1, max_damages)):
        _damage(draw, result, tokens)
    return bytes(result)


def _damage(draw: random.Random, content: bytearray, tokens: Sequence[bytes]) -> None:
    start = draw.randint(0, len(content))
    stop = min(len(content), start + draw.choice((0, 1, 1, 2, 5, 20)))
    kind = draw.randrange(7)
    if kind == 0 and start < len(content):
        content[start] ^= 1 << draw.randrange(8)
    elif kind == 1:
        del content[start:stop]
    elif kind == 2:
        content[start:start] = content[start:stop] * draw.choice((1, 1, 2, 50))
    elif kind == 3:
        content[start:stop] = draw.choice((*NUMBERS, *BYTES))
    elif kind == 4:
        content[start:stop] = draw.choice(tokens or BYTES)
    elif kind == 5:
        content[start:stop] = draw.randbytes(draw.randint(1, 8))
    elif draw.random() < 0.3:
        del content[start:]
