"""Reviews: marks by people, models and published pages for unmeasurable criteria."""

from harness.review.files import read_reviews, reviews_of

__all__ = ["read_reviews", "reviews_of"]
