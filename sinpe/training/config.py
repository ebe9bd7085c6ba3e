"""What decides a run, frozen."""

from dataclasses import dataclass

from sinpe.positions.base import check_positive, check_positive_or_zero, check_size
from sinpe.tasks import build_task
from sinpe.training import measures, treatments
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
    table_rate, output_rate, rest_rate: multiples of the learning rate for the embedding matrix, for
        an output matrix of its own, and for all other weights; 0 freezes. A tied matrix has one
        rate, table_rate: frozen, it is frozen as the output too.
    optimizer: "adamw", with betas 0.9 and 0.98 and no weight decay, or "sgd", with momentum 0.9.
        clip: the largest norm of the gradient of all weights that move; None does not clip.
    treatment, treatment_options: what a study does to the run besides, see treatments. log_every:
        steps between two entries of the log, see log.Log; 0 keeps none.
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
    table_rate: float = 1.0
    output_rate: float = 1.0
    rest_rate: float = 1.0
    optimizer: str = "adamw"
    clip: float | None = 1.0
    treatment: str = "none"
    treatment_options: tuple = ()
    log_every: int = 0

    def __post_init__(self):
        if not isinstance(self.model, TransformerConfig):
            raise ValueError(f"model must be a TransformerConfig, got {self.model!r:.100}")
        for name in ("length", "batch_size", "steps", "evaluations", "evaluation_sequences"):
            check_size(name, getattr(self, name))
        check_positive("learning_rate", self.learning_rate)
        for name in ("warmup", "seed", "log_every"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(f"{name} must be a non-negative integer, got {value!r}")
        self._check_optimization()
        for name in ("position_options", "measure_options", "treatment_options"):
            value = getattr(self, name)
            if not isinstance(value, tuple) or not all(
                isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)
                for pair in value
            ):
                raise ValueError(
                    f"{name} must be a tuple of pairs, each of a name and a value, got {value!r}"
                )
        measures.check(self)
        treatments.build_treatment(self)
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

    def _check_optimization(self):
        rates = {name: getattr(self, name) for name in ("table_rate", "output_rate", "rest_rate")}
        for name, value in rates.items():
            check_positive_or_zero(name, value)
        if self.model.tied:
            if self.output_rate != 1:
                raise ValueError(
                    "output_rate must be 1 where the output matrix is the embedding matrix"
                    f" (tied=True), got {self.output_rate!r}"
                )
            del rates["output_rate"]
        if not any(rates.values()):
            raise ValueError(f"one of {', '.join(rates)} must be above 0, got {rates}")
        if self.optimizer not in ("adamw", "sgd"):
            raise ValueError(f"optimizer must be 'adamw' or 'sgd', got {self.optimizer!r}")
        if self.clip is not None:
            check_positive("clip", self.clip)
