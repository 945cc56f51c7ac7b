"""Opening books in YaneuraOu's text format: reading, writing, choosing a move in play, and making new ones."""
