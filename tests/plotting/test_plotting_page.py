"""The calls on the page of the plots run."""

import re
import warnings
from pathlib import Path

from matplotlib import pyplot as plt

from halfmoon.exceptions import DisconnectedGraphWarning

PAGE = Path(__file__).parents[2] / "docs" / "plotting.md"


def test_every_call_draws():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedGraphWarning)  # of a part of the digits
        exec("\n".join(blocks), {})
    assert len(plt.get_fignums()) == len(blocks) - 1  # two spectra share axes, and the first block draws nothing
