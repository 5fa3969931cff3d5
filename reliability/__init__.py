"""A programme that tries to break the library, and writes down what was tried, how often and what happened.

Run ``python -m reliability --help``. Each part is a table: a row more in a table is tried by all that use it.
"""
