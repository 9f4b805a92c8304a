"""Conversion of outside material into submissions; see `Importer`."""
