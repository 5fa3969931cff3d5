"""A look into model files."""

import io
import zipfile


def members(path):
    """Return the parts of the archive behind the header, by name."""
    payload = path.read_bytes().split(b"\n", 1)[1]
    with zipfile.ZipFile(io.BytesIO(payload)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
