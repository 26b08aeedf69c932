/** The content blocks of an answer of the Messages API while they stream. */
import { type Fields, isRecord, stringOf } from "../../data/record-fields.ts";
import { grown, GrowingText } from "../answer-parts.ts";
import type { AnswerPiece, ReadCall, ReadPart } from "../answer-reader.ts";
import { plainName } from "../answer-values.ts";
import { readArguments } from "../protocol-parts.ts";

type Kind = "text" | "thinking" | "redacted" | "call" | "other";

interface Block {
  readonly kind: Kind;
  readonly index: number | undefined;
  /** As it began. */
  readonly fields: Fields;
  readonly grows: GrowingText | undefined;
  signature: string;
  /** The streamed arguments of a call. */
  json: string;
  isWhole: boolean;
  /** Of the beginning of the message: a streamed block with its index replaces it. */
  readonly isAhead: boolean;
}

const KINDS: Readonly<Record<string, Kind>> = {
  text: "text",
  thinking: "thinking",
  redacted_thinking: "redacted",
  tool_use: "call",
};
/** Blocks with a text whose type is unknown are text. */
const TEXT_MEMBERS = { text: "text", thinking: "thinking" } as const;

function kindOf(block: Fields): Kind {
  const known = KINDS[stringOf(block["type"])];
  if (known || stringOf(block["type"]) !== "") return known ?? "other";
  if (typeof block["text"] === "string") return "text";
  return typeof block["thinking"] === "string" ? "thinking" : "other";
}

/** The kind of a delta, and the member that has its text. */
function deltaOf(delta: Fields): [kind: Kind, member: string] | undefined {
  if (typeof delta["text"] === "string") return ["text", "text"];
  if (typeof delta["thinking"] === "string") return ["thinking", "thinking"];
  if (delta["partial_json"] !== undefined) return ["call", "partial_json"];
  if (typeof delta["signature"] === "string") return ["thinking", "signature"];
  return undefined;
}

export class MessageBlocks {
  readonly #pieces: AnswerPiece[];
  readonly #blocks: Block[] = [];
  readonly #degraded = new Set<string>();

  constructor(pieces: AnswerPiece[]) {
    this.#pieces = pieces;
  }

  start(index: number | undefined, fields: Fields): void {
    // A proxy that repeats the beginning of a block begins no other.
    const last = this.#at(index);
    const isRepeated = last && !last.isWhole && last.json === "" && isSame(last.fields, fields);
    if (!isRepeated) this.#add(index, fields, false);
  }

  /** A block of a whole message, or of its beginning. */
  whole(index: number, fields: Fields, isAhead: boolean): void {
    this.#add(index, fields, isAhead).isWhole = true;
  }

  #add(index: number | undefined, fields: Fields, isAhead: boolean): Block {
    const kind = kindOf(fields);
    const member = kind === "text" || kind === "thinking" ? TEXT_MEMBERS[kind] : undefined;
    const pieces = isAhead ? [] : this.#pieces;
    const grows = member && new GrowingText(member, pieces);
    grows?.add(stringOf(fields[member ?? ""]));
    const signature = stringOf(fields["signature"]);
    const block = { kind, index, fields, grows, signature, json: "", isWhole: false, isAhead };
    this.#blocks.push(block);
    if (kind === "call") this.#pieces.push({ type: "call" });
    return block;
  }

  /** The newest block with the index; without one, the newest of all. */
  #at(index: number | undefined): Block | undefined {
    return this.#blocks.findLast((block) => !block.isAhead && (index === undefined || block.index === index));
  }

  grow(index: number | undefined, delta: Fields): void {
    const [kind, member] = deltaOf(delta) ?? [];
    if (kind === undefined || member === undefined) return this.#unknownDelta(delta);
    const open = this.#at(index);
    const isItsOwn = open?.kind === kind || (kind === "call" && open?.kind === "other");
    // Servers leave out the beginning of a block, or change the kind within one.
    const block =
      open && isItsOwn ? open : this.#add(index, { type: kind === "call" ? "tool_use" : kind }, false);
    const value = delta[member];
    if (kind === "call") this.#json(block, value);
    else if (member === "signature") block.signature += stringOf(value);
    else block.grows?.add(stringOf(value));
  }

  #json(block: Block, value: unknown): void {
    block.json += isRecord(value) ? JSON.stringify(value) : stringOf(value);
    if (block.kind === "call") this.#pieces.push({ type: "call" });
  }

  #unknownDelta(delta: Fields): void {
    // A citation is about text that is there.
    const type = stringOf(delta["type"]);
    if (type !== "" && type !== "citations_delta")
      this.#degraded.add(`a delta of the type ${type.slice(0, 60)}`);
  }

  stop(index: number | undefined): void {
    const block = this.#at(index);
    if (block) block.isWhole = true;
  }

  /** `isEnded`: the answer has ended, and so have all its blocks. A call that was cut is omitted: half of its arguments may mean something else. */
  content(isEnded: boolean): { content: ReadPart[]; degraded: string[] } {
    const streamed = this.#blocks.filter(({ isAhead }) => !isAhead);
    const blocks = this.#blocks.filter(
      (block) => !block.isAhead || !streamed.some((other) => repeats(other, block)),
    );
    const indexes = blocks.map(({ index }) => index);
    const isOrdered = new Set(indexes).size === indexes.length && !indexes.includes(undefined);
    const ordered = isOrdered ? blocks.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0)) : blocks;
    const content = ordered.flatMap((block) => this.#part(block, isEnded));
    return { content, degraded: [...this.#degraded] };
  }

  #part(block: Block, isEnded: boolean): ReadPart[] {
    const { kind, fields, grows, signature } = block;
    if (grows) return grown(grows, signature === "" || kind === "text" ? undefined : signature);
    if (kind === "redacted") return redacted(fields);
    if (kind === "call") return this.#call(block, isEnded);
    this.#degraded.add(`a block of the type ${plainName(fields["type"]).slice(0, 60) || "unknown"}`);
    return [];
  }

  #call({ fields, json, isWhole }: Block, isEnded: boolean): ReadPart[] {
    if (!isWhole && !isEnded) return [];
    const name = plainName(fields["name"]);
    if (name === "") {
      this.#degraded.add("arguments of a call without a name");
      return [];
    }
    const streamed = readArguments(json);
    const begun = readArguments(fields["input"]);
    const isStreamed =
      json.trim() !== "" && (streamed.unparsed !== undefined || Object.keys(streamed.arguments).length > 0);
    const call: ReadCall = {
      type: "toolCall",
      id: plainName(fields["id"]),
      name,
      ...(isStreamed ? streamed : begun),
    };
    return [call];
  }
}

function redacted(fields: Fields): ReadPart[] {
  const signature = stringOf(fields["data"]);
  return signature === "" ? [] : [{ type: "thinking", thinking: "", signature, redacted: true }];
}

function isSame(one: Fields, other: Fields): boolean {
  return (
    one["type"] === other["type"] &&
    one["id"] === other["id"] &&
    one["type"] === "tool_use" &&
    plainName(one["id"]) !== ""
  );
}

/** Whether a streamed block is the one that the beginning of the message already had. */
function repeats(streamed: Block, ahead: Block): boolean {
  if (streamed.index !== ahead.index || streamed.kind !== ahead.kind) return false;
  if (ahead.grows) return streamed.grows?.text.startsWith(ahead.grows.text) ?? false;
  return ahead.fields["id"] === streamed.fields["id"];
}
