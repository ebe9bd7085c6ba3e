"""What decides a run, frozen."""

from dataclasses import dataclass

from sinpe.positions.base import check_positive, check_size
from sinpe.tasks import build_task
from sinpe.training import measures
from sinpe.transformer import TransformerConfig

LARGEST = 2**60  # of whole numbers: torch takes seeds below 2^64, and gets three times one


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides a run. The learning rate warms up linearly and falls to a tenth along
    a cosine.

    position, position_options: see build_position. task: see tasks.build_task. length:
        tokens a sequence.
    evaluations: points on the validation curve after the first. evaluation_sequences: held-out
        sequences a point; the final numbers read all.
    seed: feeds separate generators for weights and batches. Evaluation data are the same for every
        seed.
    measure, measure_options: what is measured at the end, see measures.
    """

    model: TransformerConfig
    position: str = "sinusoidal"
    position_options: tuple = ()
    task: str = "next_character"
    length: int = 64
    batch_size: int = 32
    steps: int = 400
    learning_rate: float = 2e-3
    warmup: int = 40
    evaluations: int = 20
    evaluation_sequences: int = 256
    seed: int = 0
    measure: str = "held_out"
    measure_options: tuple = ()

    def __post_init__(self):
        for name in ("length", "batch_size", "steps", "evaluations", "evaluation_sequences"):
            check_size(name, getattr(self, name))
        check_positive("learning_rate", self.learning_rate)
        for name in ("warmup", "seed"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(f"{name} must be a non-negative integer, got {value!r}")
        for name in ("position_options", "measure_options"):
            value = getattr(self, name)
            if not isinstance(value, tuple) or not all(
                isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)
                for pair in value
            ):
                raise ValueError(
                    f"{name} must be a tuple of pairs, each of a name and a value, got {value!r}"
                )
        measures.check(self)
        task = build_task(self.task)
        if task.vocab_size != self.model.vocab_size:
            raise ValueError(
                f"task {self.task!r} has vocab_size={task.vocab_size}, the model has"
                f" {self.model.vocab_size}"
            )
        if task.needs_causal and not self.model.causal:
            raise ValueError(
                f"task {self.task!r} needs causal=True: a model that sees the next token only"
                " copies it"
            )
        for name, value in vars(self).items():
            if isinstance(value, int) and value > LARGEST:
                raise ValueError(f"{name} must be at most 2^60, got {value}")
