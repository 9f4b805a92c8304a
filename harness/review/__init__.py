"""Reviews: marks by people, models and published pages for criteria that cannot be executed."""

from harness.review.files import read_reviews, reviews_of

__all__ = ["read_reviews", "reviews_of"]
