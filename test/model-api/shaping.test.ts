/** The shape of an answer that a client asks for reaches a model of any protocol, or the error says why not. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { FIELDS } from "../../packages/server/src/model-api/fields.ts";
import { everyNth } from "../runner/short-form.ts";
import type { Protocol } from "../servers/server.ts";
import { ApiBench, type Reply } from "./setting.ts";

type Body = Record<string, unknown>;

const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const PARAMETERS = { type: "object", properties: {} };
const HELLO = [{ role: "user", content: "Hello." }];

const PLAIN: Readonly<Record<string, Body>> = {
  "/chat/completions": {
    model: "test/model",
    messages: HELLO,
    tools: [{ type: "function", function: { name: "look", parameters: PARAMETERS } }],
  },
  "/messages": {
    model: "test/model",
    max_tokens: 100,
    messages: HELLO,
    tools: [{ name: "look", input_schema: PARAMETERS }],
  },
  "/responses": {
    model: "test/model",
    input: "Hello.",
    tools: [{ type: "function", name: "look", parameters: PARAMETERS }],
  },
};
const SHAPES: Readonly<Record<string, { schema: Body; named: Body }>> = {
  "/chat/completions": {
    schema: { response_format: { type: "json_schema", json_schema: { name: "place", schema: SCHEMA } } },
    named: { tool_choice: { type: "function", function: { name: "look" } } },
  },
  "/messages": {
    schema: { output_config: { format: { type: "json_schema", schema: SCHEMA } } },
    named: { tool_choice: { type: "tool", name: "look" } },
  },
  "/responses": {
    schema: { text: { format: { type: "json_schema", name: "place", schema: SCHEMA } } },
    named: { tool_choice: { type: "function", name: "look" } },
  },
};
const PATHS = Object.keys(PLAIN);
const PROTOCOLS: readonly Protocol[] = [
  "openai-completions",
  "openai-responses",
  "anthropic-messages",
  "google",
];

/** The documented default of each field, which asks for nothing. */
const DEFAULTS: Readonly<Record<string, Body>> = {
  "/chat/completions": {
    n: 1,
    tool_choice: "auto",
    response_format: { type: "text" },
    stop: [],
    logprobs: false,
    top_logprobs: 0,
    logit_bias: {},
    prediction: null,
    modalities: ["text"],
    audio: null,
    verbosity: "medium",
    parallel_tool_calls: true,
    presence_penalty: 0,
    frequency_penalty: 0,
    temperature: 1,
    top_p: 1,
    seed: null,
    service_tier: "auto",
    store: false,
    functions: [],
    function_call: "none",
    metadata: {},
    stream_options: null,
    web_search_options: null,
  },
  "/messages": {
    tool_choice: { type: "auto" },
    stop_sequences: [],
    mcp_servers: [],
    container: null,
    context_management: { edits: [] },
    service_tier: "auto",
    thinking: { type: "disabled" },
    thread: { type: "create" },
    metadata: {},
    temperature: 1,
    top_p: 1,
    betas: [],
    speed: null,
    output_config: {},
  },
  "/responses": {
    tool_choice: "auto",
    text: { format: { type: "text" }, verbosity: "medium" },
    top_logprobs: 0,
    prompt: null,
    max_tool_calls: null,
    context_management: [],
    truncation: "disabled",
    include: [],
    background: false,
    parallel_tool_calls: true,
    service_tier: "auto",
    temperature: 1,
    top_p: 1,
    metadata: {},
    reasoning: {},
    stream_options: null,
    client_metadata: {},
  },
};

