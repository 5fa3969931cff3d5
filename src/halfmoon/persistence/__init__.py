"""Model files: save and load without pickle."""

from halfmoon.persistence._files import FORMAT_VERSION, is_model_file, load, save

__all__ = ["FORMAT_VERSION", "is_model_file", "load", "save"]
