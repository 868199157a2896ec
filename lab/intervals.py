"""How sure a rate is."""

from math import sqrt

Z = 1.959964
"""Of the normal distribution, for 95 %."""


def wilson(hits: int, trials: int) -> tuple[float, float]:
    """The 95 % interval of a rate after Wilson; from 0 to 1 where nothing was tried."""
    if not trials:
        return 0.0, 1.0
    rate, z2 = hits / trials, Z * Z
    middle = (rate + z2 / (2 * trials)) / (1 + z2 / trials)
    half = Z * sqrt(rate * (1 - rate) / trials + z2 / (4 * trials * trials)) / (1 + z2 / trials)
    return round(max(0.0, middle - half), 6), round(min(1.0, middle + half), 6)
