"""What the data say before any label: landmarks, the restricted regulariser, interpolation (sections 2 to 4)."""

from halfmoon.geometry._averages import weighted_mean as weighted_mean  # for the packages above, as all "import X as X"
from halfmoon.geometry._geometry import Geometry
from halfmoon.geometry._interpolation import (
    interpolate,
    interpolation_masses,
    interpolation_rows,
    interpolation_rows_of_powers,
)
from halfmoon.geometry._landmarks import check_landmarks, select_landmarks
from halfmoon.geometry._restriction import (
    Restriction,
    compute_restriction,
    present_modes,
    restrict,
    restrict_further,
    restrict_powers,
    warn_about,
)
from halfmoon.geometry._stages import GeometrySettings as GeometrySettings
from halfmoon.geometry._stages import choose_landmarks as choose_landmarks
from halfmoon.geometry._stored_interpolation import StoredInterpolation as StoredInterpolation

__all__ = [
    "Geometry",
    "Restriction",
    "check_landmarks",
    "compute_restriction",
    "interpolate",
    "interpolation_masses",
    "interpolation_rows",
    "interpolation_rows_of_powers",
    "present_modes",
    "restrict",
    "restrict_further",
    "restrict_powers",
    "select_landmarks",
    "warn_about",
]
