"""Figures that take long to find, remembered from run to run by whoever keeps them."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class FigureMemory:
    """This one remembers nothing."""

    def recall(self, name: str, given: Floats, make: Callable[[], Floats]) -> Floats:
        """What `make` gives.

        Args:
            name: of the figures; those of another `given` take their place.
            given: all that they depend on, the code that makes them left out.
            make: finds them, a vector.
        """
        return make()


NO_MEMORY = FigureMemory()
