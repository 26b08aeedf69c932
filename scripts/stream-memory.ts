/**
 * Measures the resident memory of a server with idle event streams, in any checkout. The benchmark's own row subtracts the memory of the
 * idle server. That server has become smaller, so that an equal total looks like growth.
 */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { residentMb } from "../bench/codex/memory.ts";
import type { Sample } from "./pairs.ts";

type Setting = typeof import("../test/turn/setting.ts");
type Serve = typeof import("../test/server/serve-setting.ts");
type Built = typeof import("../bench/serve/built-package.ts");

const STREAMS = 500;
/** Time in which the memory settles, ms. */
const SETTLE_MS = 2_000;

export async function streamMemory(root: string): Promise<Sample[]> {
  const load = async <T>(file: string): Promise<T> =>
    (await import(pathToFileURL(join(root, file)).href)) as T;
  const { makeSetting, modelConfig } = await load<Setting>("test/turn/setting.ts");
  const { ServeProcess } = await load<Serve>("test/server/serve-setting.ts");
  const { builtPackage } = await load<Built>("bench/serve/built-package.ts");
  const built = await builtPackage();
  const setting = makeSetting(modelConfig("openai-completions", "http://127.0.0.1:9"));
  const server = await ServeProcess.start(setting, [], built.launcher);
  const stop = new AbortController();
  const follow = async (): Promise<void> => {
    for await (const _event of server.follow("/api/v1/events", {}, stop.signal));
  };
  try {
    const open = Array.from({ length: STREAMS }, follow);
    for (let count = 0; count < STREAMS; await pause(50))
      count = Number((await server.call("GET", "/api/v1/status")).body["streams"]);
    await pause(SETTLE_MS);
    const value = residentMb(server.child.pid ?? 0);
    stop.abort();
    await Promise.allSettled(open);
    return [
      { measure: `server with ${STREAMS} idle event streams, resident`, value, unit: "MB", better: "less" },
    ];
  } finally {
    await server.kill();
    setting.remove();
    built.remove();
  }
}
