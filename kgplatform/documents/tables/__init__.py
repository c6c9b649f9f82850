"""Tables of every kind, read row by row: CSV, TSV, JSON, spreadsheets, Parquet, SQLite."""
