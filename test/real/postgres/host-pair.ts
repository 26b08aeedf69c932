/** Two servers in folders of their own, which share one database. */
import { execFile } from "node:child_process";
import type { TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { ServeProcess } from "../../server/serve-setting.ts";
import { startServer, type ModelServer } from "../../servers/server.ts";
import { LAUNCHER } from "../../runner/program.ts";
import { makeSetting, modelConfig, type Setting } from "../../turn/setting.ts";
import type { PostgresSettings } from "../../../packages/postgres/src/settings.ts";

export interface HostPair {
  a: ServeProcess;
  b: ServeProcess;
  model: ModelServer;
}

/** `before` works in each host's folder before its server starts; `more` is added to the configuration. */
export async function hostPair(
  t: TestContext,
  settings: PostgresSettings,
  { before, more = {} }: { before?: (setting: Setting) => void; more?: object } = {},
): Promise<HostPair> {
  const model = await startServer({ protocol: "openai-completions", script: () => ({ text: "Done." }) });
  const hosts: ServeProcess[] = [];
  t.after(async () => {
    for (const host of hosts) await host.kill();
    await model.close();
  });
  for (let count = 0; count < 2; count += 1) {
    const config = modelConfig("openai-completions", model.url, { contextWindow: 100_000 });
    const setting = makeSetting({ ...config, store: { kind: "postgres", ...settings }, ...more });
    before?.(setting);
    hosts.push(await ServeProcess.start(setting));
  }
  const [a, b] = hosts as [ServeProcess, ServeProcess];
  return { a, b, model };
}

/** The host that runs work, and the other one: most often, but not always, the one that accepted it begins it. */
export async function runnerOf(
  [a, b]: readonly [ServeProcess, ServeProcess],
  id: string,
): Promise<[ServeProcess, ServeProcess]> {
  const runs = async (host: ServeProcess): Promise<boolean> => {
    const { body } = await host.call("GET", "/api/v1/status");
    return (body["running"] as { work: string }[]).some(({ work }) => work === id);
  };
  for (;;) {
    if (await runs(a)) return [a, b];
    if (await runs(b)) return [b, a];
    await pause(20);
  }
}

/** What a command prints, run in a host's folder. */
export async function command({ setting }: ServeProcess, ...args: string[]): Promise<string> {
  const options = { cwd: setting.workspace, env: setting.env };
  return (await promisify(execFile)(process.execPath, [LAUNCHER, ...args], options)).stdout;
}
