/** Requests of the real programs, divided by source: those that pass the gateway have a body, the others say why they have none. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createClient, type PagurusClient } from "../../packages/client/src/index.ts";
import { isPartition } from "../../packages/server/src/inspect/parts/body-part.ts";
import { ServeProcess } from "../server/serve-setting.ts";
import { startServer, type Protocol } from "../servers/server.ts";
import { makeSetting, modelConfig } from "../turn/setting.ts";
import { codexBinary } from "./codex-binary.ts";

interface Runtime {
  id: string;
  protocol: Protocol;
  config: Record<string, unknown>;
}

const CLAUDE = join(
  import.meta.dirname,
  `node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
);

const RUNTIMES: readonly Runtime[] = [
  {
    id: "codex",
    protocol: "openai-responses",
    config: { command: codexBinary(), sandbox: "danger-full-access" },
  },
  { id: "claude-cli", protocol: "anthropic-messages", config: { command: CLAUDE } },
];

async function withTurns(
  { id, protocol, config }: Runtime,
  context: string,
  use: (client: PagurusClient) => Promise<void>,
): Promise<void> {
  const model = await startServer({ protocol, script: () => ({ text: "It has three quays." }) });
  const more = {
    plugins: { entries: { [id]: { config: { ...config, context } } } },
    gateway: { capture: true },
  };
  const setting = makeSetting(
    modelConfig(
      protocol,
      model.url,
      {},
      { ...more, plugins: { ...more.plugins, slots: { contextEngine: "lossless" } } },
    ),
  );
  const server = await ServeProcess.start(setting);
  try {
    const client = createClient({ url: server.url, token: server.key });
    // A prompt that names a program would add a part: the skill about runtimes.
    for (const [turn, runtime] of [id, "embedded", id].entries()) {
      const { id: work } = await client.postTurn("s", {
        prompt: `How many quays has harbour ${turn}?`,
        runtime,
      });
      assert.equal((await server.ended(work))["outcome"], "completed", server.stderr);
    }
    await use(client);
  } finally {
    await server.kill("SIGTERM");
    await model.close();
    setting.remove();
  }
}

describe("requests of a session that changed its agent", { timeout: 240_000 }, () => {
  it("need the real programs", () => assert.ok(existsSync(CLAUDE), "run npm run setup:real"));

  for (const runtime of RUNTIMES) {
    it(`are divided byte for byte where they pass the gateway: ${runtime.id}`, () =>
      withTurns(runtime, "wire", async (client) => {
        const { requests } = await client.inspect.requests("s");
        const own = requests.filter(({ purpose }) => purpose === undefined);
        assert.deepEqual(
          own.map(({ runtime: id }) => id),
          [runtime.id, "embedded", runtime.id],
        );
        for (const [turn, { id }] of own.entries()) {
          const details = await client.inspect.request("s", id);
          assert.ok(details.captured && details.body, details.why);
          const { parts } = await client.inspect.parts("s", id, { limit: 1_000 });
          const ranges = parts.map(({ from = -1, to = -1 }) => ({ from, to }));
          assert.ok(isPartition(ranges, details.body.bytes));
          const of = (source: string) => parts.filter((part) => part.source === source);
          assert.equal(of("live").length, 1);
          assert.equal(of("kept").length, turn * 2);
          assert.equal(new Set(parts.flatMap(({ entryIds = [] }) => entryIds)).size, turn * 2 + 1);
          assert.ok(of("system").length > 0 && of("unread").length === 0);
        }
        const { items } = await client.inspect.timeline("s");
        assert.deepEqual(
          items.flatMap((item) => (item.kind === "turn" ? item.runtimes : [])),
          [runtime.id, "embedded", runtime.id],
        );
      }));
  }

  it("without a body say why, and have the parts that the host gave to the program", () =>
    withTurns(RUNTIMES[0] as Runtime, "thread", async (client) => {
      const { requests } = await client.inspect.requests("s");
      const [last] = requests.filter(({ runtime }) => runtime === "codex").slice(-1);
      const details = await client.inspect.request("s", last?.id ?? "");
      assert.equal(details.captured, false);
      assert.match(details.why ?? "", /sends them past the host/);
      const { parts } = await client.inspect.parts("s", last?.id ?? "");
      assert.equal(parts.filter(({ source }) => source === "kept").length, 4);
      assert.ok(parts.every(({ from, to }) => from === undefined && to === undefined));
    }));
});
