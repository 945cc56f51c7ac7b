"""Matches between USI engines: who meets whom, the referee, the statistics and the report."""
