"""What tests look for in a figure, and the kernel that they share."""

from matplotlib.collections import PathCollection

from halfmoon import DataDependentKernel

KERNEL = DataDependentKernel(n_neighbors=8, n_landmarks=20, graph_params={"connect": True}, random_state=0)


def legend_names(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def scatters(display):
    return [artist for artist in display.ax_.collections if type(artist) is PathCollection]
