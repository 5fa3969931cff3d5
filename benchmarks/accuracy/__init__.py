"""Errors of halfmoon and of everyone else on the same draws: ``python -m benchmarks.accuracy``.

``data`` has the sets, ``draws`` the labelled rows; ``ours`` and ``peers`` are tables of methods, each run by a
``worker`` in an environment of its own; ``store`` keeps what was measured; ``ranks``, ``report``, ``plot`` and
``pages`` make tables and a picture of it.
"""
