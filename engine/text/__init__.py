"""What happens to text before a model sees it."""
