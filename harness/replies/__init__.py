"""From a model's raw reply to its files, or to one error that lists what the reply holds: no line of it is ever run.

`text` decodes the bytes, opens what `envelopes` finds in JSON, and cuts the reasoning. `blocks` finds the code blocks of
the Markdown, `names` finds what each is called. `versions` takes the last complete version of each file, with the changes
that `patches` applies, and `entry` picks the file that defines the contract. `reader` calls them in this order.

Code, names and marks decide; words of a human language decide nothing. Where two readings are left, none is taken: the
error says which blocks there are, and its reader chooses with `--take`.
"""
