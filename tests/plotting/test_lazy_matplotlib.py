"""The plotting library is an extra, loaded when something is drawn."""

import subprocess
import sys


def test_matplotlib_is_loaded_by_plot_only():
    code = (
        "import sys, halfmoon.plotting; assert 'matplotlib' not in sys.modules; sys.modules['matplotlib'] = None\n"
        "try: halfmoon.plotting.LabelCurveDisplay([dict(method='a', n_labeled=1, error=0)]).plot()\n"
        "except ImportError as error: print(error)"
    )
    result = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.startswith("Figures need matplotlib")
    assert "pip install 'halfmoon[plot]'" in result.stdout
