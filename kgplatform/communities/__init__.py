"""Groups of things that are more closely tied to each other than to the rest: found, kept in line, and reported on."""
