/** The reference server of the protocol's authors, used by models through two runtimes. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { afterEach, describe, it } from "node:test";
import type { PagurusConfig } from "../../../packages/core/src/config/config-types.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import { killGroup, processIds } from "../../../packages/core/src/platform/process-group.ts";
import { readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { freePort } from "../../server/serve-setting.ts";
import { CodexBench } from "../codex/codex-bench.ts";
import { realProgram } from "../programs.ts";

const PROGRAM = realProgram("@modelcontextprotocol/server-everything", "mcp-server-everything");

/** Processes of the server with the mark in their environment. */
function serversMarked(mark: string): number[] {
  return processIds().filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, "utf8").includes(`EVERYTHING_MARK=${mark}`);
    } catch {
      // It has ended meanwhile.
      return false;
    }
  });
}

function outcomes(events: readonly TurnEvent[]): { name: string; text: string; isError: boolean }[] {
  return events.flatMap((event) =>
    event.type === "tool.completed"
      ? [
          {
            name: event.toolName,
            isError: event.outcome.isError,
            text: event.outcome.content
              .map((part) => (part.type === "text" ? part.text : part.mimeType))
              .join(" "),
          },
        ]
      : [],
  );
}

/** Names of the tools that a request offers. */
function offered(body: Record<string, unknown>): string[] {
  return (body["tools"] as { name?: string }[]).map(({ name }) => name ?? "");
}

/** The same configuration with a model that supports images. */
function withImages(config: PagurusConfig): PagurusConfig {
  for (const model of config.models?.providers?.["local"]?.models ?? []) model.input = ["text", "image"];
  return config;
}

describe("the real server-everything", () => {
  let bench: CodexBench | undefined;
  afterEach(() => bench?.end());

  for (const runtime of ["embedded", "codex"]) {
    it(`is used by a model in the runtime ${runtime}, and ends with the host`, async () => {
      bench = await CodexBench.with((_request, index) =>
        index === 0
          ? {
              toolCalls: [
                { id: "call_1", name: "everything__echo", arguments: { message: "harbour" } },
                { id: "call_2", name: "everything__get-sum", arguments: { a: 20, b: 22 } },
              ],
            }
          : index === 1
            ? { toolCalls: [{ id: "call_3", name: "everything__get-tiny-image", arguments: {} }] }
            : { text: `Answer ${index}.` },
      );
      const mark = `${runtime}-${process.pid}`;
      const everything = {
        command: process.execPath,
        args: [PROGRAM, "stdio"],
        env: { EVERYTHING_MARK: mark },
      };
      const config = withImages({ ...bench.config({ runtime }), mcp: { servers: { everything } } });
      const pagurus = await bench.host({ more: { config } });
      const events = await bench.ask(pagurus, "Use the tools.");
      assert.deepEqual(
        events.filter(({ type }) => type === "context.degraded"),
        [],
      );
      // Parallel calls end in any order.
      const ended = outcomes(events);
      const [echo, sum, image] = ["echo", "get-sum", "get-tiny-image"].map((tool) =>
        ended.find(({ name }) => name === `everything__${tool}`),
      );
      assert.equal(ended.length, 3);
      assert.deepEqual(echo, { name: "everything__echo", isError: false, text: "Echo: harbour" });
      assert.match(sum?.text ?? "", /\b42\b/);
      assert.match(image?.text ?? "", /the image you requested/);
      const names = offered(bench.request(0).body).filter((name) => name.startsWith("everything__"));
      assert.ok(names.length >= 10, names.join(" "));
      assert.match(JSON.stringify(bench.request(1).body["input"]), /Echo: harbour/);
      assert.match(JSON.stringify(bench.request(2).body["input"]), /data:image\/png;base64,iVBOR/);
      await bench.ask(pagurus, "And again.");
      const [first, , , last] = bench.server.requests;
      assert.deepEqual(last?.body["tools"], first?.body["tools"], "the catalog stays");
      assert.equal(serversMarked(mark).length, 1);
      await pagurus.close();
      for (const end = Date.now() + 5_000; serversMarked(mark).length > 0; await wait(20))
        assert.ok(Date.now() < end, "the server is left");
    });
  }

  it("is used at an address", async () => {
    const port = await freePort();
    const server = spawn(process.execPath, [PROGRAM, "streamableHttp"], {
      detached: true,
      stdio: "ignore",
      env: { PATH: process.env["PATH"], PORT: String(port) },
    });
    try {
      bench = await CodexBench.with((_request, index) =>
        index === 0
          ? { toolCalls: [{ id: "call_1", name: "web__echo", arguments: { message: "quay" } }] }
          : { text: "Done." },
      );
      const web = { url: `http://127.0.0.1:${port}/mcp`, headers: { "x-test": "1" } };
      const config = { ...bench.config({ runtime: "embedded" }), mcp: { servers: { web } } };
      for (const end = Date.now() + 5_000; ; await wait(50)) {
        assert.ok(Date.now() < end, "the server does not listen");
        if (
          await fetch(web.url).then(
            () => true,
            () => false,
          )
        )
          break;
      }
      const pagurus = await bench.host({ more: { config } });
      const events = await bench.ask(pagurus, "Use the tool.");
      assert.deepEqual(outcomes(events), [{ name: "web__echo", isError: false, text: "Echo: quay" }]);
    } finally {
      killGroup(server, "SIGKILL");
    }
  });
});
