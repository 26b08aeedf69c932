/** A pass-through gateway between the real harnesses and their model: both sides of it see the same bytes. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { WireApi } from "../../../packages/contract/src/harness/wire.ts";
import type { ExchangeFacts } from "../../../packages/gateway/src/request/exchange.ts";
import { createModelGateway } from "../../../packages/gateway/src/gateway.ts";
import { directUpstream } from "../../../packages/gateway/src/upstream/direct.ts";
import { WrapObserver } from "../../../packages/gateway/src/wrap/observer.ts";
import { silentLogger } from "../../../packages/core/src/platform/log.ts";
import { startServer, type RecordedRequest, type ReplyStep } from "../../servers/server.ts";
import { ClaudeDialectBench } from "./claude-dialect-bench.ts";
import { CodexWire, scripted } from "./codex-wire-bench.ts";

/** A recorded message; headers are names and values by turns. */
interface Passed {
  line: string;
  headers: string[];
  body: Buffer;
}

interface Exchanged {
  asked: Passed;
  answered?: Passed;
}

const OF_CONNECTION = /^(?:host|connection|keep-alive|transfer-encoding|x-pagurus-token)$/i;

function kept(headers: readonly string[]): string[] {
  return headers.filter((_, at) => !OF_CONNECTION.test(headers[at - (at % 2)] ?? ""));
}

/** Records the traffic, and forwards it unchanged. */
class Tap {
  readonly seen: Exchanged[] = [];
  readonly #server = createServer((request, response) => void this.#pass(request, response));
  /** Origin to which it forwards. */
  target = "";
  more: Readonly<Record<string, string>> = {};

