/** Tests a turn in one process that other processes steer and stop. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { startServer, type ModelServer } from "../servers/server.ts";
import { modelConfig } from "../turn/setting.ts";
import { Launcher } from "./launch.ts";
import { longTest } from "../runner/long-tests.ts";
import { inputOf } from "../runner/child-input.ts";

const user = new Launcher();
let server: ModelServer | undefined;
after(async () => {
  await server?.close();
  user.remove();
});

const mailboxes = (): string[] =>
  readdirSync(join(user.root, "home/agents/main/sessions")).filter((name) => name.endsWith(".mailbox"));

async function requests(count: number): Promise<void> {
  while ((server?.requests.length ?? 0) < count) await pause(20);
}

longTest("a running turn is steered and stopped from another process", async () => {
  server = await startServer({
    protocol: "openai-completions",
    script: (_request, index) =>
      index === 0 ? { text: "one, two, three, four", delayMs: 400 } : { text: "more", hangAfterChunks: 1 },
  });
  mkdirSync(join(user.root, "home"));
  const config = modelConfig("openai-completions", server.url);
  writeFileSync(join(user.root, "home/pagurus.json"), JSON.stringify(config));
  const turn = user.start(["run", "go", "--json"]);
  inputOf(turn.child).end();
  await requests(1);
  const steered = await user.run(["codex", "steer", "and look again"]);
  assert.deepEqual(
    [steered.code, steered.out],
    [0, "The message was sent to the running turn.\n"],
    steered.err,
  );
  await requests(2);
  assert.match(server.requests[1]?.text ?? "", /and look again/);
  const stopped = await user.run(["codex", "stop"]);
  assert.equal(stopped.code, 0, stopped.err);
  const ended = await turn.ended;
  assert.match(ended.out, /"stopReason":"aborted"/);
  assert.deepEqual(mailboxes(), []);
});
