/** Generated answers: the parts of a model, and events that carry them in one of the many ways of servers. */
import { random } from "../runner/seeded-random.ts";

export interface Part {
  type: "text" | "thinking" | "call";
  text: string;
  args: Record<string, unknown>;
}

export interface Event {
  event?: string;
  data: string;
}

type Json = Record<string, unknown>;

/** Decisions of a server, the same for the same seed. */
export class Whim {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = random(seed);
  }

  /** A number below `limit`. */
  below(limit: number): number {
    return Math.floor(this.#next() * limit);
  }

  /** True with a chance of one in `of`. */
  one(of: number): boolean {
    return this.below(of) === 0;
  }

  /** The text in pieces; a surrogate pair may be split. Never an empty list. */
  pieces(text: string): string[] {
    const pieces: string[] = [];
    for (let at = 0; at < text.length;) {
      const size = 1 + this.below(6);
      pieces.push(text.slice(at, at + size));
      at += size;
    }
    return pieces.length === 0 ? [""] : pieces;
  }
}

function named(type: string, fields: Json): Event {
  return { event: type, data: JSON.stringify({ type, ...fields }) };
}

function argumentsIn({ args }: Part, whim: Whim): string {
  const text = JSON.stringify(args);
  return whim.one(6) ? JSON.stringify(text) : text;
}

export function messagesEvents(parts: readonly Part[], whim: Whim): Event[] {
  const hasNames = !whim.one(6);
  const isShared = whim.one(5);
  const events = [
    named("message_start", {
      message: { id: "m", type: "message", role: "assistant", model: "m", content: [] },
    }),
  ];
  for (const [at, part] of parts.entries()) {
    const index = isShared ? 0 : at;
    const indexed = whim.one(8) ? String(index) : index;
    events.push(...messagesBlock(part, indexed, whim));
    if (isShared || !whim.one(4)) events.push(named("content_block_stop", { index: indexed }));
  }
  const reason = parts.some(({ type }) => type === "call") ? "tool_use" : "end_turn";
  const ways = whim.below(3);
  if (ways !== 1)
    events.push(named("message_delta", { delta: { stop_reason: reason }, usage: { output_tokens: 5 } }));
  if (ways !== 2) events.push(named("message_stop", {}));
  return hasNames ? events : events.map(({ data }) => ({ data }));
}

function messagesBlock(part: Part, index: unknown, whim: Whim): Event[] {
  const start = (content_block: Json): Event => named("content_block_start", { index, content_block });
  const delta = (fields: Json): Event => named("content_block_delta", { index, delta: fields });
  if (part.type === "call") {
    const text = argumentsIn(part, whim);
    const block = { type: "tool_use", id: part.text, name: "probe" };
    if (whim.one(4)) return [start({ ...block, input: part.args })];
    return [
      start({ ...block, input: {} }),
      ...whim.pieces(text).map((partial_json) => delta({ type: "input_json_delta", partial_json })),
    ];
  }
  const member = part.type;
  const pieces = whim.pieces(part.text);
  const first = whim.one(3) ? (pieces.shift() ?? "") : "";
  return [
    start({ type: member, [member]: first }),
    ...pieces.map((text) => delta({ type: `${member}_delta`, [member]: text })),
  ];
}

export function completionsEvents(parts: readonly Part[], whim: Whim): Event[] {
  const head = whim.one(5) ? {} : { id: "c", object: "chat.completion.chunk", created: 1, model: "m" };
  const chunk = (delta: unknown, finish: unknown = null): Event => ({
    data: JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason: finish }] }),
  });
  const thinking = ["reasoning_content", "reasoning", "reasoning_text"][whim.below(3)] ?? "";
  const numbering = whim.below(3);
  let calls = 0;
  const events = parts.flatMap((part): Event[] => {
    if (part.type === "text") return whim.pieces(part.text).map((content) => chunk({ content }));
    if (part.type === "thinking") return whim.pieces(part.text).map((text) => chunk({ [thinking]: text }));
    const index = calls++;
    const number: Json = [{ index }, { index: 0 }, {}][numbering] ?? {};
    const isWhole = whim.one(3);
    const pieces = isWhole ? [argumentsIn(part, whim)] : whim.pieces(argumentsIn(part, whim));
    const later = !isWhole && whim.one(4) && numbering === 0 ? { index: String(index) } : number;
    return pieces.map((text, at) =>
      chunk({
        tool_calls: [
          at === 0
            ? { ...number, id: part.text, type: "function", function: { name: "probe", arguments: text } }
            : { ...later, function: { arguments: text } },
        ],
      }),
    );
  });
  const reason = calls > 0 ? "tool_calls" : "stop";
  const way = whim.below(3);
  if (way !== 1) events.push(chunk({}, whim.one(5) ? { reason } : reason));
  if (way !== 2) events.push({ data: "[DONE]" });
  return events;
}

