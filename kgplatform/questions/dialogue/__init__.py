"""Questions from which something is missing, and the turns in which it is supplied."""
