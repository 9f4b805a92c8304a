"""Who is faster, and how sure: the contest, and what makes its times vary."""
