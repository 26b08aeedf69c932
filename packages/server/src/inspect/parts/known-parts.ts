/** What a receipt and the transcript know of a request, prepared to be found in its body. */
import type { AgentMessage } from "@pagurus/contract/message";
import type { PartSource as BodySource } from "@pagurus/api/types";
import type { PartSource, Receipt, ReceiptPart } from "@pagurus/contract/session/receipt";
import type { ContentKeys } from "./block.ts";
import { digestKeys, messageKeys } from "./content-keys.ts";

/** A part of the receipt that is a message, with the words of its entry where it has one. */
interface KnownPart {
  part: ReceiptPart;
  pieces: readonly ContentKeys[];
  /** Of its pieces; one where there are none. */
  places: readonly Place[];
}

interface Place {
  index: number;
  piece: number;
  isUsed: boolean;
}

export interface Found extends Pick<Place, "index" | "piece"> {
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
  /** Whether a part is known by its digest alone, so that the digests of words are worth computing. */
  #hasDigests = false;
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
      .map((part, index) => {
        const message = part.entryId === undefined ? undefined : messages.get(part.entryId);
        const pieces = message ? messageKeys(message) : [];
        const places = Array.from({ length: Math.max(1, pieces.length) }, (_, piece) => ({
          index,
          piece,
          isUsed: false,
        }));
        return { part, pieces, places };
      });
    for (const { part, pieces, places } of this.#parts) {
      if (pieces.length === 0) this.#hasDigests = true;
      for (const place of places)
        for (const key of pieces[place.piece]?.keys ?? [`hash:${part.hash}`]) this.#add(key, place);
    }
  }

  #add(key: string, place: Place): void {
    const places = this.#places.get(key);
    if (places) places.push(place);
    else this.#places.set(key, [place]);
  }

  /** The part that content of the body belongs to: the next one after the last found where several have the same words. */
  find(content: ContentKeys): Found | undefined {
    return (
      (content.digest === undefined ? undefined : this.#takeFirst(digestKeys(content), content)) ??
      this.#takeFirst(this.#keysOf(content), content) ??
      (this.#hasDigests ? this.#takeFirst(digestKeys(content), content) : undefined)
    );
  }

  #takeFirst(keys: readonly string[], content: ContentKeys): Found | undefined {
    for (const key of keys) {
      const place = this.#free(key);
      if (place) return this.#take(place, content);
    }
    return undefined;
  }

  #free(key: string): Place | undefined {
    const places = this.#places.get(key) ?? [];
    // Words that come a thousand times are found in order: the used ones are not looked at again.
    while (places[0]?.isUsed === true) places.shift();
    return (
      places.find(({ isUsed, index }) => !isUsed && index >= this.#last) ??
      places.find(({ isUsed }) => !isUsed)
    );
  }

  #keysOf({ keys, callId }: ContentKeys): readonly string[] {
    const own = callId === undefined ? undefined : this.#aliases.get(callId);
    return own === undefined ? keys : [`result:${own}`, ...keys];
  }

  #take(place: Place, content: ContentKeys | undefined): Found | undefined {
    const known = this.#parts[place.index];
    if (!known) return undefined;
    place.isUsed = true;
    this.#last = place.index;
    const own = known.pieces[place.piece]?.callId;
    if (content?.callId !== undefined && own !== undefined) this.#aliases.set(content.callId, own);
    return { index: place.index, piece: place.piece, part: known.part };
  }

  /** Texts that follow the last found part, in order; `take` marks one as found. */
  next(): { text: string; take(): Found | undefined }[] {
    const texts: { text: string; take(): Found | undefined }[] = [];
    for (
      let index = Math.max(0, this.#last);
      index < this.#parts.length && texts.length < NEXT_TEXTS;
      index++
    ) {
      const { pieces = [], places = [] } = this.#parts[index] ?? {};
      for (const place of places) {
        const { text } = pieces[place.piece] ?? {};
        if (text === undefined || text === "" || place.isUsed) continue;
        texts.push({ text, take: () => this.#take(place, undefined) });
      }
    }
    return texts;
  }
}
