"""The probes of `layernorm_backward`, in the groups they are written in.

The relations L01 to L24 are named in the docstrings. Every output is compared at every position, no tolerance is
fixed (see binding.py), and every relation starts from an output that is neither constant nor a copy of an input.
"""

from .probes_checks import (
    right_pairs_are_accepted,
    the_check_is_of_use_at_real_sizes,
    the_own_pair_is_consistent,
    wrong_pairs_are_rejected,
)
from .probes_cost import (
    backward_grows_linearly_with_the_rows,
    the_cache_has_few_entries,
    the_cache_holds_little_more_than_it_must,
)
from .probes_form import (
    every_shape_is_served,
    results_have_the_dtype_of_the_inputs,
    the_cache_is_enough_in_another_process,
    wrong_shapes_raise_value_error,
)
from .probes_laws import (
    beta_only_shifts_y,
    dx_follows_eps,
    gamma_counts_once_in_dx,
    gradients_add_in_dy,
    gradients_scale_with_dy,
    the_order_of_features_does_not_matter,
    x_and_eps_scale_together,
    y_follows_eps,
)
from .probes_rows import (
    a_cache_belongs_to_its_forward,
    earlier_results_stay,
    half_a_batch_gives_half_the_results,
    identical_calls_get_identical_replies,
    inputs_stay_as_they_were,
    only_the_rows_count,
    the_order_of_rows_does_not_matter,
)
from .probes_stability import (
    a_large_mean_costs_no_more_than_it_must,
    a_large_mean_costs_no_more_than_it_must_in_single,
    error_ratios_are_small,
    extreme_scales_lose_nothing,
    flat_rows_are_finite_and_right,
    one_feature_gives_beta_and_no_gradient,
)
from .probes_values import (
    dbeta_is_the_sum_of_dy,
    dx_is_right_along_one_and_xhat,
    dx_sums_to_zero,
    gradients_are_adjoint_to_the_derivative,
    gradients_match_the_oracle,
    jacobian_is_symmetric,
    y_matches_the_oracle,
)
from .speed import backward_keeps_up_with_the_reference

__all__ = [
    "a_cache_belongs_to_its_forward",
    "a_large_mean_costs_no_more_than_it_must",
    "a_large_mean_costs_no_more_than_it_must_in_single",
    "backward_grows_linearly_with_the_rows",
    "backward_keeps_up_with_the_reference",
    "beta_only_shifts_y",
    "dbeta_is_the_sum_of_dy",
    "dx_follows_eps",
    "dx_is_right_along_one_and_xhat",
    "dx_sums_to_zero",
    "earlier_results_stay",
    "error_ratios_are_small",
    "every_shape_is_served",
    "extreme_scales_lose_nothing",
    "flat_rows_are_finite_and_right",
    "gamma_counts_once_in_dx",
    "gradients_add_in_dy",
    "gradients_are_adjoint_to_the_derivative",
    "gradients_match_the_oracle",
    "gradients_scale_with_dy",
    "half_a_batch_gives_half_the_results",
    "identical_calls_get_identical_replies",
    "inputs_stay_as_they_were",
    "jacobian_is_symmetric",
    "one_feature_gives_beta_and_no_gradient",
    "only_the_rows_count",
    "results_have_the_dtype_of_the_inputs",
    "right_pairs_are_accepted",
    "the_cache_has_few_entries",
    "the_cache_holds_little_more_than_it_must",
    "the_cache_is_enough_in_another_process",
    "the_check_is_of_use_at_real_sizes",
    "the_order_of_features_does_not_matter",
    "the_order_of_rows_does_not_matter",
    "the_own_pair_is_consistent",
    "wrong_pairs_are_rejected",
    "wrong_shapes_raise_value_error",
    "x_and_eps_scale_together",
    "y_follows_eps",
    "y_matches_the_oracle",
]
