/** Bodies near valid ones, at random, on each API of a real server: answered below 500, while others are served, in flat memory. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { byLength, FULL } from "../runner/short-form.ts";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { probeHealth, send, StdioClient } from "./fuzz-clients.ts";
import { requests, type FuzzRequest, type OpenApi } from "./fuzz-requests.ts";
import { MeasuredServer, type Figures } from "./measured-server.ts";

const REQUESTS = byLength(100_000, 3_000, 600);
const AT_ONCE = 8;
/** Requests without measurement that load what the first ones of a kind load. */
const WARM_UP = byLength(2_000, 200, 100);
/** CPU time of one piece of work of the event loop, ms; in the full form. */
const LONGEST_MS = 100;
/** Of an answer of `/health`, in the full form, ms. */
const HEALTH_MS = 250;
/** Of the last third above the first one, in the full form: the median of the resident memory, and the heap after a collection. */
const MOST_RESIDENT_MB = 60;
const MOST_HEAP_MB = 20;
const NAMES = 40;
/** Requests after which the sessions with a name are deleted, so that they stay short. */
const DELETE_EVERY = 1_000;

describe(`${REQUESTS} bodies at random`, () => {
  let model: ModelServer;
  let setting: Setting;
  let measured: MeasuredServer;
  let stdio: StdioClient;
  const failed: string[] = [];
  const resident: number[] = [];

  before(async () => {
    model = await startServer({
      protocol: "openai-completions",
      script: () => {
        // A hundred thousand of them would fill this process.
        model.requests.length = 0;
        return { text: "ok" };
      },
    });
    setting = makeSetting(modelConfig("openai-completions", model.url));
    measured = await MeasuredServer.start(setting);
    stdio = new StdioClient(setting);
  });
  after(async () => {
    await stdio.end();
    await measured.process.kill();
    await model.close();
    setting.remove();
  });

  /** Most of `/v1` are in sessions with a name, so that the sessions do not become as many as the requests. */
  function named(request: FuzzRequest, at: number): FuzzRequest {
    if (!request.path.startsWith("/v1/") || at % 10 === 0) return request;
    return { ...request, headers: { ...request.headers, "x-pagurus-session": `fuzz-${at % NAMES}` } };
  }

  async function deleteNamed(): Promise<void> {
    for (let name = 0; name < NAMES; name++)
      await measured.process.call("DELETE", `/api/v1/sessions/fuzz-${name}`);
  }

  async function sendAll(
    made: readonly FuzzRequest[],
    report?: (part: number) => Promise<void>,
  ): Promise<void> {
    let next = 0;
    const work = async (): Promise<void> => {
      for (let at = next++; at < made.length; at = next++) {
        const each = named(made[at] as FuzzRequest, at);
        const status =
          each.how === "stdio" ? await stdio.send(each.body) : await send(measured.process, each);
        if (status >= 500) failed.push(`${status} ${each.method} ${each.path} ${each.body.slice(0, 500)}`);
        if (at % 100 === 0) resident.push(measured.residentMb());
        if (at % DELETE_EVERY === DELETE_EVERY - 1) await deleteNamed();
        if (at % Math.floor(made.length / 10) === 0) await report?.(at);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }

  it("are answered below 500 while others are served, and use no more memory in the end", async (test) => {
    const document = (await measured.process.call("GET", "/api/v1/openapi.json")).body as unknown as OpenApi;
    await sendAll(fc.sample(requests(document), { numRuns: WARM_UP, seed: 1 }));
    await measured.figures();
    resident.length = 0;
    const probe = probeHealth(measured.process.url, test.signal);
    const parts: Figures[] = [];
    const made = fc.sample(requests(document), { numRuns: REQUESTS, seed: 20_261_129 });
    await sendAll(made, async (at) => {
      const figures = await measured.figures();
      parts.push(figures);
      const shown = `${figures.longestMs.toFixed(0)} ms of the loop, heap ${figures.heapMb.toFixed(0)} MB`;
      if (FULL) test.diagnostic(`${at} requests: ${shown}, resident ${measured.residentMb().toFixed(0)} MB`);
    });
    const health = await probe.end();
    parts.push(await measured.figures());
    assert.deepEqual(failed, []);
    assert.ok(health.asked > 0);
    assert.equal(health.failed, 0, "answers of /health");
    assert.equal((await measured.process.call("GET", "/api/v1/status")).status, 200);
    assert.equal(await stdio.send("{}"), 101);
    if (FULL) assertBounds(parts, health.longestMs, (line) => test.diagnostic(line));
  });

  function assertBounds(parts: readonly Figures[], healthMs: number, print: (line: string) => void): void {
    const third = Math.floor(resident.length / 3);
    const [first, last] = [median(resident.slice(0, third)), median(resident.slice(-third))];
    const [heapBefore = 0, heapAfter = 0] = [
      parts[Math.floor(parts.length / 3)]?.heapMb,
      parts.at(-1)?.heapMb,
    ];
    const longest = Math.max(...parts.map(({ longestMs }) => longestMs));
    print(
      `/health ${healthMs.toFixed(0)} ms at most; longest work of the event loop ${longest.toFixed(0)} ms of CPU`,
    );
    print(`resident ${first.toFixed(0)} MB in the first third, ${last.toFixed(0)} MB in the last`);
    print(`heap ${heapBefore.toFixed(0)} MB after a third, ${heapAfter.toFixed(0)} MB in the end`);
    assert.ok(healthMs < HEALTH_MS, `/health answered within ${healthMs} ms`);
    assert.ok(longest < LONGEST_MS, `the event loop was busy for ${longest} ms of CPU time`);
    assert.ok(last < first + MOST_RESIDENT_MB, `${first} MB became ${last} MB`);
    assert.ok(heapAfter < heapBefore + MOST_HEAP_MB, `a heap of ${heapBefore} MB became ${heapAfter} MB`);
  }
});

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}
