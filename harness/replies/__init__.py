"""Extraction of files from a model's raw reply, which is parsed and never run.

`reader` calls the others in this order: `text`, `blocks`, `names`, `disorder`, `entry`, `versions`, `loose`.

Code, file names and markup decide, prose does not. An ambiguous reply is refused with a list of its blocks, for a
person to choose with `--take`.
"""
