"""From a question to a checked query, from rows to an answer that cites its passages."""
