"""How well the platform does: metrics with their formulas, intervals and paired tests, and runs over gold questions."""
