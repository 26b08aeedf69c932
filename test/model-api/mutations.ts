/** Bodies near those that clients send: valid ones of each protocol, and seeded mutations of them. */
import fc from "fast-check";

export const VALID: Readonly<Record<string, readonly object[]>> = {
  "/chat/completions": [
    { model: "test/model", messages: [{ role: "user", content: "Hello." }], stream: true },
    {
      model: "test/model",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: [{ type: "text", text: "Look." }] },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: '{"at":1}' } }],
        },
        { role: "tool", tool_call_id: "c1", content: "Nothing." },
        {
          role: "user",
          content: [
            { type: "text", text: "And now?" },
            { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
          ],
        },
      ],
      tools: [
        {
          type: "function",
          function: { name: "look", description: "Looks.", parameters: { type: "object" } },
        },
      ],
      max_tokens: 100,
      temperature: 0,
    },
    { model: "agent/main", messages: [{ role: "user", content: "Hello." }] },
  ],
  "/messages": [
    { model: "test/model", max_tokens: 100, messages: [{ role: "user", content: "Hello." }] },
    {
      model: "test/model",
      max_tokens: 100,
      system: [{ type: "text", text: "Be brief." }],
      messages: [
        { role: "user", content: [{ type: "text", text: "Look." }] },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "Hm.", signature: "abc" },
            { type: "tool_use", id: "t1", name: "look", input: { at: 1 } },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "Nothing." }] },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } },
          ],
        },
      ],
      tools: [{ name: "look", description: "Looks.", input_schema: { type: "object" } }],
      stream: true,
    },
    { model: "agent/main", max_tokens: 100, messages: [{ role: "user", content: "Hello." }] },
  ],
  "/messages/count_tokens": [{ model: "test/model", messages: [{ role: "user", content: "Hello." }] }],
  "/responses": [
    { model: "test/model", input: "Hello." },
    {
      model: "test/model",
      instructions: "Be brief.",
      input: [
        { role: "user", content: [{ type: "input_text", text: "Look." }] },
        {
          type: "reasoning",
          id: "rs_1",
          summary: [{ type: "summary_text", text: "Hm." }],
          encrypted_content: "x",
        },
        { type: "function_call", call_id: "c1", name: "look", arguments: '{"at":1}' },
        { type: "function_call_output", call_id: "c1", output: "Nothing." },
        { type: "message", role: "user", content: "And now?" },
      ],
      tools: [{ type: "function", name: "look", parameters: { type: "object" } }],
      stream: true,
      store: false,
    },
    { model: "test/model", input: "Hello.", background: true },
    { model: "agent/main", input: "Hello." },
  ],
  "/responses/compact": [
    {
      model: "test/model",
      input: [
        { role: "user", content: "Hello." },
        { role: "assistant", content: "Hi." },
      ],
    },
  ],
};

const deep = Array.from({ length: 90 }).reduce<unknown>((inner) => [inner], 0);

/** Values of other kinds, at the edge of their kind, or long. */
export const odd: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  2 ** 53,
  "",
  "\0",
  "\ud800",
  "\udc00a",
  "x".repeat(10_000),
  "../../etc/passwd",
  "__proto__",
  "agent/",
  "test/nothing",
  [],
  {},
  [null],
  [[]],
  [{}],
  { type: "text" },
  { type: 1 },
  { type: "text", text: null },
  { role: "user" },
  { role: "tool", content: "x" },
  { role: "assistant", content: [{ type: "tool_use" }] },
  { type: "function_call" },
  { type: "function_call_output", call_id: "c9", output: [{ type: "input_text" }] },
  { type: "item_reference", id: "msg_none" },
  { type: "compaction", encrypted_content: "pagurus:summary:1:x\ny" },
  { toString: null, constructor: 1 },
  deep,
];

function places(value: unknown, at: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (typeof value !== "object" || value === null) return [at];
  const keys = Array.isArray(value) ? value.keys() : Object.keys(value);
  return [at, ...[...keys].flatMap((key) => places((value as Record<string, unknown>)[key], [...at, key]))];
}

export interface Change {
  place: number;
  how: "replace" | "remove" | "double" | "add";
  what: unknown;
  name: string;
}

export function changed(body: unknown, { place, how, what, name }: Change): unknown {
  const all = places(body);
  const [key, ...up] = (all[place % all.length] ?? []).toReversed();
  if (key === undefined) return how === "replace" ? what : body;
  let parent = body as Record<string | number, unknown>;
  for (const step of up.toReversed()) parent = parent[step] as typeof parent;
  if (how === "replace") parent[key] = what;
  else if (how === "add") {
    const inner = parent[key];
    if (typeof inner === "object" && inner !== null && !Array.isArray(inner))
      (inner as Record<string, unknown>)[name] = what;
    else parent[key] = [inner, what];
  } else if (Array.isArray(parent))
    parent.splice(Number(key), how === "remove" ? 1 : 0, ...(how === "remove" ? [] : [parent[Number(key)]]));
  else if (how === "remove") delete parent[key];
  else parent[`${key}`] = [parent[key], parent[key]];
  return body;
}

export const change: fc.Arbitrary<Change> = fc.record({
  place: fc.nat(200),
  how: fc.constantFrom("replace", "replace", "replace", "remove", "double", "add"),
  what: fc.oneof(fc.constantFrom(...odd), fc.jsonValue({ maxDepth: 3 })),
  name: fc.constantFrom("type", "role", "content", "__proto__", "id", "n", "audio", "functions", "prompt"),
});

export interface Mutated {
  path: string;
  /** JSON. */
  body: string;
}

/** One request in the path of each protocol; a third of them is valid. */
export const mutated: fc.Arbitrary<Mutated> = fc
  .record({
    path: fc.constantFrom(...Object.keys(VALID)),
    which: fc.nat(10),
    changes: fc.array(change, { maxLength: 2 }),
  })
  .map(({ path, which, changes }) => {
    const all = VALID[path] ?? [];
    let body: unknown = structuredClone(all[which % all.length]);
    for (const each of changes) body = changed(body, structuredClone(each));
    return { path, body: JSON.stringify(body) ?? "" };
  });
