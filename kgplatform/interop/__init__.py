"""Doors into other libraries, each loaded by that library's own name for it or by import."""
