"""From what people have to submissions; see `Importer`."""
