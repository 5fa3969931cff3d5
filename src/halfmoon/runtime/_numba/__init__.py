"""Compiled loops of what every layer uses."""
