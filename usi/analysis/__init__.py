"""Analysis of whole games: the thinking, the judging of moves, the threat check, and the reports."""
