"""One grade as a list of stages: job, stages, retries, replay."""
