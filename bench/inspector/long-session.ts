/** A long session with captured requests, made by turns of the real host with a scripted model. */
import { readFileSync, writeFileSync } from "node:fs";
import { openSessionStore } from "../../packages/host/src/stores/files/session-store.ts";
import { createPagurus } from "../../packages/app/src/create.ts";
import { random as seededRandom } from "../../test/runner/seeded-random.ts";
import { startServer } from "../../test/servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../../test/turn/setting.ts";
import { join } from "node:path";

export const SESSION = "long";

export interface LongSession {
  setting: Setting;
  /** Of all captured bodies. */
  bytes: number;
  messages: number;
}

export interface LongSessionSize {
  /** Messages before the turns. */
  messages: number;
  /** Turns, each with one captured request that has all messages. */
  turns: number;
}

const WORDS = ["quay", "tide", "heron", "berth", "rope", "crane", "pilot", "buoy", "mast", "chart"];

/** About 40 characters. */
function words(random: () => number): string {
  return Array.from({ length: 8 }, () => WORDS[Math.floor(random() * WORDS.length)] ?? "").join(" ");
}

/** The caller removes the setting. */
export async function makeLongSession({ messages, turns }: LongSessionSize): Promise<LongSession> {
  const random = seededRandom(7);
  const model = await startServer({
    protocol: "openai-completions",
    script: () => ({ text: words(random) }),
  });
  const setting = makeSetting(
    modelConfig(
      "openai-completions",
      model.url,
      { contextWindow: 4_000_000 },
      {
        plugins: { slots: { contextEngine: "legacy" } },
        gateway: { capture: { maxBytes: 2 ** 31 } },
      },
    ),
  );
  seed(setting, messages, random);
  const host = await createPagurus({ home: setting.home, env: setting.env });
  let bytes = 0;
  try {
    for (let turn = 0; turn < turns; turn++) {
      const run = host.run({ prompt: words(random), sessionKey: SESSION, cwd: setting.workspace });
      for await (const event of run) if (event.type === "turn.failed") throw new Error(event.error.message);
      bytes += model.requests.at(-1)?.text.length ?? 0;
      model.requests.length = 0;
    }
  } finally {
    await host.close();
    await model.close();
  }
  return { setting, bytes, messages: messages + 2 * turns };
}

/** Another address for the model, of the next host over this home. */
export function setModel({ home }: Setting, url: string): void {
  const file = join(home, "pagurus.json");
  const config = JSON.parse(readFileSync(file, "utf8")) as {
    models: { providers: { test: { baseUrl: string } } };
  };
  config.models.providers.test.baseUrl = url;
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
}

function seed({ home, workspace }: Setting, messages: number, random: () => number): void {
  const store = openSessionStore({ agentDir: join(home, "agents", "main"), agentId: "main" });
  const writer = store.openWriter(SESSION, { cwd: workspace, create: true });
  for (let at = 0; at < messages; at += 2) {
    const turnId = `seed-${at}`;
    const text = words(random);
    writer.append({ type: "message", turnId, message: { role: "user", content: text } });
    const content = [{ type: "text" as const, text: words(random) }];
    writer.append({ type: "message", turnId, message: { role: "assistant", content, stopReason: "stop" } });
    writer.commitTurn({ turnId, outcome: "completed" });
  }
  writer.close();
  store.close();
}
