"""Commands for the workspace: create, list, import and remove what it holds; check the machine."""
