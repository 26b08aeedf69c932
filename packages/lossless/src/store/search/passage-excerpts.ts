/** Excerpts of messages: each part of a text is shown once, and not if the context has its words. */
import type { Conversation, StoredMessage } from "../entries/stored-messages.ts";
import type { SearchHit } from "../store-types.ts";
import { unitsOf, widened, without, type Range } from "./search-excerpt.ts";
import { defined } from "@pagurus/core/data/defined";

/** An excerpt of one entry or summary. */
export interface Passage {
  /** Id of the entry or summary. */
  id: string;
  sessionId: string;
  sessionKey?: string;
  role: SearchHit["role"];
  /** Tool of a result. */
  toolName?: string;
  time: number;
  onPath: boolean;
  /** Place of the entry. */
  place: number;
  /** Place of the message that it belongs to, for a related one: an answer, a result, a call. */
  of?: number;
  /** Places of the messages before and after a whole message of people's talk. */
  talk?: { previous?: number; next?: number };
  /** Start in the text of the entry, in characters. */
  offset: number;
  /** True when it is the complete text of the entry. */
  isWhole: boolean;
  /** Id of a newer statement of the same person about the same thing. */
  newer?: string;
  /** Verbatim, with "…" for omissions. */
  text: string;
}

/** True for a message of a person or of the agent without calls. */
export function isProse({ role, words }: StoredMessage): boolean {
  return (role === "user" || role === "assistant") && words.calls.length === 0;
}

export class Excerpts {
  readonly #talk: Conversation;
  readonly #isWanted: (message: StoredMessage) => boolean;
  /** Ranges already shown, by the message's key. */
  readonly #shown = new Map<string, readonly Range[]>();
  /** Units of text that were shown or are in the context. */
  readonly #units: Set<string>;

  /** `inContext`: texts that the context has. `isWanted`: false for a message that is not to be shown. */
  constructor(
    talk: Conversation,
    inContext: readonly string[],
    isWanted: (message: StoredMessage) => boolean,
  ) {
    this.#talk = talk;
    this.#isWanted = isWanted;
    this.#units = new Set(inContext.flatMap(unitsOf));
  }

  /** Shows the parts of the ranges that were not shown yet, if they contain new text. */
  *of(message: StoredMessage, ranges: readonly Range[], of?: number): Generator<Passage> {
    const { text } = message.words;
    if (!this.#isWanted(message)) return;
    const shown = this.#shown.get(message.name) ?? [];
    const fresh = without(ranges, shown).filter(([start, end]) => this.#isFresh(text.slice(start, end)));
    const [first] = fresh;
    const last = fresh.at(-1);
    if (!first || !last) return;
    this.#shown.set(message.name, [...shown, ...fresh]);
    const { id, session, onPath, role, toolName, time } = message;
    const parts = fresh.map(([start, end]) => text.slice(start, end).trim()).join(" … ");
    const isWhole = fresh.length === 1 && first[0] === 0 && last[1] === text.length;
    yield {
      id,
      sessionId: session.id,
      ...defined({ sessionKey: session.key ?? undefined }),
      role,
      ...defined({ toolName }),
      time,
      onPath,
      place: message.place,
      ...defined({ of }),
      ...(isWhole && onPath && isProse(message) ? { talk: this.#nextTo(message) } : {}),
      offset: first[0],
      isWhole,
      text: `${first[0] > 0 ? "…" : ""}${parts}${last[1] < text.length ? "…" : ""}`,
    };
  }

  /** More of a message of which something was shown; nothing of another one. */
  *wider(message: StoredMessage, chars: number): Generator<Passage> {
    const shown = this.#shown.get(message.name);
    if (shown) yield* this.of(message, widened(message.words.text, shown, chars));
  }

  #nextTo(message: StoredMessage): NonNullable<Passage["talk"]> {
    const previous = this.#talk.previous(message)?.place;
    const next = this.#talk.next(message)?.place;
    return defined({ previous, next });
  }

  #isFresh(text: string): boolean {
    if (text.trim() === "") return false;
    const fresh = unitsOf(text).filter((unit) => !this.#units.has(unit));
    for (const unit of fresh) this.#units.add(unit);
    return fresh.length > 0;
  }
}
