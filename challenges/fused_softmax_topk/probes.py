"""The probes of `fused_softmax_topk`, in the groups they are written in.

The relations T01 to T28 are named in the docstrings. Every entry of both outputs is judged in every launch: whether it
was written, whether its index is legal, whether it was to be chosen, and how far its probability is off (judging.py).
"""

from .probes_checked import (
    every_access_is_within_bounds,
    rising_rows_are_held_within_bounds,
    threads_keep_their_order,
    unaligned_logits_are_read_within_bounds,
    what_is_watched_does_the_work,
)
from .probes_form import (
    a_k_over_the_limit_is_refused,
    a_tail_of_any_length_counts,
    an_illegal_k_is_refused,
    any_shape_is_served,
    fewer_finite_logits_than_k,
    identical_calls_get_identical_replies,
    inputs_stay_as_they_were,
    logits_need_no_alignment,
    minus_infinity_has_no_probability,
    neighbouring_floats_are_told_apart,
    real_vocabularies_are_served,
    spoilt_rows_leave_others_alone,
    ties_are_broken_somehow,
)
from .probes_limits import every_k_is_served
from .probes_rows import every_row_is_written, rows_together_equal_rows_alone, the_order_of_rows_does_not_matter
from .probes_scale import (
    a_shift_of_all_logits_changes_nothing,
    far_logits_stay_right,
    the_largest_and_smallest_floats_are_served,
)
from .probes_selection import (
    a_raised_logit_comes_in,
    every_column_can_win,
    fewer_are_the_first_of_more,
    no_logit_left_out_is_larger,
    sorted_rows_are_served,
    the_order_of_columns_does_not_matter,
    winners_at_an_end_are_all_found,
    winners_of_one_thread_are_all_found,
)
from .probes_time import it_takes_less_time_than_the_naive_way
from .probes_traffic import (
    less_is_moved_than_the_naive_way,
    little_more_than_the_outputs_is_written,
    nothing_of_the_logits_size_is_written,
    shared_memory_has_few_bank_conflicts,
    the_logits_are_read_once,
    warps_read_whole_sectors,
    work_is_put_on_the_given_stream,
)
from .probes_values import (
    a_whole_row_adds_up_to_one,
    equal_logits_share_alike,
    halves_merge_into_the_whole,
    probabilities_keep_their_proportions,
    probabilities_match_the_oracle,
    the_maximum_may_come_at_any_column,
)

__all__ = [
    "a_k_over_the_limit_is_refused",
    "a_raised_logit_comes_in",
    "a_shift_of_all_logits_changes_nothing",
    "a_tail_of_any_length_counts",
    "a_whole_row_adds_up_to_one",
    "an_illegal_k_is_refused",
    "any_shape_is_served",
    "equal_logits_share_alike",
    "every_access_is_within_bounds",
    "every_column_can_win",
    "every_k_is_served",
    "every_row_is_written",
    "far_logits_stay_right",
    "fewer_are_the_first_of_more",
    "fewer_finite_logits_than_k",
    "halves_merge_into_the_whole",
    "identical_calls_get_identical_replies",
    "inputs_stay_as_they_were",
    "it_takes_less_time_than_the_naive_way",
    "less_is_moved_than_the_naive_way",
    "little_more_than_the_outputs_is_written",
    "logits_need_no_alignment",
    "minus_infinity_has_no_probability",
    "neighbouring_floats_are_told_apart",
    "no_logit_left_out_is_larger",
    "nothing_of_the_logits_size_is_written",
    "probabilities_keep_their_proportions",
    "probabilities_match_the_oracle",
    "real_vocabularies_are_served",
    "rising_rows_are_held_within_bounds",
    "rows_together_equal_rows_alone",
    "shared_memory_has_few_bank_conflicts",
    "sorted_rows_are_served",
    "spoilt_rows_leave_others_alone",
    "the_largest_and_smallest_floats_are_served",
    "the_logits_are_read_once",
    "the_maximum_may_come_at_any_column",
    "the_order_of_columns_does_not_matter",
    "the_order_of_rows_does_not_matter",
    "threads_keep_their_order",
    "ties_are_broken_somehow",
    "unaligned_logits_are_read_within_bounds",
    "warps_read_whole_sectors",
    "what_is_watched_does_the_work",
    "winners_at_an_end_are_all_found",
    "winners_of_one_thread_are_all_found",
    "work_is_put_on_the_given_stream",
]
