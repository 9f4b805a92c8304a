"""Workers and commands in the sandbox: how they start, what they are asked, what they reply."""
