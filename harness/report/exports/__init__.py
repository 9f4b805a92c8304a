"""Records for other programs: data tables, data frames, JSON Lines, CSV, Parquet, JUnit and SARIF."""
