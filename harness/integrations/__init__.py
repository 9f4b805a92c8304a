"""Other people's evaluation frameworks: challenges as their tasks, grades as their scores."""
