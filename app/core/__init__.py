"""What the studio knows without Qt: paths, models, settings."""
