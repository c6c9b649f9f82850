"""Courses and literature: what the academic ontology's data says to people who plan studies or survey a field."""
