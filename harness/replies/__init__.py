"""From a model's raw reply to its files, or to one error that lists what the reply holds: no line of it is ever run.

`text` decodes the bytes, opens what `envelopes` finds in JSON, and cuts the reasoning. `blocks` finds the code blocks
of the Markdown, `names` what each is called. `entry` picks the file that defines the contract, `versions` takes the
last complete version of each file with the changes that `patches` applies, and `disorder` refuses what is not what it
seems. `reader` calls them in this order, and `found` holds what they pass on.

Code, names and marks decide; words of a human language decide nothing. Where two readings are left, none is taken: the
error says which blocks there are, and its reader chooses with `--take`.
"""
