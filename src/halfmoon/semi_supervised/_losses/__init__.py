"""Losses on a Gram matrix: ridge regression and the hinge loss, each with leave-one-out."""
