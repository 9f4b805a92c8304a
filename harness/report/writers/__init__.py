"""Records, attempts and the board for readers: on a terminal, as Markdown and as a picture."""
