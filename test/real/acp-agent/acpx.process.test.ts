/** Our agent under acpx, an independent client of the protocol; the tests assert on the model's requests. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { until } from "../../runner/until.ts";
import { startServer, type ModelServer, type ReplyStep } from "../../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../../turn/setting.ts";
import { realProgram } from "../programs.ts";
import { AcpxClient } from "../tried/acpx-client.ts";

describe("acpx drives pagurus acp", () => {
  let server: ModelServer;
  let setting: Setting;
  let steps: ReplyStep[];
  let client: AcpxClient;
  const acpx = (...args: string[]): ReturnType<AcpxClient["run"]> => client.run(...args);

  beforeEach(async () => {
    steps = [];
    server = await startServer({
      protocol: "anthropic-messages",
      script: (_request, index) => steps[index] ?? { text: `Answer ${index}.` },
    });
    const defaults = { permission: { mode: "ask" } };
    setting = makeSetting(modelConfig("anthropic-messages", server.url, {}, { agents: { defaults } }));
    client = new AcpxClient(realProgram("acpx", "acpx"), setting);
  });
  afterEach(async () => {
    await acpx("sessions", "close");
    await server.close();
    setting.remove();
  });

  function sent(index: number): string {
    return server.requests.at(index)?.text ?? "";
  }

  it("through a prompt, a tool that it allows, and one that it denies", async () => {
    const write = (id: string) => ({
      toolCalls: [{ id, name: "write", arguments: { path: id, content: "made\n" } }],
    });
    steps = [write("allowed"), { text: "Made." }, write("denied"), { text: "Not made." }];
    await acpx("sessions", "new");
    const made = await acpx("--approve-all", "prompt", "Make it.");
    assert.match(made.out, /Made\.\s+\[done\] end_turn/, made.err);
    assert.match(made.out, /\[tool\] write allowed \(completed\)/);
    assert.equal(readFileSync(join(setting.workspace, "allowed"), "utf8"), "made\n");
    await acpx("sessions", "close");
    await acpx("sessions", "new");
    const denied = await acpx("--deny-all", "prompt", "Make another.");
    assert.match(denied.out, /Not made\./, denied.err);
    assert.ok(!existsSync(join(setting.workspace, "denied")));
    assert.match(sent(-1), /Permission denied/);
  });

  it("through a cancel, after which the model sees the cancelled answer", async () => {
    steps = [
      { text: "The beginning of a long answer.", chunkSize: 8, hangAfterChunks: 5 },
      { text: "On it goes." },
    ];
    await acpx("sessions", "new");
    const running = acpx("prompt", "Talk.");
    await until(() => server.requests.length === 1);
    await pause(300);
    const { out } = await acpx("cancel");
    assert.match(out, /cancel/);
    assert.match((await running).out, /cancelled/);
    await server.clientClosed();
    const next = await acpx("prompt", "Go on.");
    assert.match(next.out, /On it goes\./, next.err);
    assert.match(sent(-1), /The begi.*Go on\./);
  });

  it("through loads of the conversation, each in its own process, and settings that a user makes there", async () => {
    steps = [{ text: "I will keep it." }];
    await acpx("sessions", "new");
    await acpx("prompt", "The first word is crab.");
    await client.ended();
    const again = await acpx("prompt", "What was it?");
    assert.match(again.out, /session\/(?:load|resume).*Answer 1\./s, again.err);
    assert.match(sent(1), /The first word is crab\..*I will keep it\..*What was it\?/);
    const set = await acpx("set", "model", "test/model");
    assert.match(set.out, /(?:model set: |config set: model=)test\/model/, set.err);
    const refused = await acpx("set", "model", "unknown/model");
    assert.equal(refused.code, 1);
    assert.match(refused.err, /"unknown\/model"/);
    const { out, err } = await acpx("exec", "/status");
    assert.match(out, /Engine: +legacy/, err);
    assert.equal(server.requests.length, 2);
  });
});