export function responsesEvents(parts: readonly Part[], whim: Whim): Event[] {
  const isIndexed = !whim.one(5);
  const hasIds = isIndexed || !whim.one(2);
  const output: Json[] = [];
  const events = [
    named("response.created", { response: { id: "r", status: "in_progress", model: "m", output: [] } }),
  ];
  for (const [at, part] of parts.entries()) {
    const item = responsesItem(part, at, hasIds, whim);
    output.push(item);
    const index = isIndexed ? { output_index: whim.one(8) ? String(at) : at } : {};
    const id = hasIds ? { item_id: `i${at}` } : {};
    events.push(...responsesItemEvents(part, item, { ...index }, { ...index, ...id }, whim));
  }
  // An item without any event is in the whole response alone.
  const response = { id: "r", status: "completed", model: "m", output: whim.one(2) ? output : [] };
  events.push(named(whim.one(6) ? "response.done" : "response.completed", { response }));
  return events;
}

function responsesItem(part: Part, at: number, hasIds: boolean, whim: Whim): Json {
  const id = hasIds ? { id: `i${at}` } : {};
  if (part.type === "text")
    return { ...id, type: "message", role: "assistant", content: [{ type: "output_text", text: part.text }] };
  if (part.type === "call")
    return {
      ...id,
      type: "function_call",
      call_id: part.text,
      name: "probe",
      arguments: argumentsIn(part, whim),
    };
  const list = whim.one(2) ? "summary" : "content";
  const type = list === "summary" ? "summary_text" : "reasoning_text";
  return { ...id, type: "reasoning", summary: [], [list]: [{ type, text: part.text }] };
}

/** The beginning, deltas and end of an item, or some of them that have all of it. */
function responsesItemEvents(part: Part, item: Json, index: Json, place: Json, whim: Whim): Event[] {
  const done = named("response.output_item.done", { ...index, item });
  // Without ids and indexes only the end of each item shows which one is meant.
  const isNamed = place["item_id"] !== undefined || place["output_index"] !== undefined;
  const way = isNamed ? whim.below(4) : whim.below(2) * 2;
  if (way === 0) return [done];
  const { content: _content, summary: _summary, ...bare } = item;
  const empty = part.type === "call" ? { ...bare, arguments: "" } : { ...bare, content: [], summary: [] };
  const added = named("response.output_item.added", { ...index, item: empty });
  const summary = item["content"] === undefined;
  const [type, text] =
    part.type === "call"
      ? ["function_call_arguments", String(item["arguments"])]
      : part.type === "text"
        ? ["output_text", part.text]
        : [summary ? "reasoning_summary_text" : "reasoning_text", part.text];
  const at =
    part.type === "call"
      ? {}
      : summary && part.type === "thinking"
        ? { summary_index: 0 }
        : { content_index: 0 };
  const deltas = whim
    .pieces(text)
    .map((delta) => named(`response.${type}.delta`, { ...place, ...at, delta }));
  const last =
    whim.one(2) || !isNamed
      ? [done]
      : [
          named(`response.${type}.done`, {
            ...place,
            ...at,
            [part.type === "call" ? "arguments" : "text"]: text,
          }),
        ];
  return [added, ...deltas, ...(way === 1 ? [] : last), ...(way === 3 && last[0] !== done ? [done] : [])];
}

export function geminiEvents(parts: readonly Part[], whim: Whim): Event[] {
  const wraps = whim.one(6);
  const chunk = (content: unknown, more: Json = {}): Event => {
    const object = {
      candidates: [{ content: { role: "model", parts: content }, index: 0, ...more }],
      modelVersion: "m",
    };
    return { data: JSON.stringify(wraps ? { response: object } : object) };
  };
  const written = parts.flatMap((part): Json[] => {
    if (part.type === "text") return whim.pieces(part.text).map((text) => ({ text }));
    if (part.type === "thinking") return whim.pieces(part.text).map((text) => ({ text, thought: true }));
    const args = whim.one(6) ? JSON.stringify(part.args) : part.args;
    return [{ functionCall: { id: part.text, name: "probe", args } }];
  });
  const events: Event[] = [];
  while (written.length > 0) {
    const some = written.splice(0, 1 + whim.below(3));
    events.push(chunk(some.length === 1 && whim.one(4) ? some[0] : some));
  }
  events.push(chunk([], { finishReason: whim.one(5) ? "OTHER" : "STOP" }));
  return events;
}

const STRANGE: readonly Event[] = [
  { event: "vendor.event", data: '{"type":"vendor.event","text":"x","delta":{"vendor":1}}' },
  { data: '{"type":"ping"}' },
  { data: '{"object":"vendor.summary","cost":1}' },
  { data: "PROCESSING" },
  { data: "null" },
  { data: "[1]" },
  { data: "" },
];

/** The events with unknown ones among them, as bytes of a stream. */
export function bytesOf(events: readonly Event[], whim: Whim): Buffer {
  const end = ["\n", "\r\n", "\r"][whim.below(3)] ?? "\n";
  const lines = events.flatMap((own) => {
    const strange = whim.one(4) ? [STRANGE[whim.below(STRANGE.length)] ?? own] : [];
    return [...strange, own].map(({ event, data }) => {
      const comment = whim.one(8) ? `: alive${end}${end}` : "";
      return `${comment}${event === undefined ? "" : `event: ${event}${end}`}data: ${data}${end}${end}`;
    });
  });
  const text = lines.join("");
  return Buffer.from(whim.one(6) ? text.slice(0, -end.length) : text);
}
