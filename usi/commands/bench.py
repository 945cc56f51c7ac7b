"""Search a fixed set of positions and print nodes, speed and the signature of the search.

The signature is the number of nodes of all positions together. One thread always gives the same: a change of the
code that must not change the search keeps it, and one that does says the new one in its commit.
"""

from __future__ import annotations

import argparse
from typing import Any

from usi.commands._arguments import count, read_position

DEFAULT_DEPTH = 13

# Openings, middle games and endings of self-play games, two of them in check, both sides to move; a handicap, the
# crowded "matsuri" position, an entering king, a mate problem without a king of its own, and the small boards.
POSITIONS = (
    ("shogi", "startpos"),
    ("shogi", "2-piece"),
    ("shogi", "lnsgk2nl/1r2gs1b1/ppppp2pp/5pp2/4P4/2PB5/PPNP1PPPP/2G1R4/L1S1KGSNL w - 18"),
    ("shogi", "ln3k1nl/1r1sg1gb1/p1ppppsp1/6p1p/1p7/P5R1P/B1PPPPPP1/4G1S2/LNS2GKNL b P 25"),
    ("shogi", "ln4snl/1r4gk1/p1pp1gbpp/1p2psp2/P4p3/2PP2PPP/1P1SPPSG1/1B2GK1R1/LN5NL w - 32"),
    ("shogi", "lr3g1nl/2gk5/1pnsp1p1b/p1ppsp1pp/9/P1PP1PP2/1P1GPSN1P/1BS4R1/LNKG4L b P 37"),
    ("shogi", "lns1k2nl/6g2/p1pp+P1bpp/5pp2/4bP3/2+r3PP1/P1NP1SN1P/2S6/L2GKG2L w GS2Pr2p 46"),
    ("shogi", "3g3nl/1k4r2/1s1g2bpp/lppppps2/6pP1/1PPPPP2P/4SGP2/1KSB3R1/1N1G3NL b N2Pl 53"),
    ("shogi", "ln5nl/2kg3r1/1Sspp4/pPp1g1p1p/3P1P1p1/P1P3P1P/2NRPGNP1/6SK1/1+b3G2L w B2Psl 62"),
    ("shogi", "ln4knl/4g1g2/2s1p1spb/p2p4p/2PP1P1PP/4P1P2/P+r1S1GN2/2R3S2/L4GK1L b B3Pn2p 69"),
    ("shogi", "l1g5l/3sg1k2/1ppp2ns1/P4Bp1p/L6p1/SRP1GP2P/3+nP1PP1/5GKS1/1N1r3NL w B3P2p 78"),
    ("shogi", "ln+Rg5/1Gs1g1p1l/ppppkgn2/1l2pP1Rp/3P5/P1P1S2P1/1PK1S1+b1P/2S6/LN3b3 b n4p 85"),
    ("shogi", "1n1g4+B/1ks6/1pp1p3p/lr1pg1p2/p7P/L1P6/1P1PP1P2/1K1s5/1N+p4NL w RB2G2SNLP3p 94"),
    ("shogi", "l4gs2/1rl1+N2kl/p1Pp1nn2/1p4pp1/4P3p/4S4/PP2G3P/2S1K2r1/3G3NL b 2BGS7p 101"),
    ("shogi", "l2r3nl/4gs1P1/2n1s1b2/p1p4k1/3PPPpgp/2PSSGPp1/PP1G4P/3B3R1/L+p1K3NL w 2Pnp 112"),
    ("shogi", "ln6l/2k1+P2R1/ppsp5/2p1s3p/PP1PpN3/6G1P/2+r2PGK1/6P2/L1S2+bb1L b GNPgsn4p 125"),
    ("shogi", "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w GR5pnsg 1"),
    ("shogi", "1+P2K2+P1/2+S1+P4/3+B5/9/9/4p4/5g3/3+r1g3/1k2+p2+p1 b RB2G2S4N4L9P 201"),
    ("shogi", "4k4/9/4P4/9/9/9/9/9/9 b B2G2Srb2g2s4n4l17p 1"),
    ("judkins", "startpos"),
    ("judkins", "2n2k/r1Ss1p/5g/1p2b1/2KG2/3NBR b - 23"),
    ("judkins", "1rns1k/3B2/5p/1r2n1/K4P/S3g1 b Gb 35"),
    ("minishogi", "startpos"),
    ("minishogi", "2sgk/1R2p/2p2/G3B/K1Sb1 b r 19"),
)


def add_parser(subparsers: Any) -> None:
    """`narikin bench`."""
    parser = subparsers.add_parser("bench", help="search a fixed set of positions", description=__doc__)
    parser.add_argument(
        "--depth", type=count(1, 255), default=DEFAULT_DEPTH, metavar="N", help=f"plies (default: {DEFAULT_DEPTH})"
    )
    parser.add_argument("--threads", type=count(1, 512), default=1, metavar="N", help="search threads (default: 1)")
    parser.add_argument("--hash", type=count(1, 1 << 20), default=64, metavar="MB", help="table size (default: 64)")


def run(arguments: argparse.Namespace) -> int:
    """Search and print a row for each position, then the sums."""
    from usi.commands.analyse import announce_compilation, score_text
    from usi.thinker import OwnThinker, default_limits

    announce_compilation()
    nodes = milliseconds = 0
    thinkers: dict[str, OwnThinker] = {}
    for number, (variant, text) in enumerate(POSITIONS, 1):
        if variant not in thinkers:
            thinkers = {variant: OwnThinker(variant, arguments.threads, arguments.hash)}  # one table at a time
        thinker = thinkers[variant]
        thinker.new_game()
        result = thinker.think(read_position([text], variant), default_limits(depth=arguments.depth))
        nodes += result.nodes
        milliseconds += result.time_ms
        row = f"{number:2} {variant:9} {result.nodes:10} nodes {result.time_ms:7} ms {score_text(result):>12}"
        print(f"{row}  {result.bestmove}", flush=True)
    speed = nodes * 1000 // max(milliseconds, 1)
    print(f"depth {arguments.depth}, {arguments.threads} thread(s): {milliseconds} ms, {speed} nodes/s")
    print(f"signature {nodes}")
    return 0
