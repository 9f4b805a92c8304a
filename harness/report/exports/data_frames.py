"""Tables of records as pandas data frames."""

from typing import TYPE_CHECKING

from harness.report.exports.data_tables import DataTable

if TYPE_CHECKING:
    import pandas


def data_frame(table: DataTable) -> "pandas.DataFrame":
    """Return the table as a data frame with its declared types, even without rows."""
    # loaded here: it takes longer to load than everything else that a command needs
    import pandas

    cells = zip(*table.rows, strict=True) if table.rows else ((),) * len(table.dtypes)
    columns = zip(table.dtypes.items(), cells, strict=True)
    return pandas.DataFrame({name: pandas.Series(list(values), dtype=dtype) for (name, dtype), values in columns})
