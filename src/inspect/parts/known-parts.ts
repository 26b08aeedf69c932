/** What a receipt and the transcript know of a request, prepared to be found in its body. */
import type { AgentMessage } from "../../contract/message.ts";
import type { PartSource, Receipt, ReceiptPart } from "../../contract/session/receipt.ts";
import type { BodySource } from "./body-part.ts";
import { messageKeys, type ContentKeys } from "./content-keys.ts";

/** A part of the receipt that is a message, with the words of its entry where it has one. */
interface KnownPart {
  part: ReceiptPart;
  pieces: readonly ContentKeys[];
}

interface Place {
  index: number;
  piece: number;
}

export interface Found extends Place {
  part: ReceiptPart;
}

const SYSTEM: ReadonlySet<PartSource> = new Set(["system", "addition", "instructions", "memory"]);
/** Texts after the last found one that are looked for inside a longer text. */
const NEXT_TEXTS = 12;

export function sourceOf({ source }: ReceiptPart): BodySource {
  return source === "history" ? "kept" : source;
}

export class KnownParts {
  readonly #parts: readonly KnownPart[];
  readonly #places = new Map<string, Place[]>();
  readonly #used = new Set<string>();
  /** Ids that were changed for the provider, by the id in the body. */
  readonly #aliases = new Map<string, string>();
  /** Pieces of the system prompt. */
  readonly system: readonly ReceiptPart[];
  #last = -1;

  /** `messages`: those of the receipt's parts, by entry id. */
  constructor(receipt: Pick<Receipt, "parts"> | undefined, messages: ReadonlyMap<string, AgentMessage>) {
    const parts = receipt?.parts ?? [];
    this.system = parts.filter(({ source }) => SYSTEM.has(source));
    this.#parts = parts
      .filter(({ source }) => !SYSTEM.has(source) && source !== "tools")
      .map((part) => {
        const message = part.entryId === undefined ? undefined : messages.get(part.entryId);
        return { part, pieces: message ? messageKeys(message) : [] };
      });
    for (const [index, { part, pieces }] of this.#parts.entries()) {
      for (const [piece, { keys }] of pieces.entries())
        for (const key of keys) this.#add(key, { index, piece });
      if (pieces.length === 0) this.#add(`hash:${part.hash}`, { index, piece: 0 });
    }
  }

  #add(key: string, place: Place): void {
    const places = this.#places.get(key);
    if (places) places.push(place);
    else this.#places.set(key, [place]);
  }

  /** The part that content of the body belongs to: the next one after the last found where several have the same words. */
  find(content: ContentKeys): Found | undefined {
    for (const key of this.#keysOf(content)) {
      const free = (this.#places.get(key) ?? []).filter((place) => !this.#used.has(idOf(place)));
      const place = free.find(({ index }) => index >= this.#last) ?? free[0];
      if (place) return this.#take(place, content);
    }
    return undefined;
  }

  #keysOf({ keys, callId }: ContentKeys): readonly string[] {
    const own = callId === undefined ? undefined : this.#aliases.get(callId);
    return own === undefined ? keys : [`result:${own}`, ...keys];
  }

  #take(place: Place, content: ContentKeys | undefined): Found | undefined {
    const known = this.#parts[place.index];
    if (!known) return undefined;
    this.#used.add(idOf(place));
    this.#last = place.index;
    const own = known.pieces[place.piece]?.callId;
    if (content?.callId !== undefined && own !== undefined) this.#aliases.set(content.callId, own);
    return { ...place, part: known.part };
  }

  /** Number of pieces of a part that can be in a body. */
  piecesOf(index: number): number {
    return Math.max(1, this.#parts[index]?.pieces.length ?? 0);
  }

  /** Texts that follow the last found part, in order; `take` marks one as found. */
  next(): { text: string; take(): Found | undefined }[] {
    const texts: { text: string; take(): Found | undefined }[] = [];
    for (
      let index = Math.max(0, this.#last);
      index < this.#parts.length && texts.length < NEXT_TEXTS;
      index++
    ) {
      for (const [piece, { text }] of (this.#parts[index]?.pieces ?? []).entries()) {
        const place = { index, piece };
        if (text === undefined || text === "" || this.#used.has(idOf(place))) continue;
        texts.push({ text, take: () => this.#take(place, undefined) });
      }
    }
    return texts;
  }
}

function idOf({ index, piece }: Place): string {
  return `${index}.${piece}`;
}
