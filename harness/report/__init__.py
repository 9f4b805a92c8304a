"""Reports: a pure function of challenges, records and reviews."""
