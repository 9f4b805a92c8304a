"""Extraction of files from a model's raw reply, which is parsed and never run.

`reader` calls the others in this order. `text` decodes the bytes, unwraps JSON with `envelopes`, and cuts the
reasoning. `blocks` finds the code blocks, `names` their file names. `disorder` refuses misleading blocks. `entry` picks
the file that defines the contract. `versions` takes the last complete version of each file, with the changes that
`patches` applies. `loose` refuses nameless blocks that may belong to the submission.

Code, file names and markup decide, prose does not. An ambiguous reply is refused with a list of its blocks, for a
person to choose with `--take`.
"""
