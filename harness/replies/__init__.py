"""From a model's raw reply to its files, or to one error that lists what the reply holds: no line of it is ever run.

`reader` calls the others in this order. `text` decodes the bytes, opens what `envelopes` finds in JSON, and cuts the
reasoning. `blocks` finds the code blocks of the Markdown, `names` what each is called. `disorder` refuses what is not
what it seems. `entry` picks the file that defines the contract, and `versions` takes the last complete version of each
file with the changes that `patches` applies. `loose` refuses blocks without a name that may belong to the answer.
`found` holds what they pass on.

Code, names and marks decide; words of a human language decide nothing. Where two readings are left, none is taken: the
error says which blocks there are, and its reader chooses with `--take`.
"""
