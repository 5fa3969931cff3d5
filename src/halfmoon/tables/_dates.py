"""Dates as they are written in cells: the format of a column, and the days since 1970 that its cells become."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["DATE", "ISO", "AmbiguousDatesError", "as_days", "date_format", "date_slip", "is_date"]

DATE = "date "  # begins the kind of a column of dates; its format follows
ISO = "ISO8601"  # as pandas calls 2024-12-31, with or without a time
CLOCK = r"(?P<clock>[ T]\d{1,2}:\d{2}(?P<seconds>:\d{2})?)?"
YEAR_FIRST = r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s?(?:Z|[+-]\d{2}:?\d{2})?)?"
YEAR_FIRST_SLASHED = rf"\d{{4}}/\d{{1,2}}/\d{{1,2}}{CLOCK}"
YEAR_LAST = rf"(?P<first>\d{{1,2}})(?P<mark>[./-])(?P<second>\d{{1,2}})(?P=mark)(?P<year>\d{{4}}|\d{{2}}){CLOCK}"
NAMED_MONTH = {
    r"\d{1,2} [A-Za-z]{3} \d{4}": "%d %b %Y",
    r"\d{1,2}-[A-Za-z]{3}-\d{4}": "%d-%b-%Y",
    r"[A-Za-z]{3} \d{1,2}, \d{4}": "%b %d, %Y",
}
DAY = 86400.0  # seconds


class AmbiguousDatesError(ValueError):
    """Dates such as 01/02/2024, whose day and month nothing tells apart."""


def is_date(kind: str) -> bool:
    """Return whether the kind of a column is a date."""
    return kind.startswith(DATE)


def date_format(cells: Any, day_first: bool | None = None) -> str | None:
    """Return the one format in which all cells are dates, or None.

    Parameters
    ----------
    cells : Series of str
        Cells that are not empty.
    day_first : bool, default=None
        Whether 01/02/2024 is in February; None: what the cells say, if they do. 01.02.2024 always is.

    Examples
    --------
    >>> import pandas as pd
    >>> from halfmoon.tables._dates import date_format
    >>> date_format(pd.Series(["1.2.2024", "31.12.2024"])), date_format(pd.Series(["2024-12-31"]))
    ('%d.%m.%Y', 'ISO8601')
    """
    cells = cells.str.strip()
    start = cells.iloc[:1]
    if start.str.fullmatch(YEAR_FIRST).all():
        return _if_parsed(cells, ISO)
    if start.str.fullmatch(YEAR_FIRST_SLASHED).all():
        return _if_parsed(cells, "%Y/%m/%d" + _clock(start.str.extract(YEAR_FIRST_SLASHED).iloc[0]))
    for pattern, form in NAMED_MONTH.items():
        if start.str.fullmatch(pattern).all():
            return _if_parsed(cells, form)
    if start.str.fullmatch(YEAR_LAST).all() and cells.str.fullmatch(YEAR_LAST).all():
        return _format_of_parts(cells, cells.str.extract(YEAR_LAST), day_first)
    return None


def date_slip(cells: Any, day_first: bool | None = None) -> int | None:
    """Return the place of the first cell that is no date among cells of which more than half are dates of one format.

    Examples
    --------
    >>> import pandas as pd
    >>> from halfmoon.tables._dates import date_slip
    >>> date_slip(pd.Series(["1.2.2024", "31.12.2024", "soon"])), date_slip(pd.Series(["soon", "late"]))
    (2, None)
    """
    cells = cells.str.strip()
    patterns = (YEAR_FIRST, YEAR_FIRST_SLASHED, YEAR_LAST, *NAMED_MONTH)
    dated = cells[np.logical_or.reduce([cells.str.fullmatch(pattern) for pattern in patterns])]
    if 2 * len(dated) <= len(cells):
        return None
    firsts = dated.groupby(dated.str.replace(r"[0-9A-Za-z]+", "0", regex=True)).head(1)  # one of each look
    forms = {date_format(firsts.iloc[i : i + 1], way) for i in range(len(firsts)) for way in _ways(day_first)}
    wrong = [np.isnan(as_days(cells, DATE + form)) for form in forms if form is not None]
    fewest = min(wrong, key=np.sum, default=np.ones(len(cells), dtype=bool))
    return int(np.flatnonzero(fewest)[0]) if 0 < 2 * fewest.sum() < len(cells) else None


def _ways(day_first: bool | None) -> tuple[bool, ...]:
    return (True, False) if day_first is None else (day_first,)


def _format_of_parts(cells: Any, parts: Any, day_first: bool | None) -> str | None:
    first, second = (parts[name].astype(int) for name in ("first", "second"))
    sample = parts.iloc[0]
    if day_first is None:
        if sample["mark"] == "." or first.max() > 12:
            day_first = True
        elif second.max() > 12:
            day_first = False
        else:
            raise AmbiguousDatesError(f"{cells.iloc[0]!r} may be a day and a month or a month and a day")
    mark, year = sample["mark"], "%Y" if len(sample["year"]) == 4 else "%y"
    day_month = ("%d", "%m") if day_first else ("%m", "%d")
    return _if_parsed(cells, mark.join((*day_month, year)) + _clock(sample))


def _clock(parts: Any) -> str:
    """Return the format of the time that follows a date."""
    if not isinstance(parts["clock"], str):
        return ""
    return parts["clock"][0] + ("%H:%M:%S" if isinstance(parts["seconds"], str) else "%H:%M")


def _if_parsed(cells: Any, form: str) -> str | None:
    return None if np.isnan(as_days(cells, DATE + form)).any() else form


def as_days(column: Any, kind: str) -> NDArray[np.float64]:
    """Return days since 1970, with fractions for times; NaN for cells that are missing or no dates.

    Parameters
    ----------
    column : Series
        Dates, or texts.
    kind : str
        "date " and the format of texts.
    """
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        times = column
    else:
        texts = column.astype(object).map(_text_of, na_action="ignore")
        times = pd.to_datetime(texts, format=kind.removeprefix(DATE), errors="coerce", utc=True)
    days = (times - pd.Timestamp(0, tz=times.dt.tz)).dt.total_seconds() / DAY
    return days.to_numpy(dtype=np.float64, na_value=np.nan)


def _text_of(value: Any) -> str:
    as_iso: Callable[[], str] | None = getattr(value, "isoformat", None)  # of datetime.date
    return str(value).strip() if as_iso is None else as_iso()
