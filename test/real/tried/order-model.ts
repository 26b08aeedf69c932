/**
 * The model of a trial. Each order is answered with a command that writes a file, a command that reads it, and words; a request for a
 * summary with the names that it shows.
 */
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";

/** The call of a program's shell with a command. */
export type ShellCall = (command: string) => {
  name: string;
  namespace?: string;
  arguments: Record<string, unknown>;
};

export interface OrderModelOptions {
  call: ShellCall;
  /** The order after whose answer the program's window counts as full, with the tokens that are reported for it. */
  full?: { order: number; tokens: number };
}

const THINGS = "anchor barrel capstan davit ensign fender gangway hawser jetty keel lantern mast".split(" ");
/** No sentence twice: some programs take repeated text for a loop. */
const SENTENCE = /The \w+ of quay \d+ was counted \d+ times in week/g;
/** Requests for suggestions and summaries may have tools, too. */
const BESIDE = /\[SUGGESTION MODE|<transcript>|Respond with TEXT ONLY|You are a context summarization a/;
/** OpenCode's words in its user's place after a compaction. */
const CONTINUE = "Continue if you have next steps";
const USED = { input: 4_000, output: 20 };

function filler(order: number): string {
  return THINGS.map(
    (thing, at) =>
      `The ${thing} of quay ${order * 20 + at} was counted ${at * 37 + order * 5} times in week ${at + 20}.`,
  ).join(" ");
}

/** A name that the user's words alone have. */
export function pilot(order: number): string {
  return `pilot-${order}-x`;
}

export function prompt(order: number): string {
  return `Order ${order}: berth ${order} is looked after by ${pilot(order)}. ${filler(order)}`;
}

export function fileOf(order: number): string {
  return `berth-${order}.txt`;
}

/** Computed by the shell, so that a request has it only as the result of a call. */
export function cargo(order: number): string {
  return `barge-${order}-${order + 700}-x`;
}

/** How many of an order's sentences a request shows. */
export function sentences({ text }: RecordedRequest, order: number): number {
  const own = new Set(filler(order).match(SENTENCE));
  return new Set(text.match(SENTENCE)?.filter((sentence) => own.has(sentence))).size;
}

/** The newest order that a request shows; undefined for a request beside the conversation. */
export function orderOf({ text, body }: RecordedRequest): number | undefined {
  const tools = Array.isArray(body["tools"]) ? body["tools"] : [];
  if (tools.length === 0 || BESIDE.test(text)) return undefined;
  const last = [...text.matchAll(/Order (\d+): berth/g)].at(-1);
  if (!last || text.lastIndexOf(CONTINUE) > last.index) return undefined;
  return Number(last[1]);
}

const idOf = (kind: "read" | "write", order: number): string => `call_${kind}_${order}`;

export class OrderModel {
  readonly #options: OrderModelOptions;

  constructor(options: OrderModelOptions) {
    this.#options = options;
  }

  answer(request: RecordedRequest): ReplyStep {
    const order = orderOf(request);
    if (order === undefined) return { text: summaryOf(request), usage: USED };
    const { call, full } = this.#options;
    const has = (id: string): boolean => request.text.includes(`"${id}"`);
    const [write, read] = [idOf("write", order), idOf("read", order)];
    if (!has(write)) {
      const command = `echo "barge-${order}-$((${order} + 700))-x" > ${fileOf(order)}`;
      return {
        text: `I write down berth ${order}.`,
        toolCalls: [{ id: write, ...call(command) }],
        usage: USED,
      };
    }
    if (!has(read))
      return { text: "I look.", toolCalls: [{ id: read, ...call(`cat ${fileOf(order)}`) }], usage: USED };
    const isFull = full?.order === order;
    return { text: `Answer ${order}.`, usage: isFull ? { input: full.tokens, output: 20 } : USED };
  }
}

/** With the headings that the engine wants, and each name that the request shows. */
function summaryOf({ text }: RecordedRequest): string {
  const pilots = [...new Set(text.match(/pilot-\d+-x/g))].join(", ");
  const barges = [...new Set(text.match(/barge-\d+-\d+-x/g))].join(", ");
  return [
    `## Goal\nThe keeper of the harbour has the berths looked after by ${pilots}.`,
    `## State\nThe files of the berths are written, with ${barges}.`,
    "## Decisions and constraints\nEach berth has a file of its own.",
    "## Open asks\nThe next order.",
  ].join("\n");
}
