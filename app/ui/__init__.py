"""What is seen and touched: widgets that receive what they show and say what is wanted."""
