"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { game, view } = data;
  const SIGNS = { black: "▲", white: "△" };
  const HAND_ORDER = ["P", "L", "N", "S", "G", "B", "R"];
  const MARKS = { inaccuracy: "Inaccuracy", mistake: "Mistake", blunder: "Blunder" };
  const at = (id) => document.getElementById(id);
  let ply = 0; // position of the game that is shown
  let line = null; // {moves, names, at, passed, label}: a line that is looked at from there
  let flipped = false;
  let showBest = true;

  // ---------------------------------------------------------------- positions

  function readSfen(sfen) {
    const [rows, turn, hands] = sfen.split(" ");
    const board = new Map();
    rows.split("/").forEach((row, rank) => {
      let file = view.width;
      for (const [, digits, piece] of row.matchAll(/(\d)|(\+?[A-Za-z])/g)) {
        if (digits) file -= Number(digits);
        else board.set(square(file--, rank), piece);
      }
    });
    const held = { black: {}, white: {} };
    for (const [, count, letter] of hands.matchAll(/(\d*)([A-Za-z])/g)) {
      const side = letter === letter.toUpperCase() ? "black" : "white";
      held[side][letter.toUpperCase()] = Number(count || 1);
    }
    return { board, held, turn: turn === "b" ? "black" : "white", last: [] };
  }

  const square = (file, rank) => `${file}${"abcdefghi"[rank]}`;

  function play(position, usi) {
    const side = position.turn;
    const { board } = position;
    const held = position.held[side];
    if (usi[1] === "*") {
      const kind = usi[0];
      held[kind] -= 1;
      board.set(usi.slice(2, 4), side === "black" ? kind : kind.toLowerCase());
      position.last = [usi.slice(2, 4)];
    } else {
      const [from, to] = [usi.slice(0, 2), usi.slice(2, 4)];
      const taken = board.get(to);
      if (taken) {
        const kind = taken.replace("+", "").toUpperCase();
        held[kind] = (held[kind] || 0) + 1;
      }
      board.set(to, (usi[4] === "+" ? "+" : "") + board.get(from));
      board.delete(from);
      position.last = [to, from];
    }
    position.turn = other(side);
  }

  const other = (side) => (side === "black" ? "white" : "black");

  function shown() {
    const position = readSfen(view.sfens[ply]);
    if (ply > 0) {
      const move = game.moves[ply - 1];
      position.last = move[1] === "*" ? [move.slice(2, 4)] : [move.slice(2, 4), move.slice(0, 2)];
    }
    if (line) {
      if (line.passed) position.turn = other(position.turn);
      for (const move of line.moves.slice(0, line.at)) play(position, move);
    }
    return position;
  }

  // ---------------------------------------------------------------- the board

  const width = view.width * view.cell + 2 * (view.hand + view.border);
  const height = view.height * view.cell + 2 * view.border;

  function corner(name) {
    const file = Number(name[0]) - 1;
    const rank = name.charCodeAt(1) - 97;
    const column = flipped ? file : view.width - 1 - file;
    const row = flipped ? view.height - 1 - rank : rank;
    return [view.hand + view.border + column * view.cell, view.border + row * view.cell];
  }

  const middle = (name) => corner(name).map((value) => value + view.cell / 2);

  function pieceUse(piece, x, y, scale) {
    const side = piece === piece.toUpperCase() ? "black" : "white";
    const kind = piece.toUpperCase().replace("+", "p");
    const id = kind === "K" && side === "white" ? "k-W" : `k-${kind}`;
    const turn = (side === "black") !== flipped ? "" : " rotate(180)";
    return `<use href="#${id}" transform="translate(${x} ${y})${turn} scale(${scale})"/>`;
  }

  function text(content, x, y, size, fill) {
    return `<text x="${x}" y="${y + 0.36 * size}" font-size="${size}" fill="${fill}">${content}</text>`;
  }

  function handParts(position, side) {
    const below = (side === "black") !== flipped;
    const step = Math.min(view.cell * 0.9, (height - 2 * view.border) / 7);
    const x = below ? width - view.hand * 0.62 : view.hand * 0.38;
    const sign = below ? height - view.border / 2 : view.border / 2;
    const parts = [text(SIGNS[side], x, sign, 16, position.turn === side ? "#20150a" : "#b0a080")];
    HAND_ORDER.filter((kind) => position.held[side][kind] > 0).forEach((kind, place) => {
      const y = below ? height - view.border - step * (place + 0.5) : view.border + step * (place + 0.5);
      parts.push(pieceUse(side === "black" ? kind : kind.toLowerCase(), x, y, step / view.cell));
      const count = position.held[side][kind];
      if (count > 1) parts.push(text(count, x + step * 0.68, y, step * 0.42, "#20150a"));
    });
    return parts;
  }

  function arrow(usi, side) {
    const [x, y] = middle(usi.slice(2, 4));
    const style = 'fill="none" stroke="#1d6f42" stroke-opacity=".75" stroke-width="7"';
    if (usi[1] === "*") {
      const piece = pieceUse(side === "black" ? usi[0] : usi[0].toLowerCase(), x, y, 0.8);
      return `<g opacity=".6">${piece}</g><circle cx="${x}" cy="${y}" r="${view.cell * 0.44}" ${style}/>`;
    }
    const [fromX, fromY] = middle(usi.slice(0, 2));
    return `<path d="M${fromX} ${fromY}L${x} ${y}" ${style} marker-end="url(#tip)"/>`;
  }

  function drawBoard() {
    const position = shown();
    const best = nextBest();
    const colours = [view.moved, view.left];
    const parts = [
      `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${label()}" font-family="${view.font}" text-anchor="middle">`,
      `<use href="#${flipped ? "wood-flipped" : "wood"}"/>`,
      ...position.last.map((name, index) => {
        const [x, y] = corner(name);
        return `<rect x="${x}" y="${y}" width="${view.cell}" height="${view.cell}" fill="${colours[index]}" fill-opacity=".75"/>`;
      }),
      ...[...position.board].map(([name, piece]) => pieceUse(piece, ...middle(name), 1)),
      ...handParts(position, "black"),
      ...handParts(position, "white"),
      best && showBest ? arrow(best, position.turn) : "",
      "</svg>",
    ];
    at("board").innerHTML = parts.join("");
  }

  function nextBest() {
    if (line) return line.moves[line.at];
    const study = game.positions[ply];
    return study && study.lines.length ? study.lines[0].pv[0] : undefined;
  }

  const label = () => (line ? `${where()}` : `Position after ${where()}`);

  function where() {
    if (line) return `${line.label}: ${line.at} of ${line.moves.length}`;
    if (ply === 0) return "Start";
    return `${ply} ${game.played[ply - 1].name}`;
  }

  // ---------------------------------------------------------------- words

  function scoreText(score, sign) {
    if (score.mate !== null) {
      const wins = (score.mate > 0) === (sign > 0);
      const plies = Math.abs(score.mate);
      return `${wins ? "▲" : "△"} mate${plies && plies < 9999 ? ` ${plies}` : ""}`;
    }
    if (score.score_cp === null) return "";
    const value = sign * score.score_cp;
    return `${value < 0 ? "\u2212" : "+"}${Math.abs(value)}`;
  }

  function element(tag, className, content) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (content !== undefined) made.textContent = content;
    return made;
  }

  function lineRow(value, moves, names, title, passed) {
    const row = element("div", "line");
    if (title) row.append(element("span", "label", title));
    if (value) row.append(element("span", "value", value));
    moves.forEach((move, index) => {
      const button = element("button", "", names[index] || move);
      button.type = "button";
      const current = line && line.moves === moves && line.at === index + 1;
      if (current) button.setAttribute("aria-current", "true");
      button.addEventListener("click", () => {
        line = { moves, names, at: index + 1, passed, label: passed ? "Threat" : "Line" };
        draw();
      });
      row.append(button);
    });
    return row;
  }

  function verdictRow(move) {
    const row = element("p");
    if (!move.judged) return row;
    if (move.mark) row.append(element("span", `tag ${move.mark}`, `${MARKS[move.mark]} \u2212${move.loss.toFixed(0)} %`));
    if (move.missed_mate !== null) row.append(element("span", "tag missed", `Missed mate in ${move.missed_mate}`));
    if (move.turning_point) row.append(element("span", "tag", "Turning point"));
    if (move.is_best) row.append(element("span", "tag best", "Best move"));
    else if (isEqual(move)) row.append(element("span", "quiet", "As good as the best move"));
    else if (!move.mark) row.append(element("span", "quiet", `Lost ${move.loss.toFixed(1)} % of the chances`));
    return row;
  }

  function drawAbout() {
    const about = at("about");
    about.replaceChildren();
    if (line) {
      const back = element("button", "back", "↩ back to the game (Esc)");
      back.type = "button";
      back.addEventListener("click", leaveLine);
      about.append(back);
    }
    const move = ply > 0 ? game.played[ply - 1] : null;
    const before = ply > 0 ? game.positions[ply - 1] : null;
    if (move) {
      about.append(verdictRow(move));
      if (move.judged && !move.is_best && before.lines.length) {
        before.lines.slice(0, 1).forEach((each) => about.append(betterRow(before, each)));
      }
    }
    const study = game.positions[ply];
    if (study) describe(about, study);
    else about.append(element("p", "quiet", "This position was not analysed."));
    const comment = ply > 0 ? move.comment : view.comment;
    if (comment) about.append(element("p", "comment", comment));
  }

  function betterRow(before, each) {
    const sign = before.turn === "black" ? 1 : -1;
    const names = each[game.notation] || each.pv;
    const move = game.played[ply - 1];
    const title = `${isEqual(move) ? "The engine's choice" : "Better was"}, instead of ${move.name}:`;
    const row = lineRow(scoreText(each, sign), each.pv, names, title, false);
    row.querySelectorAll("button").forEach((button, index) => {
      button.replaceWith(alternative(button, each.pv, names, index));
    });
    return row;
  }

  /* a line that begins before the move that was played: the board goes one ply back */
  function alternative(button, moves, names, index) {
    const copy = button.cloneNode(true);
    copy.addEventListener("click", () => {
      ply -= 1;
      line = { moves, names, at: index + 1, passed: false, label: "Line", home: ply + 1 };
      draw();
    });
    return copy;
  }

  function describe(about, study) {
    const sign = study.turn === "black" ? 1 : -1;
    if (study.ending) about.append(element("p", "", `The game is over: ${study.ending}.`));
    if (ply === game.moves.length && game.ending) about.append(element("p", "", `The record ends here: ${game.ending}.`));
    study.lines.forEach((each, index) => {
      const by = each.solved ? "mate solver" : `depth ${each.depth}`;
      const title = index ? "" : `${SIGNS[study.turn]} to move: best ${study.lines.length > 1 ? "lines" : "line"} (${by})`;
      about.append(lineRow(scoreText(each, sign), each.pv, each[game.notation] || each.pv, title, false));
    });
    const threat = study.threat;
    if (threat && threat.line.length) {
      const kind = threat.brinkmate ? "brinkmate (hisshi): nothing but a check holds off" : "threatens (tsumero)";
      const title = `${SIGNS[other(study.turn)]} ${kind} mate in ${threat.line.length}:`;
      about.append(lineRow("", threat.line, threat[game.notation] || threat.line, title, true));
    }
  }

  // ---------------------------------------------------------------- everything

  function draw() {
    drawBoard();
    drawAbout();
    at("where").textContent = where();
    const study = game.positions[ply];
    const chances = study && study.black_chances;
    const share = at("share");
    share.querySelector("i").style.width = `${chances === null || chances === undefined ? 50 : chances}%`;
    share.querySelector("b").textContent = study ? shareText(study) : "";
    at("cursor").style.left = `${(100 * ply) / Math.max(1, game.moves.length)}%`;
    document.querySelectorAll("#moves tr[aria-current]").forEach((row) => row.removeAttribute("aria-current"));
    const row = document.querySelector(`#moves tr[data-ply="${ply}"]`);
    if (row) {
      row.setAttribute("aria-current", "true");
      const list = at("moves");
      const top = row.offsetTop - list.clientHeight / 2;
      if (row.offsetTop < list.scrollTop + 40 || row.offsetTop > list.scrollTop + list.clientHeight - 40) list.scrollTop = top;
    }
    try {
      history.replaceState(null, "", `#${ply}`);
    } catch {
      /* some browsers forbid it for files */
    }
  }

  function shareText(study) {
    if (study.black_chances === null) return "";
    const score = scoreText(study, study.turn === "black" ? 1 : -1);
    return `▲ ${study.black_chances.toFixed(0)} %   (${score})`;
  }

  function leaveLine() {
    if (!line) return;
    if (line.home !== undefined) ply = line.home;
    line = null;
    draw();
  }

  function go(to) {
    line = null;
    ply = Math.max(0, Math.min(game.moves.length, to));
    draw();
  }

  const isEqual = (move) => move.loss < 0.5 && move.missed_mate === null;

  const isMarked = (move) => move.judged && (move.mark || move.missed_mate !== null);

  const actions = {
    first: () => (line ? stepLine(-line.moves.length) : go(0)),
    last: () => (line ? stepLine(line.moves.length) : go(game.moves.length)),
    back: () => (line ? stepLine(-1) : go(ply - 1)),
    on: () => (line ? stepLine(1) : go(ply + 1)),
    bad: () => {
      const next = game.played.find((move) => move.ply > ply && isMarked(move)) || game.played.find(isMarked);
      if (next) go(next.ply);
    },
    flip: () => {
      flipped = !flipped;
      draw();
    },
    best: () => {
      showBest = !showBest;
      draw();
    },
    leave: leaveLine,
  };

  function stepLine(by) {
    const to = line.at + by;
    if (by === -1 && to < 1) {
      leaveLine();
      return;
    }
    line.at = Math.max(1, Math.min(line.moves.length, to));
    draw();
  }

  const KEYS = {
    ArrowLeft: "back", ArrowRight: "on", Home: "first", End: "last", n: "bad", N: "bad", f: "flip", F: "flip",
    b: "best", B: "best", Escape: "leave",
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || !KEYS[event.key]) return;
    event.preventDefault();
    actions[KEYS[event.key]]();
  });
  document.querySelectorAll("[data-go]").forEach((button) => {
    button.addEventListener("click", () => actions[button.dataset.go]());
  });
  document.querySelectorAll("[data-ply]").forEach((target) => {
    target.addEventListener("click", (event) => {
      event.preventDefault();
      go(Number(target.dataset.ply));
    });
  });
  at("only").addEventListener("change", (event) => {
    document.querySelector("#moves table").classList.toggle("only", event.target.checked);
  });
  const graph = at("graph");
  const scrub = (event) => {
    const box = graph.getBoundingClientRect();
    go(Math.round(((event.clientX - box.left) / box.width) * game.moves.length));
  };
  graph.addEventListener("pointerdown", (event) => {
    graph.setPointerCapture(event.pointerId);
    scrub(event);
  });
  graph.addEventListener("pointermove", (event) => {
    if (event.buttons) scrub(event);
  });
  const wanted = /^#\d+$/.test(location.hash) ? Number(location.hash.slice(1)) : view.first;
  go(wanted);
})();
