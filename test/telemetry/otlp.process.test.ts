/** Spans of turns at the port of a collector: `pagurus run` with a tool, in the GenAI conventions, without contents. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { startServer, type ModelServer, type ReplyScript } from "../servers/server.ts";
import { finish, makeSetting, modelConfig, type Setting } from "../turn/setting.ts";

interface Value {
  stringValue?: string;
  intValue?: number;
  doubleValue?: number;
  arrayValue?: { values: Value[] };
}
interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: Value }[];
  status: { code: number };
}
interface Export {
  resourceSpans: {
    resource: { attributes: { key: string; value: Value }[] };
    scopeSpans: { scope: { name: string }; spans: Span[] }[];
  }[];
}

/** Takes exports as a collector does, at `/v1/traces` alone. */
class Collector {
  readonly exports: { path: string; headers: Record<string, unknown>; text: string }[] = [];
  status = 200;
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      let text = "";
      request.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      request.on("end", () => {
        this.exports.push({ path: request.url ?? "", headers: request.headers, text });
        response.writeHead(this.status, { "content-type": "application/json" }).end("{}");
      });
    });
  }

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get spans(): Span[] {
    return this.exports.flatMap(({ text }) =>
      (JSON.parse(text) as Export).resourceSpans.flatMap(({ scopeSpans }) =>
        scopeSpans.flatMap(({ spans }) => spans),
      ),
    );
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

function attributesOf(span: Span | undefined): Record<string, unknown> {
  return Object.fromEntries(
    (span?.attributes ?? []).map(({ key, value }) => [
      key,
      value.stringValue ??
        value.intValue ??
        value.doubleValue ??
        value.arrayValue?.values.map((each) => each.stringValue),
    ]),
  );
}

const SCRIPT: ReplyScript = [
  {
    toolCalls: [{ id: "call_1", name: "read", arguments: { path: "heron.txt" } }],
    usage: { input: 90, cacheRead: 10, output: 20 },
  },
  { text: "A grey heron.", usage: { input: 40, cacheRead: 100, output: 5 } },
];

describe("spans at an OpenTelemetry collector", () => {
  let model: ModelServer;
  let setting: Setting;
  let collector: Collector;
  let endpoint: string;
  beforeEach(async () => {
    collector = new Collector();
    endpoint = await collector.open();
  });
  afterEach(async () => {
    await model.close();
    collector.close();
    setting.remove();
  });

  async function run(script: ReplyScript, otlp: object = {}, env: Record<string, string> = {}) {
    model = await startServer({ protocol: "openai-completions", script });
    setting = makeSetting(
      modelConfig("openai-completions", model.url, {}, { telemetry: { otlp: { endpoint, ...otlp } } }),
    );
    Object.assign(setting.env, env);
    writeFileSync(join(setting.workspace, "heron.txt"), "a grey heron");
    return finish(setting, ["run", "Which bird is it?"]);
  }

  it("a turn is one trace: the agent, each model call, each tool call, with tokens and without contents", async () => {
    const { code, stderr } = await run(
      SCRIPT,
      { headers: { "x-key": "${COLLECTOR_KEY}" } },
      { COLLECTOR_KEY: "k1" },
    );
    assert.equal(code, 0, stderr);
    const [first] = collector.exports;
    assert.equal(first?.path, "/v1/traces");
    assert.equal(first.headers["x-key"], "k1");
    const { spans } = collector;
    const agent = spans.find(({ name }) => name === "invoke_agent main");
    assert.ok(agent);
    const inside = spans.filter((span) => span !== agent);
    assert.deepEqual(inside.map(({ name }) => name).toSorted(), [
      "chat model",
      "chat model",
      "execute_tool read",
    ]);
    for (const span of inside) {
      assert.equal(span.traceId, agent.traceId);
      assert.equal(span.parentSpanId, agent.spanId);
      assert.ok(BigInt(span.startTimeUnixNano) <= BigInt(span.endTimeUnixNano));
      assert.ok(BigInt(span.endTimeUnixNano) <= BigInt(agent.endTimeUnixNano));
    }
    const chats = inside.filter(({ name }) => name === "chat model").map(attributesOf);
    assert.deepEqual(
      chats.map((chat) => [
        chat["gen_ai.usage.input_tokens"],
        chat["gen_ai.usage.cache_read.input_tokens"],
        chat["gen_ai.usage.output_tokens"],
        chat["gen_ai.response.finish_reasons"],
      ]),
      [
        [100, 10, 20, ["toolUse"]],
        [140, 100, 5, ["stop"]],
      ],
    );
    const turn = attributesOf(agent);
    assert.equal(turn["gen_ai.operation.name"], "invoke_agent");
    assert.equal(turn["gen_ai.provider.name"], "test");
    assert.equal(turn["gen_ai.request.model"], "model");
    assert.equal(turn["gen_ai.usage.input_tokens"], 240);
    assert.equal(turn["pagurus.runtime"], "embedded");
    const all = collector.exports.map(({ text }) => text).join("");
    assert.doesNotMatch(all, /heron|Which bird/);
  });

  it("has answers, and arguments and results of tools, where the configuration asks for them", async () => {
    await run(SCRIPT, { contents: true });
    const tool = attributesOf(collector.spans.find(({ name }) => name === "execute_tool read"));
    assert.equal(tool["gen_ai.tool.call.arguments"], '{"path":"heron.txt"}');
    assert.match(String(tool["gen_ai.tool.call.result"]), /a grey heron/);
  });

  it("a failed turn is a failed trace with the code of its error", async () => {
    const { code } = await run([{ status: 401 }]);
    assert.notEqual(code, 0);
    const agent = collector.spans.find(({ name }) => name === "invoke_agent main");
    assert.equal(agent?.status.code, 2);
    assert.equal(attributesOf(agent)["error.type"], "model_auth");
  });

  it("a collector that refuses or is down fails no turn", async () => {
    collector.status = 400;
    const { code, stdout } = await run([{ text: "Done." }]);
    assert.equal(code, 0);
    assert.match(stdout, /Done\./);
    collector.close();
    const again = await finish(setting, ["run", "Once more."]);
    assert.equal(again.code, 1, "the script has no more steps");
    assert.match(again.stderr, /no step/);
  });

  it("a header that refers to a variable that is not set is refused before the turn", async () => {
    const { code, stderr } = await run([{ text: "Done." }], { headers: { "x-key": "${COLLECTOR_KEY}" } });
    assert.notEqual(code, 0);
    assert.match(stderr, /telemetry\.otlp\.headers\.x-key refers to the environment variable COLLECTOR_KEY/);
    assert.equal(model.requests.length, 0);
  });
});
