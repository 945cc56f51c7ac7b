"""Moves as USI text."""

from __future__ import annotations

import pytest

from engine.rules.codes import DROP_BIT, GOLD, NULL_MOVE, PROMOTE_BIT
from engine.rules.moves import MoveError, format_usi, parse_usi
from engine.rules.variants import JUDKINS, MINISHOGI, SHOGI, VARIANTS, Variant


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("7g7f", (6 * 9 + 5) | (6 * 9 + 6) << 7),
        ("8h2b+", (1 * 9 + 1) | (7 * 9 + 7) << 7 | PROMOTE_BIT),
        ("G*5e", (4 * 9 + 4) | GOLD << 7 | DROP_BIT),
        ("9i1a", 0 | (8 * 9 + 8) << 7),
    ],
)
def test_bits_of_a_move(text: str, move: int) -> None:
    assert parse_usi(text, SHOGI) == move
    assert format_usi(move) == text


@pytest.mark.parametrize("variant", list(VARIANTS.values()), ids=lambda v: v.name)
def test_every_square_and_piece_is_read_back(variant: Variant) -> None:
    squares = [f"{file + 1}{'abcdefghi'[rank]}" for file in range(variant.width) for rank in range(variant.height)]
    texts = [a + b + plus for a in squares for b in squares if a != b for plus in ("", "+")]
    texts += [f"{letter}*{square}" for letter in variant.letters if letter != "K" for square in squares]
    assert [format_usi(parse_usi(text, variant)) for text in texts] == texts


@pytest.mark.parametrize(
    ("text", "variant", "message"),
    [
        ("", SHOGI, "bad move ''"),
        ("7g", SHOGI, "bad move '7g'"),
        ("7g7f7e", SHOGI, "bad move '7g7f7e'"),
        ("7g7f=", SHOGI, "bad move '7g7f='"),
        ("7g7f++", SHOGI, "bad move"),
        ("resign", SHOGI, "bad move 'resign'"),
        ("0000", SHOGI, "bad square '00' in move '0000'"),
        ("7g7j", SHOGI, "bad square '7j' in move '7g7j'"),
        ("0g7f", SHOGI, "bad square '0g'"),
        ("7G7F", SHOGI, "bad square '7G'"),
        ("\uff17g7f", SHOGI, "bad square '\uff17g'"),
        ("7g7g", SHOGI, "stays on '7g'"),
        ("X*5e", SHOGI, "bad piece 'X' in drop"),
        ("K*5e", SHOGI, "bad piece 'K' in drop"),
        ("p*5e", SHOGI, "bad piece 'p' in drop"),
        (" *5e", SHOGI, "bad piece ' ' in drop"),
        ("P*5e+", SHOGI, r"bad drop 'P\*5e\+'"),
        ("P*5", SHOGI, "bad drop"),
        ("L*3c", JUDKINS, "bad piece 'L'.*judkins has PNSBRG$"),
        ("7a6a", JUDKINS, "bad square '7a'.*1a to 6f"),
        ("1f1e", MINISHOGI, "bad square '1f'.*1a to 5e"),
        ("N*1c", MINISHOGI, "bad piece 'N'"),
    ],
)
def test_the_bad_part_is_named(text: str, variant: Variant, message: str) -> None:
    with pytest.raises(MoveError, match=message):
        parse_usi(text, variant)


def test_pass_and_no_move_have_words_that_are_not_moves() -> None:
    assert (format_usi(NULL_MOVE), format_usi(0)) == ("0000", "none")
