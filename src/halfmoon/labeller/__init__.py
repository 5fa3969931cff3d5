"""Label rows in the browser or in a notebook, and see every prediction change at once."""

from halfmoon.labeller._items import ImageArrays, ImageFiles, Items, Rows, Texts, items_of
from halfmoon.labeller._journal import Journal, JournalError
from halfmoon.labeller._label import label
from halfmoon.labeller._labels import ActionError, Labels
from halfmoon.labeller._map import lay_out
from halfmoon.labeller._open import session_of_arrays, session_of_file
from halfmoon.labeller._serve import serve
from halfmoon.labeller._session import Session

__all__ = [
    "ActionError",
    "ImageArrays",
    "ImageFiles",
    "Items",
    "Journal",
    "JournalError",
    "Labels",
    "Rows",
    "Session",
    "Texts",
    "items_of",
    "label",
    "lay_out",
    "serve",
    "session_of_arrays",
    "session_of_file",
]
