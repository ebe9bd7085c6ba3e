"""Checks for the course's exercises: each recognises the known mistakes and names them. One module
a chapter.
"""

from sinpe.exercises.adding import (
    check_added_positions,
    check_concatenation_parameters,
    check_position_part,
    check_ratio,
)
from sinpe.exercises.alibi import (
    check_alibi_bias,
    check_alibi_window,
    check_needed_score,
    check_slopes,
)
from sinpe.exercises.beyond import (
    check_axial_rotary,
    check_first_axis,
    check_grid_similarity,
    check_image_ids,
    check_timesteps,
)
from sinpe.exercises.building import (
    check_adding,
    check_module,
    check_precision,
    check_spacings,
    check_table,
)
from sinpe.exercises.comparison import (
    check_added_parameters,
    check_block_loss,
    check_judged,
)
from sinpe.exercises.derivation import (
    check_base_for,
    check_column_exponent,
    check_frequency_ladder,
    check_smallest_distance,
)
from sinpe.exercises.experiment import (
    check_choose_then_test,
    check_holm,
    check_paired_interval,
    check_separation,
    check_verdict,
    check_without_factor,
)
from sinpe.exercises.guarantees import (
    check_narrow_head,
    check_offset_share,
    check_shift_matrix,
    check_similarity,
    check_worst_offset,
)
from sinpe.exercises.last_bit import (
    check_dropped,
    check_fill_by_turning,
    check_first_missing,
    check_largest_rounding_error,
)
from sinpe.exercises.learned import (
    check_p_value,
    check_position_ids,
    check_row_counts,
    check_stretched_table,
    check_table_size,
)
from sinpe.exercises.longer import (
    check_base_for_pair,
    check_by_parts,
    check_dynamic_step,
    check_sharpening,
)
from sinpe.exercises.nothing_else import (
    check_frequencies_of,
    check_generator,
    check_has_half_step,
    check_kept_length,
)
from sinpe.exercises.order import (
    check_causal_attention,
    check_counting_head,
    check_gap,
    check_symmetries,
    check_twin,
)
from sinpe.exercises.reading import (
    check_best_of,
    check_equivalence,
    check_false_alarm,
    check_prediction,
)
from sinpe.exercises.relative import (
    check_bucket,
    check_four_terms,
    check_relative_shift,
    check_shaw_rows,
)
from sinpe.exercises.rotary import (
    check_cached_step,
    check_full_turns,
    check_half_rows,
    check_key_for,
    check_rotation,
)
from sinpe.exercises.scaling import (
    check_first_loss,
    check_repair,
    check_token_ratio,
    check_two_roots,
    check_xavier_ratio,
)
from sinpe.exercises.shape import (
    check_expected_share,
    check_offset_for,
    check_ripple,
    check_spots,
)
