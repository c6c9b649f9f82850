"""Past one machine: documents read by many workers, other engines that follow."""
