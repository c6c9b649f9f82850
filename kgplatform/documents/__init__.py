"""Documents: files read, cut into chunks, and the registry of what was read."""
