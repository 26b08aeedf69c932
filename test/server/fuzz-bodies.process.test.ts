/** Bodies near valid ones, at random, on each API of a real server: answered below 500, without long work of the event loop, in flat memory. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { WebSocket } from "ws";
import { byLength, FULL } from "../runner/short-form.ts";
import { until } from "../runner/until.ts";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { requests, type FuzzRequest, type OpenApi } from "./fuzz-requests.ts";
import { ServeProcess } from "./serve-setting.ts";

const REQUESTS = byLength(100_000, 1_500, 600);
const AT_ONCE = 8;
/** CPU time of one piece of work of the event loop, ms. */
const LONGEST_MS = 250;
/** Of an answer of `/health` in the full form, on a quiet machine, ms. */
const HEALTH_MS = 250;
/** More than the caches of a warmed-up server still grow by, MB. */
const MOST_GROWTH_MB = 160;
const ANSWER_MS = 60_000;

describe(`${REQUESTS} bodies at random`, () => {
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;
  before(async () => {
    model = await startServer({ protocol: "openai-completions", script: () => ({ text: "ok" }) });
    setting = makeSetting(modelConfig("openai-completions", model.url));
    setting.env["LOOP_METER"] = join(setting.root, "loop");
    setting.env["NODE_OPTIONS"] = `--import=${new URL("loop-meter.ts", import.meta.url).href}`;
    server = await ServeProcess.start(setting);
  });
  after(async () => {
    await server.kill();
    await model.close();
    setting.remove();
  });

  async function longestWork(): Promise<number> {
    const file = join(setting.root, "loop");
    rmSync(file, { force: true });
    server.child.kill("SIGUSR2");
    await until(() => existsSync(file) && readFileSync(file, "utf8") !== "");
    return Number(readFileSync(file, "utf8"));
  }

  function residentMb(): number {
    const status = readFileSync(`/proc/${server.child.pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024;
  }

  /** Asks `/health` every 50 ms in a process of its own; the returned function ends it and gives the longest wait, ms. */
  function probe(): () => Promise<number> {
    const code = `let most = 0;
      process.on("SIGTERM", () => { console.log(most); process.exit(); });
      setInterval(async () => {
        const from = performance.now();
        await fetch(${JSON.stringify(`${server.url}/health`)}).then((answer) => answer.text(), () => undefined);
        most = Math.max(most, performance.now() - from);
      }, 50);`;
    const child = spawn(process.execPath, ["-e", code], { stdio: ["ignore", "pipe", "inherit"] });
    let printed = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
    return async () => {
      child.kill();
      await once(child, "close");
      return Number(printed);
    };
  }

  async function send({ how, method, path, headers, body }: FuzzRequest): Promise<number> {
    const key = { authorization: `Bearer ${server.key}` };
    if (how === "socket") {
      const socket = new WebSocket(`ws://127.0.0.1:${server.port}${path}`, { headers: key });
      await once(socket, "open");
      socket.send(body);
      // An answer to the ping comes after the message was taken.
      socket.ping();
      await Promise.race([once(socket, "pong"), once(socket, "close")]);
      socket.terminate();
      return 101;
    }
    const answer = await fetch(`${server.url}${path}`, {
      method,
      headers: { ...key, ...headers },
      signal: AbortSignal.timeout(ANSWER_MS),
      ...(method === "GET" || method === "HEAD" ? {} : { body }),
    });
    await answer.text();
    return answer.status;
  }

  it("are answered below 500, block no other caller, and use no more memory in the end", async () => {
    const document = (await server.call("GET", "/api/v1/openapi.json")).body as unknown as OpenApi;
    const made = fc.sample(requests(document), { numRuns: REQUESTS, seed: 20_261_129 });
    // Loads what the first request of a kind loads.
    for (const each of made.slice(0, Math.floor(REQUESTS / 4))) await send(each);
    await longestWork();
    const endProbe = probe();
    const failed: string[] = [];
    let next = 0;
    let warm = 0;
    const work = async (): Promise<void> => {
      for (let each = made[next++]; each; each = made[next++]) {
        if (next === Math.floor(REQUESTS / 3)) warm = residentMb();
        const status = await send(each);
        if (status >= 500) failed.push(`${status} ${each.method} ${each.path} ${each.body.slice(0, 500)}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    assert.deepEqual(failed, []);
    const health = await endProbe();
    if (FULL) assert.ok(health < HEALTH_MS, `/health answered within ${health} ms`);
    const longest = await longestWork();
    assert.ok(longest < LONGEST_MS, `the event loop was busy for ${longest} ms of CPU time`);
    assert.ok(residentMb() < warm + MOST_GROWTH_MB, `${warm} MB became ${residentMb()} MB`);
    assert.equal((await server.call("GET", "/api/v1/status")).status, 200);
  });
});
