/**
 * The block of passages of the live turn while that turn grows: it gets shorter in place of being why the turn has to be compacted, and a
 * compaction within the turn keeps a part of it, since the turn may rest on it. Decision 017.
 */
import { textOf } from "@pagurus/core/compaction/message-text";
import type { AgentMessage } from "@pagurus/contract/message";
import { messageTokens } from "@pagurus/core/tokens/message-tokens";
import { isWanted, type Volatile } from "../epoch.ts";
import type { LosslessSession } from "../lossless-session.ts";
import { blockTokens } from "../renewal-due.ts";

/** Tokens below which a block is not worth its place. */
export const LEAST_TOKENS = 150;
/** Share of the free tokens that a shorter block gets: the rest is for the turn, so that it is seldom cut again. */
const SHORTER_SHARE = 0.5;
/** Beginning of a line with a passage. */
const LINE_LABEL =
  /^(?:\S+ )?(?:user|assistant|notice|result of \S+)(?: from \d+)?(?: \(older than \S+\))?: …?/;

/** The texts of a block's passages, without ids and authors. */
export function shownIn(message: AgentMessage): string {
  return partsOf(message)
    .passages.map((line) => line.replace(LINE_LABEL, ""))
    .join("\n");
}

interface BlockOfTurn {
  turnId: string;
  /** Id of the epoch. */
  epoch: string;
  /** Tokens that blocks can have, all together. */
  free: number;
}

/** A block as lines: its tag and note, the passages, the end. */
function partsOf(message: AgentMessage): { begin: string[]; passages: string[]; end: string[] } {
  const lines = textOf(message).split("\n");
  return { begin: lines.slice(0, 2), passages: lines.slice(2, -1), end: lines.slice(-1) };
}

/**
 * A block of at most so many tokens: all of it, or its first lines, which are the best. Undefined where only a part fits that is not worth
 * its place.
 */
function shorter(message: AgentMessage, tokens: number): AgentMessage | undefined {
  if (messageTokens(message) <= tokens) return message;
  const { begin, passages, end } = partsOf(message);
  for (let count = passages.length - 1; count > 0; count = Math.floor(count * 0.9)) {
    const content = [...begin, ...passages.slice(0, count), ...end].join("\n");
    const cut: AgentMessage = { role: "user", content };
    const size = messageTokens(cut);
    if (size <= tokens) return size < LEAST_TOKENS ? undefined : cut;
  }
  return undefined;
}

/** For the epoch of a block that no context of this epoch has: the next compaction within the turn may have it. */
function asideOf(epoch: string): string {
  return `aside ${epoch}`;
}

/** The block that a turn has from now on in an epoch, where a part of it fits, else it is kept aside. */
function fitted(block: Volatile, { turnId, epoch, free }: BlockOfTurn): Volatile {
  const message = shorter(block.message, Math.floor(free * SHORTER_SHARE));
  return message
    ? { ...block, message, recall: { ...block.recall, turnId, epoch } }
    : { ...block, recall: { ...block.recall, turnId, epoch: asideOf(epoch) } };
}

/** Makes the live turn's block shorter where the budget does not take all blocks, and takes it out if no useful part of it fits. */
export function fitBlock(session: LosslessSession, turn: BlockOfTurn): void {
  const blocks = session.blocks(turn.epoch).filter((block) => isWanted(block, turn.turnId));
  const own = blocks.find(({ recall }) => recall?.turnId === turn.turnId);
  const tokens = blockTokens(session, blocks);
  if (!own || tokens <= turn.free) return;
  const others = tokens - blockTokens(session, [own]);
  session.dropBlocks([own], turn.epoch, [fitted(own, { ...turn, free: turn.free - others })]);
}

/**
 * The live turn's block, or what of that of an earlier epoch fits, which from now on has the place `after` in this one. Decided once in an
 * epoch.
 */
export function carriedBlock(
  session: LosslessSession,
  turn: BlockOfTurn,
  after: string,
): AgentMessage | undefined {
  const before = session.blockOf(turn.turnId);
  if (!before || !isWanted(before, turn.turnId) || before.recall?.epoch === asideOf(turn.epoch))
    return undefined;
  if (before.recall?.epoch === turn.epoch) return before.message;
  const block = { ...fitted(before, turn), after };
  session.replaceBlock([before], [block]);
  return block.recall?.epoch === turn.epoch ? block.message : undefined;
}
