/** Long inputs: each kind of long value, at each place of a small body of each door. */
import { VALID } from "../model-api/mutations.ts";

const MB = 2 ** 20;
/** A little below the longest body of the server. */
const LONG = 31 * MB;
/** A little below the longest text, and the longest message of an ACP client. */
const LONG_TEXT = 7.5 * MB;
/** Of this many kinds of long values at a place one is sent; the next one at the next place. */
const TURN_ABOUT = 4;
/** A little below the longest images of one message. */
const IMAGE = 8 * MB - 100;
/** Below the most items of a body of `/v1`, of a message of an ACP client, and of any other body. */
const ITEMS = { v1: 49_000, acp: 7_500, other: 19_000 };

/** The most of one object. */
const MEMBERS = 2_000;

export interface LongInput {
  /** For example `/v1/messages messages.0.content: members`. */
  name: string;
  how: "http" | "acp-http" | "acp-socket";
  path: string;
  /** The body, or the message of an ACP client without its id. Made when it is used, as all together are gigabytes. */
  body(): object;
}

type Place = readonly (string | number)[];
type Door = Pick<LongInput, "how" | "path"> & { body: object };

/** Texts of a length in JSON: each is slow for another step of the work. */
const TEXTS: Readonly<Record<string, (bytes: number) => string>> = {
  words: (bytes) => "lorem ipsum ".repeat(bytes / 12),
  blanks: (bytes) => " ".repeat(bytes),
  lines: (bytes) => '\\"\n'.repeat(bytes / 6),
  halves: (bytes) => "\ud83d".repeat(bytes / 6),
  wide: (bytes) => "ä\u{1F980}".repeat(bytes / 6),
  base64: (bytes) => `data:image/png;base64,${"A".repeat(Math.min(bytes, IMAGE))}`,
  // A little below the longest name.
  name: () => "a".repeat(60_000),
};

/** Values with many items, for any place. */
const SHAPES: Readonly<Record<string, (items: number) => unknown>> = {
  members: () => Object.fromEntries(Array.from({ length: MEMBERS }, (_, at) => [`k${at}`, "v"])),
  records: (items) => Array.from({ length: items / MEMBERS - 1 }, () => SHAPES["members"]?.(items)),
  numbers: (items) => Array.from({ length: items }, (_, at) => at),
  objects: (items) => Array.from({ length: items / 2 }, () => ({})),
  nested: () => Array.from({ length: 90 }).reduce<unknown>((inner) => [inner], 0),
};

const IMAGE_PART = { type: "image", data: "AAAA", mimeType: "image/png" };
const TURNS = "/api/v1/sessions/main/turns";

const OWN_BODIES: Readonly<Record<string, object>> = {
  [TURNS]: {
    prompt: "Look.",
    parts: [{ type: "text", text: "a", source: "a" }, IMAGE_PART],
    additionalContext: { page: { value: "a", kind: "untrusted" } },
    model: "test/model",
    cwd: "/",
  },
  "/api/v1/sessions/main/steer": { text: "a" },
  "/api/v1/sessions/main/commands": { name: "status", args: "a" },
  "/api/v1/jobs": { prompt: "a", session: "main", times: { kind: "at", at: 4_000_000_000_000 } },
};

const ACP_BODIES: readonly object[] = [
  {
    method: "session/prompt",
    params: {
      sessionId: "main",
      prompt: [
        { type: "text", text: "Look." },
        IMAGE_PART,
        { type: "resource", resource: { uri: "file:///a", text: "a" } },
        { type: "resource_link", uri: "file:///a", name: "a" },
      ],
    },
  },
  {
    method: "session/new",
    params: { cwd: "/", mcpServers: [{ name: "a", command: "/a", args: ["a"], env: [] }] },
  },
  { method: "a/b", params: {} },
];

const user = (content: unknown): object => ({ role: "user", content });
const http = (path: string, body: object): Door => ({ how: "http", path, body });

/** Members that the small bodies lack. */
const MORE_BODIES: readonly Door[] = [
  http("/v1/chat/completions", { model: "test/model", messages: [user("a")], metadata: {}, user: "a" }),
  http("/v1/messages", {
    model: "test/model",
    max_tokens: 9,
    system: "a",
    messages: [user("a")],
    metadata: {},
  }),
  http("/v1/responses", { model: "test/model", input: "a", metadata: {}, previous_response_id: "a" }),
];

const DOORS: readonly Door[] = [
  ...MORE_BODIES,
  ...Object.entries(OWN_BODIES).map(([path, body]) => http(path, body)),
  ...Object.entries(VALID).flatMap(([path, bodies]) => bodies.map((body) => http(`/v1${path}`, body))),
  ...(["acp-http", "acp-socket"] as const).flatMap((how) =>
    ACP_BODIES.map((body): Door => ({ how, path: "/acp", body })),
  ),
];

function placesOf(value: unknown, at: Place = []): Place[] {
  if (typeof value !== "object" || value === null) return [at];
  const inner = Object.entries(value).flatMap(([key, each]) => placesOf(each, [...at, key]));
  return at.length === 0 ? inner : [at, ...inner];
}

function valueAt(body: object, place: Place): unknown {
  return place.reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], body);
}

function withValue(body: object, place: Place, value: unknown): object {
  const copy = structuredClone(body);
  const parent = valueAt(copy, place.slice(0, -1)) as Record<string, unknown>;
  parent[String(place.at(-1))] = value;
  return copy;
}

