"""What commands say on stderr."""


def notes(result):
    """Return the notes, without the lines on progress."""
    return [line for line in result.stderr.splitlines() if line.startswith("note: ")]
