/** The output items of an answer of the Responses API, from the events that build them and the copies that later events have. */
import { type Fields, isRecord, recordsOf, stringOf } from "../../data/record-fields.ts";
import { GrowingText } from "../answer-parts.ts";
import type { AnswerPiece } from "../answer-reader.ts";
import { plainCount, plainText } from "../answer-values.ts";

export interface OutputItem {
  readonly index: number | undefined;
  /** As the newest event has it. */
  fields: Fields;
  /** Content parts and parts of a summary that stream, by their place: `content 0`. */
  readonly texts: Map<string, GrowingText>;
  /** Places of refusals. */
  readonly refusals: Set<string>;
  /** The streamed arguments of a call. */
  args: string;
  isDone: boolean;
}

/** Identity of a call, or of an item. */
function idsOf(fields: Fields): string[] {
  return [plainText(fields["call_id"]), plainText(fields["id"])].filter((id) => id !== "");
}

function isCall(type: string): boolean {
  return type.endsWith("_call");
}

/** Whether an item can be the one that `fields` describe, by type and ids. Some servers give an item another id in each event. */
function canBe(item: OutputItem, fields: Fields): boolean {
  const types = [stringOf(item.fields["type"]), stringOf(fields["type"])];
  if (!types.includes("") && types[0] !== types[1]) return false;
  const calls = [plainText(item.fields["call_id"]), plainText(fields["call_id"])];
  return calls.includes("") || calls[0] === calls[1];
}

export class OutputItems {
  readonly #pieces: AnswerPiece[];
  readonly #items: OutputItem[] = [];
  readonly degraded = new Set<string>();

  constructor(pieces: AnswerPiece[]) {
    this.#pieces = pieces;
  }

  get size(): number {
    return this.#items.length;
  }

  /** In the order of their indexes, unless two have the same. */
  get inOrder(): readonly OutputItem[] {
    const indexes = this.#items.map(({ index }) => index);
    const isOrdered = new Set(indexes).size === indexes.length && !indexes.includes(undefined);
    return isOrdered ? this.#items.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0)) : this.#items;
  }

  #push(index: number | undefined, fields: Fields): OutputItem {
    const item = { index, fields, texts: new Map(), refusals: new Set<string>(), args: "", isDone: false };
    this.#items.push(item);
    return item;
  }

  added(index: number | undefined, fields: Fields): void {
    const ids = idsOf(fields);
    const known = this.#items.find(
      (item) => !item.isDone && idsOf(item.fields).some((id) => ids.includes(id)),
    );
    // Deltas may come before their item.
    const begun = this.#items.findLast(
      (item) =>
        item.index === index && !item.isDone && idsOf(item.fields).length === 0 && canBe(item, fields),
    );
    const item = known ?? begun ?? this.#push(index, fields);
    item.fields = { ...item.fields, ...fields };
    this.#contents(item, fields, false);
    if (isCall(stringOf(fields["type"]))) this.#pieces.push({ type: "call" });
  }

  /** The item that an event is about: by its id, else the newest one with its index, else the newest. */
  of(event: Fields, type: string): OutputItem {
    const id = plainText(event["item_id"]);
    const index = plainCount(event["output_index"]);
    const fits = ({ fields }: OutputItem): boolean => type === "" || stringOf(fields["type"]) === type;
    const byId = id === "" ? undefined : this.#items.findLast((item) => idsOf(item.fields).includes(id));
    const byIndex = this.#items.findLast(
      (item) => (index === undefined || item.index === index) && fits(item),
    );
    const open = byIndex?.isDone === true && index === undefined ? undefined : byIndex;
    return byId ?? open ?? this.#push(index, { type: type === "" ? "function_call" : type });
  }

  /** `isDone` of an item in the whole response too. */
  done(index: number | undefined, fields: Fields): void {
    const ids = idsOf(fields);
    const byId = this.#items.findLast(
      (item) => idsOf(item.fields).some((id) => ids.includes(id)) && canBe(item, fields),
    );
    const byIndex = this.#items.findLast(
      (item) => !item.isDone && (index === undefined || item.index === index) && canBe(item, fields),
    );
    const item = byId ?? byIndex ?? this.#repeated(index, fields) ?? this.#push(index, fields);
    const hasContent = recordsOf(fields["content"]).length > 0 || recordsOf(fields["summary"]).length > 0;
    const kept = hasContent ? {} : { content: item.fields["content"], summary: item.fields["summary"] };
    item.fields = { ...item.fields, ...fields, ...kept };
    item.isDone = true;
    this.#contents(item, fields, true);
    if (isCall(stringOf(fields["type"]))) this.#pieces.push({ type: "call" });
  }

  /** The whole response's copy of an item that is done, under another id. */
  #repeated(index: number | undefined, fields: Fields): OutputItem | undefined {
    if (isCall(stringOf(fields["type"]))) return undefined;
    const item = this.#items.find((each) => each.isDone && each.index === index && canBe(each, fields));
    return item && textsIn(item.fields) === textsIn(fields) ? item : undefined;
  }

  /** The texts in a copy of the item complete those that streamed. */
  #contents(item: OutputItem, fields: Fields, isDone: boolean): void {
    for (const [kind, value] of [
      ["content", fields["content"]],
      ["summary", fields["summary"]],
    ] as const) {
      if (typeof value === "string") this.text(item, `${kind} 0`, value, isDone);
      for (const [at, part] of recordsOf(value).entries()) this.part(item, `${kind} ${at}`, part);
    }
  }

  /** A content part, or a part of a summary, as far as it is text. */
  part(item: OutputItem, place: string, part: Fields): void {
    const text = part["text"] ?? part["refusal"] ?? part["transcript"];
    if (part["refusal"] !== undefined && part["text"] === undefined) item.refusals.add(place);
    if (typeof text === "string") this.text(item, place, text, true);
    else if (isRecord(part) && stringOf(part["type"]) !== "")
      this.degraded.add(`a part of the type ${stringOf(part["type"]).slice(0, 60)}`);
  }

  /** `isWhole`: the text is all of the part, else the next piece. */
  text(item: OutputItem, place: string, text: string, isWhole: boolean): void {
    const isThinking = stringOf(item.fields["type"]) === "reasoning";
    let part = item.texts.get(place);
    if (!part) {
      part = new GrowingText(isThinking ? "thinking" : "text", this.#pieces);
      item.texts.set(place, part);
    }
    if (!isWhole) part.add(text);
    else if (!part.complete(text)) this.degraded.add(`${part.kind} that streamed and differs from its item`);
  }

  grow(item: OutputItem, args: string): void {
    item.args += args;
    this.#pieces.push({ type: "call" });
  }
}

function textsIn({ content, summary }: Fields): string {
  const parts = [...recordsOf(content), ...recordsOf(summary)];
  return parts.map((part) => stringOf(part["text"]) || stringOf(part["refusal"])).join("");
}
