/** The parts of an answer while they grow. */
import type { TextPart, ThinkingPart } from "@pagurus/contract/message";
import type { AnswerPiece, ReadPart } from "./answer-reader.ts";
import { defined } from "../data/defined.ts";

const HIGH_HALF = /[\uD800-\uDBFF]$/;

/** Text of an answer that comes in deltas. A surrogate pair may be split over two of them. */
export class GrowingText {
  readonly kind: "text" | "thinking";
  readonly #pieces: AnswerPiece[];
  #text = "";
  /** The first half of a pair at the end of the last delta. */
  #half = "";

  /** `pieces`: receives what can be shown. */
  constructor(kind: "text" | "thinking", pieces: AnswerPiece[]) {
    this.kind = kind;
    this.#pieces = pieces;
  }

  add(delta: string): void {
    const all = this.#half + delta;
    this.#half = HIGH_HALF.exec(all)?.[0] ?? "";
    this.#grow(all.slice(0, all.length - this.#half.length));
  }

  #grow(text: string): void {
    if (text === "") return;
    const whole = text.toWellFormed();
    this.#text += whole;
    this.#pieces.push({ type: this.kind, delta: whole });
  }

  /** The text so far, as it would be without more deltas. */
  get text(): string {
    return this.#text + this.#half.toWellFormed();
  }

  /**
   * Takes the whole text as a later event repeats it. Returns false if it is another one: neither continues the other.
   */
  complete(whole: string): boolean {
    const streamed = this.text;
    const final = whole.toWellFormed();
    if (streamed.startsWith(final)) return true;
    if (!final.startsWith(this.#text)) return false;
    this.#half = "";
    this.#grow(final.slice(this.#text.length));
    return true;
  }
}

/** Parts in the order in which they came; consecutive text is one part, and so is consecutive thinking. */
export class PartList<Other> {
  readonly pieces: AnswerPiece[] = [];
  readonly #parts: (GrowingText | Other)[] = [];
  readonly #signatures = new Map<GrowingText, string>();

  add(kind: "text" | "thinking", delta: string): GrowingText | undefined {
    const last = this.#parts.at(-1);
    if (delta === "") return last instanceof GrowingText && last.kind === kind ? last : undefined;
    const isSame = last instanceof GrowingText && last.kind === kind && !this.#signatures.has(last);
    const part = isSame ? last : new GrowingText(kind, this.pieces);
    if (!isSame) this.#parts.push(part);
    part.add(delta);
    return part;
  }

  /** Thinking with the signature that ends it. */
  sign(delta: string, signature: string): void {
    const part = this.add("thinking", delta) ?? new GrowingText("thinking", this.pieces);
    if (!this.#parts.includes(part)) this.#parts.push(part);
    this.#signatures.set(part, signature);
  }

  push(part: Other): void {
    this.#parts.push(part);
    this.pieces.push({ type: "call" });
  }

  /** All text so far, without thinking. */
  get text(): string {
    return this.#parts
      .map((part) => (part instanceof GrowingText && part.kind === "text" ? part.text : ""))
      .join("");
  }

  get thinking(): string {
    return this.#parts
      .map((part) => (part instanceof GrowingText && part.kind === "thinking" ? part.text : ""))
      .join("");
  }

  content(partOf: (other: Other) => ReadPart): ReadPart[] {
    return this.#parts.flatMap((part): ReadPart[] => {
      if (!(part instanceof GrowingText)) return [partOf(part)];
      return grown(part, this.#signatures.get(part));
    });
  }
}

/** The part of a text; none for one without content. */
export function grown(
  { kind, text }: Pick<GrowingText, "kind" | "text">,
  signature?: string,
): (TextPart | ThinkingPart)[] {
  if (kind === "text") return text === "" ? [] : [{ type: "text", text }];
  if (text === "" && signature === undefined) return [];
  return [{ type: "thinking", thinking: text, ...defined({ signature }) }];
}
