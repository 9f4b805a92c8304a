"""The answers have tests of their own, which are not ours."""

collect_ignore = ["answers"]
