"""Mutation testing: small changes of the code, each of which the tests near it must notice.

Run ``python -m reliability.mutants --help``. It is a runner of our own because one mutant costs a fork here, while
the usual tools start Python, numba and scipy anew for each, and does not need anything installed.
"""
