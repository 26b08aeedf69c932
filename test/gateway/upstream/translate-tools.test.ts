/** Parts of a request without a counterpart in other protocols, and limits of a model's protocol. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { WireAnswer } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { withServer } from "../../model/calling.ts";
import type { ReplyToolCall } from "../../servers/script.ts";
import type { RecordedRequest } from "../../servers/server.ts";
import { ask, bytesOf, send, type Body } from "./translating.ts";

const NAMESPACE = "mcp__a_server_with_a_name__that_goes_on_and_on";
const LONG = "a_tool_whose_name_is_rather_long_too";
const USER = { type: "message", role: "user", content: [{ type: "input_text", text: "Go." }] };

function offered({ body }: RecordedRequest): Record<string, Body> {
  const tools = (body["tools"] ?? []) as {
    function: { name: string; description: string; parameters: Body };
  }[];
  return Object.fromEntries(
    tools.map(({ function: { name, description, parameters } }) => [name, { description, parameters }]),
  );
}

/** The elements of a streamed answer of the Responses API, as Codex reads them. */
function done(bytes: Buffer): Body[] {
  return bytes
    .toString()
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => JSON.parse(line.slice("data: ".length)) as { type: string; item: Body })
    .filter(({ type }) => type === "response.output_item.done")
    .map(({ item }) => item);
}

const TOOLS = [
  { type: "function", name: "look", description: "Looks.", parameters: { type: "object", properties: {} } },
  {
    type: "custom",
    name: "apply_patch",
    description: "Applies a patch.",
    format: { type: "grammar", syntax: "lark", definition: "start: patch" },
  },
  { type: "local_shell" },
  { type: "tool_search", execution: "client", description: "Finds tools.", parameters: { type: "object" } },
  {
    type: "namespace",
    name: NAMESPACE,
    description: "",
    tools: [{ type: "function", name: LONG, parameters: {} }],
  },
  { type: "web_search" },
];

