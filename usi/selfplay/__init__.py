"""Self-play for training data: games on every core, kept in one growing file."""