  static async start(): Promise<Tap> {
    const tap = new Tap();
    tap.#server.listen(0, "127.0.0.1");
    await once(tap.#server, "listening");
    return tap;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #pass(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await whole(incoming);
    const { method = "", url = "", rawHeaders } = incoming;
    const exchanged: Exchanged = { asked: { line: `${method} ${url}`, headers: rawHeaders, body } };
    this.seen.push(exchanged);
    const { host } = new URL(this.target);
    const own = rawHeaders.filter((_, at) => !/^host$/i.test(rawHeaders[at - (at % 2)] ?? ""));
    const headers = ["Host", host, ...Object.entries(this.more).flat(), ...own];
    const sent = httpRequest(`${this.target}${url}`, { method, headers, setDefaultHeaders: false });
    sent.on("error", () => response.destroy());
    sent.on("response", (answer) => {
      const pieces: Buffer[] = [];
      response.sendDate = false;
      response.writeHead(answer.statusCode ?? 0, answer.rawHeaders);
      answer.on("data", (piece: Buffer) => {
        pieces.push(piece);
        response.write(piece);
      });
      answer
        .on("error", () => response.destroy())
        .on("end", () => {
          const line = String(answer.statusCode);
          exchanged.answered = { line, headers: answer.rawHeaders, body: Buffer.concat(pieces) };
          response.end();
        });
    });
    sent.end(body);
  }

  end(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

async function whole(stream: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

/** A tap on either side of a pass-through gateway. */
async function tapped(api: WireApi) {
  const [harness, model] = [await Tap.start(), await Tap.start()];
  const gateway = createModelGateway({ logger: silentLogger, resolve: () => assert.fail("not asked") });
  const upstream = directUpstream({ baseUrl: `${model.url}/v1`, label: "model" });
  const facts: ExchangeFacts[] = [];
  const route = await gateway.openRoute({
    api,
    governor: new WrapObserver(upstream),
    sessionKey: "main",
    runtime: "test",
    onExchange: (fact) => void facts.push(fact),
  });
  harness.target = new URL(route.baseUrl).origin;
  harness.more = route.headers;
  const end = async (): Promise<void> => {
    await gateway.close();
    for (const tap of [harness, model]) tap.end();
  };
  return { harness, model, facts, end };
}

/** Asserts that each request and each answer is the same on both sides; returns their number. */
function assertSame(harness: Tap, model: Tap): number {
  const ours = harness.seen.filter(({ answered }) => answered);
  for (const [index, { asked, answered }] of ours.entries()) {
    const there = model.seen.find(
      ({ asked: other }) => other.body.equals(asked.body) && other.line === asked.line,
    );
    assert.ok(there?.answered && answered, `request ${index} went on as it was: ${asked.line}`);
    assert.deepEqual(kept(there.asked.headers), kept(asked.headers));
    assert.equal(answered.line, there.answered.line);
    assert.deepEqual(kept(answered.headers), kept(there.answered.headers));
    assert.ok(answered.body.equals(there.answered.body), `the answer of ${index} came as it was given`);
  }
  assert.equal(model.seen.length, harness.seen.length);
  return ours.length;
}

const TURNS = ["Look at the notes.", "Look again, please: é😀.", "And once more."];

describe("a pass-through gateway", { timeout: 300_000 }, () => {
  it("is invisible to a real Codex and to its model", async (t) => {
    const { harness, model, facts, end } = await tapped("openai-responses");
    const codex = await CodexWire.start((asked, index) => {
      const isResult = /"type":"function_call_output"[^[\]]*\}\]/.test(asked.body.toString());
      const call = (id: string) => ({
        id: `${id}_${index}`,
        name: "exec_command",
        arguments: { cmd: `echo ${id}` },
      });
      return isResult
        ? scripted({ text: `Seen at ${index}: é😀.` }, index)
        : scripted(
            { thinking: { text: "Two looks.", signature: "c2lnbmVk" }, toolCalls: [call("a"), call("b")] },
            index,
          );
    });
    try {
      const file = join(codex.root, "codex/config.toml");
      const config = readFileSync(file, "utf8");
      const url = /base_url = "(.*)"/.exec(config)?.[1] ?? "";
      model.target = new URL(url).origin;
      writeFileSync(file, config.replace(url, `${harness.url}/v1`));
      await codex.connect();
      const thread = await codex.thread();
      for (const text of TURNS) assert.equal((await codex.turn(thread, text))["status"], "completed");
      const same = assertSame(harness, model);
      const mains = facts.filter(({ kind, isReplaced }) => kind === "main" && !isReplaced).length;
      assert.ok(mains >= 2 * TURNS.length, `${mains} requests of the conversation`);
      t.diagnostic(`${same} requests, ${mains} of them of the conversation`);
    } finally {
      await codex.end();
      await end();
    }
  });

  it("is invisible to a real Claude Code and to its model", async (t) => {
    const { harness, model, facts, end } = await tapped("anthropic-messages");
    let cwd = "";
    const script = ({ body }: RecordedRequest, index: number): ReplyStep => {
      const { messages = [], tools = [] } = body as { messages?: { content: unknown }[]; tools?: unknown[] };
      if (tools.length === 0) return { text: "Notes" };
      const isResult = JSON.stringify(messages.slice(-2)).includes('"type":"tool_result"');
      if (isResult) return { text: `Seen at ${index}: é😀.` };
      const call = (id: string, name: string) => ({
        id: `toolu_${id}${index}`,
        name: "Read",
        arguments: { file_path: join(cwd, name) },
      });
      return {
        thinking: { text: "Two looks.", signature: "c2lnbmVk" },
        toolCalls: [call("a", "notes.txt"), call("b", "more.txt")],
      };
    };
    const server = await startServer({ protocol: "anthropic-messages", script });
    model.target = new URL(server.url).origin;
    const bench = await ClaudeDialectBench.start(() => assert.fail("asked past the gateway"), {
      env: { ANTHROPIC_BASE_URL: harness.url },
    });
    try {
      cwd = bench.cwd;
      for (const text of TURNS) {
        const result = await bench.ask(text);
        assert.equal(result["is_error"], false, JSON.stringify(result));
      }
      const same = assertSame(harness, model);
      const mains = facts.filter(({ kind, isReplaced }) => kind === "main" && !isReplaced).length;
      assert.ok(mains >= 2 * TURNS.length, `${mains} requests of the conversation`);
      assert.equal(bench.asked.length, 0);
      t.diagnostic(`${same} requests, ${mains} of them of the conversation`);
    } finally {
      await bench.end();
      await end();
      await server.close();
    }
  });
});
