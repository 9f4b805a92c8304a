"""Commands that read records: print, compare, publish, export and sign."""
