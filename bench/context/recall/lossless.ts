/** The recall of the lossless engine: the pages of its tool `context_search`, over its own store. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";
import { recallPassages } from "../../../packages/lossless/src/recall/pages.ts";
import { EncoderThread } from "../../../packages/lossless/src/encoder/encoder-thread.ts";
import {
  openLosslessStore,
  type LosslessStore,
} from "../../../packages/lossless/src/store/lossless-store.ts";
import type { Passage, Recaller } from "./recaller.ts";

const SESSION = "history";
/** Ids as long as those of a transcript: they are part of what is read. */
const ID_LENGTH = 16;
const START = "mfk3x9a2b";

/** Id of a message by its place. */
export function idOf(index: number): string {
  return START + index.toString(36).padStart(ID_LENGTH - START.length, "0");
}

/** As in a transcript: each user's message begins a turn, and the last one has ended. */
function* entriesOf(messages: readonly AgentMessage[]): Generator<TranscriptEntry> {
  let parentId: string | null = null;
  let turnId = "";
  for (const [index, { entryId: _, ...message }] of messages.entries()) {
    const id = idOf(index);
    if (message.role === "user" || turnId === "") turnId = id;
    const timestamp = new Date(message.timestamp ?? 0).toISOString();
    yield { type: "message", id, parentId, turnId, timestamp, message };
    parentId = id;
  }
  const id = idOf(messages.length);
  const timestamp = new Date(messages.at(-1)?.timestamp ?? 0).toISOString();
  yield { type: "turn_commit", id, parentId, turnId, timestamp, outcome: "completed" };
}

/** Name of the search by words alone. */
export const SEARCH = "lossless";

class LosslessRecall implements Recaller {
  readonly name: string;
  readonly #folder = mkdtempSync(join(tmpdir(), "pagurus-recall-"));
  readonly #encoder: EncoderThread | undefined;
  readonly #store: LosslessStore;

  constructor(encoder?: EncoderThread) {
    this.name = encoder ? `${SEARCH}, encoder` : SEARCH;
    this.#encoder = encoder;
    this.#store = openLosslessStore(this.#folder, encoder);
  }

  async index(messages: readonly AgentMessage[]): Promise<void> {
    this.#store.ingestTurn(SESSION, [...entriesOf(messages)]);
    await this.#store.indexed();
    await this.#store.encoded();
  }

  async recall(question: string, budgetTokens: number, page = 0): Promise<Passage[]> {
    const found = await recallPassages(this.#store, {
      query: question,
      sessions: [SESSION],
      asking: SESSION,
      budgetTokens,
      page,
    });
    return found.passages.map(({ id, text }) => ({ entryId: id, text }));
  }

  async close(): Promise<void> {
    await this.#store.close();
    await this.#encoder?.close();
    rmSync(this.#folder, { recursive: true });
  }
}

export function losslessRecaller(): Recaller {
  return new LosslessRecall();
}

/** The same with the optional sentence encoder. */
export function encodedRecaller(): Recaller {
  return new LosslessRecall(new EncoderThread());
}
