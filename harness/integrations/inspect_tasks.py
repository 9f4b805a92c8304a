"""Challenges as tasks of inspect_ai, with a scorer that runs the answer: https://inspect.aisi.org.uk.

A task and a scorer know nothing of the model: the prompt is the challenge's, the score is the reward of a grade in the
sandbox. Where our side fails, a sample is unscored and leaves the metrics, as inspect_ai's scoring policy asks.
"""
