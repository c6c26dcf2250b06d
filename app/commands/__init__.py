"""What the studio does in a terminal."""
