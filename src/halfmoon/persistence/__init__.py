"""Model files: save and load without pickle."""

from halfmoon.persistence._files import FORMAT_VERSION, load, save

__all__ = ["FORMAT_VERSION", "load", "save"]