describe("the shape that a client asks for", () => {
  let bench: ApiBench;
  afterEach(() => bench.end());

  function sent(): string {
    return bench.model.requests.at(-1)?.text ?? "";
  }

  async function ask(path: string, more: Body): Promise<Reply> {
    return bench.post(path, { ...PLAIN[path], ...more });
  }

  for (const protocol of PROTOCOLS)
    it(`reaches a model of ${protocol} from each endpoint`, async () => {
      bench = await ApiBench.open(protocol, () => ({ text: '{"city":"Bern"}' }));
      for (const path of PATHS) {
        const { schema, named } = SHAPES[path] ?? assert.fail();
        const formed = await ask(path, schema);
        assert.equal(formed.status, 200, `${path}: ${formed.text}`);
        assert.match(sent(), /"city"/, path);
        const chosen = await ask(path, named);
        assert.equal(chosen.status, 200, `${path}: ${chosen.text}`);
        assert.match(sent(), /"(tool_choice|functionCallingConfig)":\{[^}]*/, path);
        assert.match(sent(), /"(name|allowedFunctionNames)":\[?"look"/, path);
        const unknown = JSON.parse(JSON.stringify(named).replace("look", "crab")) as Body;
        const missing = await ask(path, unknown);
        const isOwn = missing.status === 200;
        if (!isOwn) assert.match(missing.text, /\\"crab\\"/);
      }
    });

  for (const protocol of PROTOCOLS)
    it(`may have counts in the stream, of a model of ${protocol}`, async () => {
      bench = await ApiBench.open(protocol, () => ({ text: "Yes.", usage: { input: 11, output: 3 } }));
      const { text } = await ask("/chat/completions", {
        stream: true,
        stream_options: { include_usage: true },
      });
      assert.match(text, /"total_tokens":14/);
      const { text: without } = await ask("/chat/completions", { stream: true });
      // One of the same protocol is passed on as its server writes it.
      if (protocol !== "openai-completions") assert.doesNotMatch(without, /"total_tokens"/);
    });

  it("is an error that says what the protocol lacks", async () => {
    bench = await ApiBench.open("openai-responses", () => ({ text: "Yes." }));
    const stop = await ask("/chat/completions", { stop: ["END"] });
    assert.equal(stop.status, 400);
    assert.match(stop.text, /stop sequences/);
    await bench.end();
    bench = await ApiBench.open("anthropic-messages", () => ({ text: "Yes." }));
    for (const [path, more, words] of [
      ["/chat/completions", { verbosity: "low" }, /verbosity/],
      ["/responses", { text: { verbosity: "high" } }, /verbosity/],
      ["/chat/completions", { response_format: { type: "json_object" } }, /JSON answer without a schema/],
      ["/responses", { tool_choice: { type: "web_search" } }, /web_search/],
    ] as const) {
      const { status, text } = await ask(path, more);
      assert.equal(status, 400, text);
      assert.match(text, words);
    }
    const stopped = await ask("/chat/completions", { stop: "END" });
    assert.equal(stopped.status, 200, stopped.text);
    assert.match(sent(), /"stop_sequences":\["END"\]/);
  });

  for (const protocol of PROTOCOLS)
    it(`may be the default of each field, for a model of ${protocol}`, async () => {
      bench = await ApiBench.open(protocol, () => ({ text: "Yes." }));
      for (const path of PATHS) {
        for (const [name, value] of everyNth(Object.entries(DEFAULTS[path] ?? {}), 8)) {
          const { status, text } = await ask(path, { [name]: value });
          assert.equal(status, 200, `${path} ${name}: ${text}`);
        }
        const all = await ask(path, DEFAULTS[path] ?? {});
        assert.equal(all.status, 200, `${path}: ${all.text}`);
      }
    });

  it("has a default for each field that may be refused", () => {
    for (const path of PATHS)
      for (const [name, handling] of FIELDS[path as keyof typeof FIELDS])
        if (handling === "refused" || handling === "passed")
          assert.ok(name in (DEFAULTS[path] ?? {}), `${path} ${name}`);
  });
});

describe("fields that the endpoint does not know", () => {
  const VENDOR = {
    chat_id: "x",
    top_k: 5,
    chat_template_kwargs: { a: 1 },
    provider: { order: [] },
    keep_alive: 5,
  };
  let bench: ApiBench;
  afterEach(() => bench.end());

  async function ask(path: string): Promise<Response> {
    return fetch(`${bench.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...PLAIN[path], ...VENDOR }),
    });
  }

  it("go to a provider of the same protocol", async () => {
    bench = await ApiBench.open("openai-completions", () => ({ text: "Yes." }));
    const response = await ask("/chat/completions");
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("x-pagurus-ignored-fields"), null);
    const body = bench.model.requests[0]?.body ?? {};
    for (const [name, value] of Object.entries(VENDOR)) assert.deepEqual(body[name], value);
  });

  it("are ignored for any other model, and named in a header", async () => {
    bench = await ApiBench.open("google", () => ({ text: "Yes." }));
    for (const path of PATHS) {
      const response = await ask(path);
      assert.equal(response.status, 200, await response.text());
      const named = response.headers.get("x-pagurus-ignored-fields")?.split(", ");
      assert.deepEqual(named?.toSorted(), Object.keys(VENDOR).toSorted());
    }
  });
});
