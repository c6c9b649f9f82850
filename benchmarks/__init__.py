"""Times that are promised, measured on this machine and beside a peer."""
