"""What faces the outside: the USI protocol, both ends, and the command `narikin`."""

__version__ = "0.1.0"
