/** The output items of an answer of the Responses API, from the events that build them and the copies that later events have. */
import { type Fields, isRecord, recordsOf, stringOf } from "../../data/record-fields.ts";
import { GrowingText } from "../answer-parts.ts";
import type { AnswerPiece } from "../answer-reader.ts";
import { plainCount, plainName } from "../answer-values.ts";

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
  /** Its own event began it: deltas may come before that. */
  isAdded: boolean;
  isDone: boolean;
}

/** Identity of a call, or of an item. */
function idsOf(fields: Fields): string[] {
  return [plainName(fields["call_id"]), plainName(fields["id"])].filter((id) => id !== "");
}

function isCall(type: string): boolean {
  return type.endsWith("_call");
}

/** Whether an item can be the one that `fields` describe, by type and ids. Some servers give an item another id in each event. */
function canBe(item: OutputItem, fields: Fields): boolean {
  const types = [stringOf(item.fields["type"]), stringOf(fields["type"])];
  if (!types.includes("") && types[0] !== types[1]) return false;
  const calls = [plainName(item.fields["call_id"]), plainName(fields["call_id"])];
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
    const item = {
      index,
      fields,
      texts: new Map(),
      refusals: new Set<string>(),
      args: "",
      isAdded: false,
      isDone: false,
    };
    this.#items.push(item);
    return item;
  }

  added(index: number | undefined, fields: Fields): void {
    const ids = idsOf(fields);
    const known = this.#items.find(
      (item) => !item.isDone && idsOf(item.fields).some((id) => ids.includes(id)),
    );
    const begun = this.#items.findLast(
      (item) => item.index === index && !item.isDone && !item.isAdded && canBe(item, fields),
    );
    const item = known ?? begun ?? this.#push(index, fields);
    item.fields = { ...item.fields, ...fields };
    item.isAdded = true;
    this.#contents(item, fields, false);
    if (isCall(stringOf(fields["type"]))) this.#pieces.push({ type: "call" });
  }

  /** The item that an event is about: by its id, else the newest one with its index, else the newest. */
  of(event: Fields, type: string): OutputItem {
    const id = plainName(event["item_id"]);
    const index = plainCount(event["output_index"]);
    const fits = ({ fields }: OutputItem): boolean => type === "" || stringOf(fields["type"]) === type;
    const byId = id === "" ? undefined : this.#items.findLast((item) => idsOf(item.fields).includes(id));
    const byIndex = this.#items.findLast(
      (item) => (index === undefined || item.index === index) && fits(item),
    );
    const open = byIndex?.isDone === true && index === undefined ? undefined : byIndex;
    return byId ?? open ?? this.#push(index, { type: type === "" ? "function_call" : type });
  }

  done(index: number | undefined, fields: Fields): void {
    const byId = this.#byId(fields, () => true);
    const fits = (item: OutputItem): boolean =>
      index === undefined ? isNamelessCopy(item, fields) : item.index === index && canBe(item, fields);
    const byIndex = this.#items.findLast((item) => !item.isDone && fits(item));
    this.#end(byId ?? byIndex ?? this.#push(index, fields), fields);
  }

  /** The copies of all items in the whole response, which may have other ids or none; items that are missing are added. */
  whole(output: readonly Fields[]): void {
    const left = new Set(this.#items);
    for (const [index, fields] of output.entries()) {
      const isFree = (item: OutputItem): boolean => left.has(item);
      const alike = this.#items.filter((item) => left.has(item) && isCopy(item, fields));
      const item = this.#byId(fields, isFree) ?? alike.find((each) => each.index === index) ?? alike[0];
      if (item) left.delete(item);
      this.#end(item ?? this.#push(index, fields), fields);
    }
  }

  #byId(fields: Fields, isFree: (item: OutputItem) => boolean): OutputItem | undefined {
    const ids = idsOf(fields);
    return this.#items.findLast(
      (item) => isFree(item) && canBe(item, fields) && idsOf(item.fields).some((id) => ids.includes(id)),
    );
  }

  #end(item: OutputItem, fields: Fields): void {
    const hasContent = recordsOf(fields["content"]).length > 0 || recordsOf(fields["summary"]).length > 0;
    const kept = hasContent ? {} : { content: item.fields["content"], summary: item.fields["summary"] };
    item.fields = { ...item.fields, ...fields, ...kept };
    item.isDone = true;
    this.#contents(item, fields, true);
    if (isCall(stringOf(fields["type"]))) this.#pieces.push({ type: "call" });
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

/** Whether an item of the whole response is a copy of one that streamed: by its texts, or by the arguments of a call without an id. */
function isCopy(item: OutputItem, fields: Fields): boolean {
  if (!canBe(item, fields)) return false;
  if (isCall(stringOf(fields["type"]))) return argumentsOf(item) === stringOf(fields["arguments"]);
  const streamed = [...item.texts.values()].map(({ text }) => text).join("");
  return textsIn(fields).startsWith(streamed);
}

/** The same where neither an index nor two ids distinguish them. */
function isNamelessCopy(item: OutputItem, fields: Fields): boolean {
  const isNamed = idsOf(item.fields).length > 0 && idsOf(fields).length > 0;
  return !isNamed && isCopy(item, fields);
}

function argumentsOf({ fields, args }: OutputItem): string {
  return stringOf(fields["arguments"]) || args;
}

function textsIn({ content, summary }: Fields): string {
  const parts = [...recordsOf(content), ...recordsOf(summary)];
  return parts.map((part) => stringOf(part["text"]) || stringOf(part["refusal"])).join("");
}
