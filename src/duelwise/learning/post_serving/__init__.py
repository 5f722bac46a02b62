"""φ̂, the learned map from what is known before serving to what is known after."""

from __future__ import annotations

from duelwise.errors import check_known
from duelwise.learning.post_serving.best_of import BestOf
from duelwise.learning.post_serving.fourier import Fourier
from duelwise.learning.post_serving.kernel_model import KernelModel
from duelwise.learning.post_serving.model import PostServing, PostServingModel
from duelwise.learning.post_serving.neighbours import Neighbours
from duelwise.learning.post_serving.neural import Neural
from duelwise.learning.post_serving.none import NoPostServing
from duelwise.learning.post_serving.ridge import Ridge
from duelwise.learning.post_serving.spline import Spline
from duelwise.learning.post_serving.wrapped import SklearnModel

__all__ = [
    "POST_SERVING",
    "BestOf",
    "Fourier",
    "KernelModel",
    "Neighbours",
    "Neural",
    "NoPostServing",
    "PostServing",
    "PostServingModel",
    "Ridge",
    "SklearnModel",
    "Spline",
    "post_serving",
]

POST_SERVING: dict[str, PostServing] = {
    "none": NoPostServing(),
    "ridge": Ridge(),
    "spline": Spline(),
    "fourier": Fourier(),
    "knn": Neighbours(),
    "mlp": Neural(),
    "mlp-replay": Neural(replay=256),
}


def post_serving(name: str) -> PostServing:
    """The configuration of that name, with default settings."""
    check_known("post-serving model", name, POST_SERVING)
    return POST_SERVING[name]
