// Perft with cshogi's own C++ sources, for scripts/bench_rules.py, which compiles it beside them.
// Reads lines "bulk|make DEPTH SFEN" and answers each with "NODES CPU_SECONDS".

#include <cstdint>
#include <ctime>
#include <iostream>
#include <string>

#include "cshogi.h"

static uint64_t bulk(Position& position, int depth) {
    MoveList<LegalAll> moves(position);
    if (depth == 1) return moves.size();
    const CheckInfo info(position);
    uint64_t nodes = 0;
    for (; !moves.end(); ++moves) {
        StateInfo state;
        const Move move = moves.move();
        position.doMove(move, state, info, position.moveGivesCheck(move, info));
        nodes += bulk(position, depth - 1);
        position.undoMove(move);
    }
    return nodes;
}

static uint64_t make_every_leaf(Position& position, int depth) {
    if (depth == 0) return 1;
    const CheckInfo info(position);
    uint64_t nodes = 0;
    for (MoveList<LegalAll> moves(position); !moves.end(); ++moves) {
        StateInfo state;
        const Move move = moves.move();
        position.doMove(move, state, info, position.moveGivesCheck(move, info));
        nodes += make_every_leaf(position, depth - 1);
        position.undoMove(move);
    }
    return nodes;
}

int main() {
    initTable();
    Position::initZobrist();
    std::string kind, sfen;
    int depth;
    while (std::cin >> kind >> depth && std::getline(std::cin >> std::ws, sfen)) {
        Position position(sfen);
        const std::clock_t start = std::clock();
        const uint64_t nodes = kind == "bulk" ? bulk(position, depth) : make_every_leaf(position, depth);
        std::cout << nodes << ' ' << double(std::clock() - start) / CLOCKS_PER_SEC << std::endl;
    }
}
