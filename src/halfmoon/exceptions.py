"""Errors and warnings: each says what is wrong, with which values, and what to do next."""

__all__ = [
    "AccuracyWarning",
    "CheckpointError",
    "DataFileError",
    "DataNotFoundError",
    "DisconnectedGraphWarning",
    "FloatRangeError",
    "LabelWarning",
    "LandmarkWarning",
    "MemoryLimitError",
    "MissingExtraError",
    "ModelFileError",
    "NeighborWarning",
    "NotDiagonallyDominantError",
    "NotPositiveSemidefiniteError",
    "UnseenCategoryWarning",
]


class NotDiagonallyDominantError(ValueError):
    """A matrix given to an SDD solver has a row whose diagonal is below its off-diagonal sum."""


class NotPositiveSemidefiniteError(ValueError):
    """A regulariser Q has a negative eigenvalue, so h' Q h is not a (semi-)norm."""


class FloatRangeError(ArithmeticError):
    """A result lies outside of what float64 can represent, or no bound on its error can be computed there."""


class DataFileError(ValueError):
    """A data file cannot be used; the message names the file and the row or column."""


class DataNotFoundError(ValueError):
    """The data of an experiment are neither in the folder given nor to be fetched."""


class ModelFileError(ValueError):
    """A file is not a model file, is damaged, of another format, or holds what a model file must not hold."""


class CheckpointError(ValueError):
    """A folder cannot serve as the checkpoint of a run; the message says what it holds and what differs."""


class MemoryLimitError(ValueError):
    """A fit would take more memory than it may; the message says how much it takes and how to need less."""


class MissingExtraError(ImportError):
    """A package that only a part of the library needs is not installed; the message says how to install it."""


class DisconnectedGraphWarning(UserWarning):
    """The graph has several components; the message names the counts and what follows from them."""


class LabelWarning(UserWarning):
    """Labels may not mean what they say; the message names one and how to write what was meant."""


class LandmarkWarning(UserWarning):
    """The landmarks contain every labelled point (footnote 5 of the paper advises against it)."""


class NeighborWarning(UserWarning):
    """More neighbours are asked for than there are other rows; the graph then says nothing about the data."""


class AccuracyWarning(UserWarning):
    """The verified error bound is above the accuracy that was asked for."""


class UnseenCategoryWarning(UserWarning):
    """A column of text holds categories that the model was not fitted with; the message counts them and names one."""