describe("tools of the Responses API", () => {
  const shortened = /^mcp__a_server_with_a_name__that_goes_on_and_on__a_tool__[0-9a-f]{8}$/;

  it("are offered as functions, and calls of them come back in the harness's form", () => {
    const name: { short?: string } = {};
    const script = ({ body }: RecordedRequest): { toolCalls: ReplyToolCall[] } => {
      name.short =
        Object.keys(offered({ body } as RecordedRequest)).find((each) => shortened.test(each)) ?? "none";
      const calls: [string, Record<string, unknown>][] = [
        ["look", { at: "pier" }],
        ["apply_patch", { input: "*** Begin Patch\n*** End Patch" }],
        ["local_shell", { command: ["ls", "-l"] }],
        ["tool_search", { query: "crab" }],
        [name.short, {}],
      ];
      return {
        toolCalls: calls.map(([each, args], at) => ({ id: `c_${at}`, name: each, arguments: args })),
      };
    };
    return withServer("openai-completions", script, async ({ server, model }) => {
      const body = { model: "m", input: [USER], tools: TOOLS };
      const answer = await send(model, { api: "openai-responses", body: { ...body, stream: true } });
      const items = done(await bytesOf(answer)).map(({ id: _id, status: _status, ...item }) => item);
      const expected = [
        { type: "function_call", name: "look", call_id: "c_0", arguments: '{"at":"pier"}' },
        {
          type: "custom_tool_call",
          name: "apply_patch",
          call_id: "c_1",
          input: "*** Begin Patch\n*** End Patch",
        },
        {
          type: "local_shell_call",
          call_id: "c_2",
          action: { type: "exec", env: {}, command: ["ls", "-l"] },
        },
        { type: "tool_search_call", call_id: "c_3", execution: "client", arguments: { query: "crab" } },
        { type: "function_call", name: LONG, namespace: NAMESPACE, call_id: "c_4", arguments: "{}" },
      ];
      assert.deepEqual(items, expected);
      const whole = await bytesOf(
        await send(model, { api: "openai-responses", body: { ...body, stream: false } }),
      );
      const { output } = JSON.parse(whole.toString()) as { output: Body[] };
      assert.deepEqual(
        output.map(({ id: _id, status: _status, ...item }) => item),
        expected,
      );
      const [request] = server.requests;
      assert.ok(request);
      const tools = offered(request);
      assert.deepEqual(Object.keys(tools), ["look", "apply_patch", "local_shell", "tool_search", name.short]);
      const { description, parameters } = tools["apply_patch"] ?? {};
      assert.match(String(description), /lark grammar:\nstart: patch/);
      assert.deepEqual((parameters as Body)["required"], ["input"]);
    });
  });

  it("are identified by their calls in the history, whatever form these have", () =>
    withServer("openai-completions", [{ text: "Done." }], async ({ server, model }) => {
      const input = [
        USER,
        { type: "custom_tool_call", call_id: "c_1", name: "apply_patch", input: "*** Begin" },
        { type: "local_shell_call", call_id: "c_2", action: { type: "exec", command: ["ls"] } },
        { type: "function_call", call_id: "c_3", name: LONG, namespace: NAMESPACE, arguments: "{}" },
        { type: "custom_tool_call_output", call_id: "c_1", output: "patched" },
        { type: "local_shell_call_output", call_id: "c_2", output: "a.txt" },
        { type: "function_call_output", call_id: "c_3", output: "done" },
        { type: "function_call_output", name: "browser_info", output: "The tab shows the harbour." },
      ];
      await ask(model, { api: "openai-responses", body: { model: "m", input, tools: TOOLS, stream: true } });
      const [request] = server.requests;
      const messages = (request?.body["messages"] ?? []) as Body[];
      const [, answer, ...rest] = messages;
      const calls = (answer?.["tool_calls"] ?? []) as { id: string; function: Body }[];
      assert.deepEqual(
        calls.map((call) => [call.id, call.function["arguments"]]),
        [
          ["c_1", '{"input":"*** Begin"}'],
          ["c_2", '{"type":"exec","command":["ls"]}'],
          ["c_3", "{}"],
        ],
      );
      assert.match(String(calls[2]?.function["name"]), shortened);
      assert.deepEqual(
        rest.map(({ role, content }) => [role, content]),
        [
          ["tool", "patched"],
          ["tool", "a.txt"],
          ["tool", "done"],
          ["user", "Output of browser_info:\n\nThe tab shows the harbour."],
        ],
      );
    }));

  it("may be in the input, from the harness or from its tool search", () =>
    withServer("openai-completions", [{ text: "Done." }], async ({ server, model }) => {
      const crab = { type: "function", name: "crab", description: "", parameters: { type: "object" } };
      const input = [
        { type: "additional_tools", role: "developer", tools: [TOOLS[0]] },
        { type: "message", role: "developer", content: [{ type: "input_text", text: "Be brief." }] },
        USER,
        { type: "tool_search_call", call_id: "c_1", execution: "client", arguments: { query: "crab" } },
        {
          type: "tool_search_output",
          call_id: "c_1",
          execution: "client",
          status: "completed",
          tools: [crab],
        },
      ];
      await ask(model, { api: "openai-responses", body: { model: "m", input, stream: true } });
      const [request] = server.requests;
      assert.ok(request);
      assert.deepEqual(Object.keys(offered(request)), ["look", "crab"]);
      assert.match(request.text, /Tools that are there now: crab/);
      assert.match(request.text, /"role":"system","content":"Be brief\."/);
    }));

  it("are offered with the request's tool choice", () =>
    withServer(
      "openai-completions",
      () => ({ text: "x" }),
      async ({ server, model }) => {
        const allowed = {
          type: "allowed_tools",
          mode: "required",
          tools: [{ type: "function", name: "look" }],
        };
        const choices = ["none", "required", { type: "function", name: "look" }, { type: "auto" }, allowed];
        for (const choice of choices) {
          const body = {
            model: "m",
            input: [USER],
            tools: TOOLS.slice(0, 2),
            tool_choice: choice,
            stream: true,
          };
          await ask(model, { api: "openai-responses", body });
        }
        const sent = server.requests.map((request) => [
          Object.keys(offered(request)).length,
          request.body["tool_choice"],
        ]);
        const named = { type: "function", function: { name: "look" } };
        assert.deepEqual(sent, [
          [2, "none"],
          [2, "required"],
          [2, named],
          [2, "auto"],
          [1, "required"],
        ]);
      },
    ));
});

