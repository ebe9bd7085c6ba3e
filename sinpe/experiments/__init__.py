"""From a run's configuration to what it needs."""

from sinpe.positions import NoPosition, SinusoidalEncoding

__all__ = ["build_position"]


def build_position(config):
    """The position method that a RunConfig names, with its options: the one place where names become objects.

    "none" | "sinusoidal". Raises ValueError for any other name, or for options that the method does not take.
    """
    makers = {
        "none": lambda **options: NoPosition(**options),
        "sinusoidal": lambda **options: SinusoidalEncoding(config.model.d_model, **options),
    }
    if config.position not in makers:
        raise ValueError(f"position must be one of {', '.join(map(repr, makers))}, got {config.position!r}")
    try:
        return makers[config.position](**dict(config.position_options))
    except TypeError as error:
        raise ValueError(f"position_options {dict(config.position_options)} do not suit {config.position!r}: {error}") from None
