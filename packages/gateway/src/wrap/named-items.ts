/**
 * Items and responses that a program of the Responses API names by their ids in place of sending them: those that have passed this
 * gateway. They are put into a request before it is read, so that the session, the engine and any upstream have the whole conversation.
 */
import { type Fields, parseRecord, recordsOf, stringOf } from "@pagurus/core/data/record-fields";

/** Maximum numbers of known items and responses; the oldest are forgotten. */
const MOST_NAMED_ITEMS = 5_000;
const MOST_RESPONSES = 500;
const REFERENCE = "item_reference";
/** One of these is in a body that names something, or whose input is a text and no list. */
const MARKS = [`"${REFERENCE}"`, '"previous_response_id"', '"input":"', '"input": "'];

interface KnownResponse {
  /** The response that it continues, if the request named one. */
  previous: string | undefined;
  /** The request's own input, then the answer. */
  items: readonly Fields[];
}

/** The items that a request names, and its input with them. */
interface Resolved {
  previous: string | undefined;
  input: readonly Fields[];
}

export class NamedItems {
  readonly #items = new Map<string, Fields>();
  readonly #responses = new Map<string, KnownResponse>();
  /** Of requests that were changed, by their new bodies. */
  readonly #resolved = new WeakMap<Buffer, Resolved>();

  /** The body with all named items that are known, and an input that is a list; undefined if it has nothing to change. */
  resolved(body: Buffer): Buffer | undefined {
    if (!MARKS.some((mark) => body.includes(mark))) return undefined;
    const fields = parseRecord(body.toString("utf8"));
    if (!fields) return undefined;
    const before = this.#before(stringOf(fields["previous_response_id"]));
    const own = inputOf(fields["input"]);
    const input = own.flatMap((item) => this.#whole(item));
    const isList = typeof fields["input"] !== "string";
    if (!before && isList && input.every((item, at) => item === own[at])) return undefined;
    const { previous_response_id: previous, ...rest } = fields;
    const kept = before || previous === undefined ? rest : fields;
    const changed = Buffer.from(JSON.stringify({ ...kept, input: [...(before ?? []), ...input] }));
    this.#resolved.set(changed, { previous: before ? stringOf(previous) : undefined, input });
    return changed;
  }

  /** The conversation up to a response; undefined if a part of it is not known. */
  #before(id: string): Fields[] | undefined {
    const parts: (readonly Fields[])[] = [];
    for (let next: string | undefined = id; next !== undefined;) {
      const known = this.#responses.get(next);
      if (!known) return undefined;
      parts.unshift(known.items);
      next = known.previous;
    }
    return parts.flat().flatMap(plain);
  }

  #whole(item: Fields): readonly Fields[] {
    const known = item["type"] === REFERENCE ? this.#items.get(stringOf(item["id"])) : undefined;
    return known ? plain(known) : [item];
  }

  /** Remembers an answer. `body`: of its request, as it was read; `output`: its items, as they came. */
  note(body: Buffer, responseId: string | undefined, output: readonly Fields[]): void {
    for (const item of output) putBounded(this.#items, stringOf(item["id"]), item, MOST_NAMED_ITEMS);
    const request = this.#resolved.get(body) ?? ownInput(body);
    if (responseId === undefined || !request) return;
    const items = [...request.input, ...output];
    putBounded(this.#responses, responseId, { previous: request.previous, items }, MOST_RESPONSES);
  }
}

/** Undefined for a request whose response cannot be named later. */
function ownInput(body: Buffer): Resolved | undefined {
  const fields = parseRecord(body.toString("utf8"));
  if (!fields || fields["store"] === false || fields["previous_response_id"] != null) return undefined;
  return { previous: undefined, input: inputOf(fields["input"]) };
}

function inputOf(input: unknown): readonly Fields[] {
  return typeof input === "string" ? [{ role: "user", content: input }] : recordsOf(input);
}

/**
 * An item without its id, which only the provider that stored it knows; none for thinking that only its provider can read, without which
 * a call is accepted only if it has no id.
 */
function plain({ id: _id, ...item }: Fields): Fields[] {
  return item["type"] === "reasoning" && stringOf(item["encrypted_content"]) === "" ? [] : [item];
}

function putBounded<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  if (key === "") return;
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}
