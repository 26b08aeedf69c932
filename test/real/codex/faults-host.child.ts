/**
 * A host that runs one turn (or a compaction) on Codex and prints its events, a line of JSON each, until it is killed. Its
 * tool `slow` and its permission question never return. Argument: home, configuration, environment and request as JSON.
 */
import { createPagurus } from "../../../packages/app/src/app.ts";
import type { RunRequest } from "../../../packages/contract/src/host/run.ts";

export interface HostOrder {
  home: string;
  config: unknown;
  request: RunRequest;
  /** Compacts the session instead. */
  isCompaction?: boolean;
}

function say(type: string): void {
  process.stdout.write(`${JSON.stringify({ type })}\n`);
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}

const { home, config, request, isCompaction = false } = JSON.parse(process.argv[2] ?? "") as HostOrder;
const pagurus = await createPagurus({
  home,
  config,
  askPermission: () => {
    say("asked");
    return never();
  },
  plugins: {
    slow: (api) =>
      api.registerTool({
        name: "slow",
        description: "Takes for ever.",
        parameters: { type: "object", properties: {} },
        execute: () => {
          say("called");
          return never();
        },
      }),
  },
});
if (isCompaction) await pagurus.compact({ cwd: process.cwd(), sessionKey: request.sessionKey ?? "main" });
else for await (const { type } of pagurus.run(request)) say(type);
await pagurus.close();
