"""The dtypes without which an answer that serves only one is judged."""

from harness.probing.conditions import missing_dtypes

CONDITIONS = missing_dtypes()
