"""Reading the academic ontology's data for people who plan studies or survey a field: courses and literature."""