describe("a compaction that a harness requests from the provider", () => {
  it("is made by the model and answered in the harness's form", () =>
    withServer(
      "openai-completions",
      [{ text: "The whelk is found." }, { text: "Yes." }],
      async ({ server, model }) => {
        const body = { model: "m", input: [USER, { type: "compaction_trigger" }], stream: true };
        const [item, ...more] = done(await bytesOf(await send(model, { api: "openai-responses", body })));
        assert.equal(item?.["type"], "compaction");
        assert.deepEqual(more, []);
        assert.match(server.requests[0]?.text ?? "", /Summarize the conversation/);
        const next = { model: "m", input: [item, USER], stream: true };
        await ask(model, { api: "openai-responses", body: next });
        assert.match(server.requests[1]?.text ?? "", /The whelk is found\./);
      },
    ));
});

describe("content that a model cannot accept", () => {
  it("is replaced by a note if it is an image and the model reads none", () =>
    withServer(
      "openai-completions",
      [{ text: "x" }],
      async ({ server, model }) => {
        const image = { type: "input_image", image_url: "data:image/png;base64,AAAA" };
        const input = [
          { type: "message", role: "user", content: [image, { type: "input_text", text: "What?" }] },
        ];
        await ask(model, { api: "openai-responses", body: { model: "m", input, stream: true } });
        const text = server.requests[0]?.text ?? "";
        assert.match(text, /image \(image\/png\) left out/);
        assert.ok(!text.includes("AAAA"));
      },
      { model: { input: ["text"] } },
    ));

  it("is limited to the model's own maximum if a harness requests more output", () =>
    withServer(
      "openai-completions",
      [{ text: "x" }],
      async ({ server, model }) => {
        const messages = [{ role: "user", content: "x" }];
        await ask(model, {
          api: "anthropic-messages",
          body: { model: "m", messages, max_tokens: 64_000, stream: true },
        });
        assert.equal(server.requests[0]?.body["max_tokens"], 8_000);
      },
      { model: { maxTokens: 8_000 } },
    ));

  it("gets unique ids if a server counts its calls from 0 in each answer", () => {
    const call = { id: "call_0", type: "function", function: { name: "look", arguments: "{}" } };
    const messages = [
      { role: "user", content: [{ type: "text", text: "x" }] },
      { role: "assistant", content: [{ type: "tool_use", id: "call_0", name: "look", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "call_0", content: "seen" }] },
    ];
    const toolCalls = [
      { id: call.id, name: "look", arguments: {} },
      { id: "call_1", name: "look", arguments: {} },
    ];
    return withServer("openai-completions", [{ toolCalls }, { toolCalls }], async ({ model }) => {
      const body = { model: "m", messages, max_tokens: 100, stream: true };
      const spliced = { ...body, messages: messages.slice(0, 1) };
      const asked = [{ body }, { body: spliced, original: body }];
      for (const each of asked) {
        const answer: WireAnswer = await ask(model, { api: "anthropic-messages", ...each });
        const ids = answer.message.content.map((part) => (part.type === "toolCall" ? part.id : ""));
        assert.deepEqual(ids, ["call_0_2", "call_1"]);
      }
    });
  });
});
