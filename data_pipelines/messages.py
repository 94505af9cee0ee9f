"""Messages as one line that a terminal shows as it is."""

LONGEST = 2000


def one_line(text: object) -> str:
    """Return a message with control characters escaped, and not too long."""
    line = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in str(text))
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}… ({len(line):,} characters)"
