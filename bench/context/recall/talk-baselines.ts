/** Baselines for conversations: searches over turns, with the rank of the session, and of the user's messages first. */
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { estimateTokens } from "../../../packages/core/src/tokens/estimate.ts";
import { textOfMessage } from "../../../packages/replay/src/prompt-blocks.ts";
import { baselines, fill, type Document } from "./baselines.ts";
import { Bm25 } from "./bm25.ts";
import type { Passage, Recaller } from "./recaller.ts";

/** A longer pause begins another session. Milliseconds. */
export const PAUSE_MS = 30 * 60_000;
/** Constant of reciprocal rank fusion. */
const FUSION = 60;

interface Piece extends Document {
  role: AgentMessage["role"];
  time: number;
}

function piecesOf(messages: readonly AgentMessage[]): Piece[] {
  return messages.map((message) => {
    const text = textOfMessage(message);
    const { role, entryId = "", timestamp: time = 0 } = message;
    return { entryId, text, tokens: estimateTokens(text), role, time };
  });
}

/** A user's message with the answers to it. */
function turnsOf(pieces: readonly Piece[]): Piece[] {
  const turns: Piece[] = [];
  for (const piece of pieces) {
    const turn = turns.at(-1);
    if (!turn || piece.role === "user") turns.push({ ...piece });
    else Object.assign(turn, { text: `${turn.text}\n${piece.text}`, tokens: turn.tokens + piece.tokens });
  }
  return turns;
}

/** Numbers of the sessions of the pieces, in order. */
function sessionsOf(pieces: readonly Piece[]): number[] {
  let session = 0;
  return pieces.map(({ time }, index) => {
    if (time - (pieces[index - 1]?.time ?? time) > PAUSE_MS) session += 1;
    return session;
  });
}

function ranker(texts: readonly string[]): (question: string) => number[] {
  const bm25 = new Bm25();
  for (const text of texts) bm25.add(text);
  return (question) => bm25.rank(question);
}

/** Makes the order of the pieces for a question; called once for a history. */
type Order = (pieces: readonly Piece[]) => (question: string) => Iterable<Piece>;

function pick(pieces: readonly Piece[], ranks: readonly number[]): Piece[] {
  return ranks.flatMap((rank) => pieces[rank] ?? []);
}

const overTurns: Order = (pieces) => {
  const turns = turnsOf(pieces);
  const rank = ranker(turns.map(({ text }) => text));
  return (question) => pick(turns, rank(question));
};

const fused: Order = (pieces) => {
  const turns = turnsOf(pieces);
  const sessions = sessionsOf(turns);
  const texts: string[] = [];
  for (const [index, { text }] of turns.entries()) {
    const session = sessions[index] ?? 0;
    texts[session] = `${texts[session] ?? ""}\n${text}`;
  }
  const rankTurns = ranker(turns.map(({ text }) => text));
  const rankSessions = ranker(texts);
  return (question) => {
    const part = (ranks: readonly number[]): ((item: number) => number) => {
      const positions = new Map(ranks.map((item, position) => [item, position]));
      return (item) => 1 / (FUSION + (positions.get(item) ?? Infinity));
    };
    const [turn, session] = [part(rankTurns(question)), part(rankSessions(question))];
    const score = turns.map((_, index) => turn(index) + session(sessions[index] ?? 0));
    const order = turns.map((_, index) => index);
    return pick(
      turns,
      order.toSorted((a, b) => (score[b] ?? 0) - (score[a] ?? 0)),
    );
  };
};

const userFirst: Order = (pieces) => {
  const rank = ranker(pieces.map(({ text }) => text));
  return (question) => {
    const ranked = pick(pieces, rank(question));
    return [...ranked.filter(({ role }) => role === "user"), ...ranked.filter(({ role }) => role !== "user")];
  };
};

class TalkRecaller implements Recaller {
  readonly name: string;
  readonly #order: Order;
  #rank: (question: string) => Iterable<Piece> = () => [];

  constructor(name: string, order: Order) {
    this.name = name;
    this.#order = order;
  }

  index(messages: readonly AgentMessage[]): void {
    this.#rank = this.#order(piecesOf(messages));
  }

  recall(question: string, budgetTokens: number, page = 0): Passage[] {
    return fill(this.#rank(question), budgetTokens, page);
  }
}

/** Fresh baselines for conversations: those of every history, and the three that know turns, sessions and authors. */
export function talkBaselines(): Recaller[] {
  return [
    ...baselines(),
    new TalkRecaller("BM25, turns", overTurns),
    new TalkRecaller("turn x session", fused),
    new TalkRecaller("user messages first", userFirst),
  ];
}