/** Copies of the list's items, up to a number of items in them. */
function repeated(list: readonly unknown[], items: number): unknown[] {
  const each = Math.max(1, (JSON.stringify(list).match(/[,{[]/g)?.length ?? 1) / Math.max(1, list.length));
  return Array.from({ length: items / (each + 1) }, (_, at) => list[at % Math.max(1, list.length)] ?? {});
}

function inputsOf(door: Door): LongInput[] {
  const { how, path, body } = door;
  const items = path.startsWith("/v1") ? ITEMS.v1 : path === "/acp" ? ITEMS.acp : ITEMS.other;
  const bytes = how === "http" ? LONG : LONG_TEXT;
  return placesOf(body).flatMap((place, number) => {
    const old = valueAt(body, place);
    const kinds: [string, () => unknown][] = Object.entries(SHAPES).map(([name, make]) => [
      name,
      () => make(items),
    ]);
    if (typeof old === "string")
      kinds.push(
        ...Object.entries(TEXTS).map(([name, make]): [string, () => unknown] => [name, () => make(bytes)]),
      );
    if (Array.isArray(old)) kinds.push(["many", () => repeated(old, items)]);
    const some = kinds.filter((_kind, at) => (at + number) % TURN_ABOUT === 0);
    return some.map(([kind, make]) => ({
      name: `${how} ${path} ${place.join(".")}: ${kind}`,
      how,
      path,
      body: () => withValue(body, place, make()),
    }));
  });
}

const image = (): object => ({
  type: "image_url",
  image_url: { url: TEXTS["base64"]?.(IMAGE) },
});
const blankMessages = (count: number, bytes: number): object[] =>
  Array.from({ length: count }, (_, at) => ({
    role: at % 2 === 0 ? "user" : "assistant",
    content: " ".repeat(bytes),
  }));

const call = (name: string, args: unknown): object => ({
  id: "c1",
  type: "function",
  function: { name, arguments: args },
});
/** A conversation of `/v1/chat/completions` with one call. */
const calling = (args: unknown): object[] => [
  user("a"),
  { role: "assistant", content: null, tool_calls: [call("a", args)] },
  { role: "tool", tool_call_id: "c1", content: "a" },
  user("b"),
];
/** Objects of the most members, up to a length in JSON; or one object of that length. */
const recordsText = (bytes: number): string => {
  const one = JSON.stringify(SHAPES["members"]?.(0));
  return JSON.stringify({ all: [] }).replace("[]", `[${`${one},`.repeat(bytes / one.length)}0]`);
};
const membersText = (bytes: number): string =>
  `{${Array.from({ length: bytes / 16 }, (_, at) => `"k${at}":"v"`).join(",")}}`;

/** Inputs that are long in several places at once, or long inside a text. */
export const SEVERAL: readonly LongInput[] = [
  {
    name: "http /v1/chat/completions: an unknown model with a long name",
    how: "http",
    path: "/v1/chat/completions",
    body: () => ({ model: TEXTS["name"]?.(0), messages: [user("a")] }),
  },
  {
    name: "http /api/v1/sessions/main/turns: an unknown model with a long name",
    how: "http",
    path: TURNS,
    body: () => ({ prompt: "a", model: TEXTS["name"]?.(0) }),
  },
  {
    name: "http /v1/chat/completions: three images",
    how: "http",
    path: "/v1/chat/completions",
    body: () => ({ model: "test/model", messages: [1, 2, 3].map(() => user([image()])) }),
  },
  {
    name: "http /v1/chat/completions: several texts of blanks",
    how: "http",
    path: "/v1/chat/completions",
    body: () => ({ model: "test/model", messages: [...blankMessages(6, 5 * MB), user("a")] }),
  },
  {
    name: "http /v1/chat/completions: arguments with objects of many members",
    how: "http",
    path: "/v1/chat/completions",
    body: () => ({ model: "test/model", messages: calling(recordsText(LONG_TEXT)) }),
  },
  {
    name: "http /v1/chat/completions: arguments of many members",
    how: "http",
    path: "/v1/chat/completions",
    body: () => ({ model: "test/model", messages: calling(membersText(3 * MB)) }),
  },
  {
    name: "http /v1/responses: arguments with objects of many members",
    how: "http",
    path: "/v1/responses",
    body: () => ({
      model: "test/model",
      input: [
        user("a"),
        { type: "function_call", call_id: "c1", name: "a", arguments: recordsText(3 * MB) },
        { type: "function_call_output", call_id: "c1", output: "a" },
        user("b"),
      ],
    }),
  },
  {
    name: "http /v1/messages: a call with objects of many members",
    how: "http",
    path: "/v1/messages",
    body: () => ({
      model: "test/model",
      max_tokens: 9,
      messages: [
        user("a"),
        {
          role: "assistant",
          content: [{ type: "tool_use", id: "c1", name: "a", input: { all: SHAPES["records"]?.(ITEMS.v1) } }],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "a" }] },
      ],
    }),
  },
  {
    name: "http /v1/messages: a schema of many members",
    how: "http",
    path: "/v1/messages",
    body: () => ({
      model: "test/model",
      max_tokens: 9,
      messages: [user("a")],
      tools: [{ name: "a", input_schema: { type: "object", properties: SHAPES["members"]?.(0) } }],
    }),
  },
];

/** One long value at each place of each door. */
export function longInputs(): LongInput[] {
  return DOORS.flatMap(inputsOf);
}
