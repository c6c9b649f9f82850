"""Documents: reading files, cutting them into chunks, and keeping the register of what was read."""
