"""What was written, in order: patches, the journals that keep them, and who reads them."""
