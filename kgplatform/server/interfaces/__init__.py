"""What other programs call: the operations behind every interface, chat clients, tool protocols, and their records."""
