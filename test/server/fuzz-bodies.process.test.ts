/** Bodies near valid ones, at random, on each API of a real server: answered below 500, while others are served, in flat memory. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { byLength, FULL } from "../runner/short-form.ts";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { probeHealth, send, StdioClient, type HealthProbe } from "./fuzz-clients.ts";
import { requests, type FuzzRequest, type OpenApi } from "./fuzz-requests.ts";
import { FuzzTable } from "./fuzz-table.ts";
import { MeasuredServer } from "./measured-server.ts";

const REQUESTS = byLength(100_000, 3_000, 600);
const QUARTER = REQUESTS / 4;
const AT_ONCE = 8;
/** Requests without measurement that load what the first ones of a kind load, and fill the sessions that are kept. */
const WARM_UP = byLength(2_000, 200, 100);
/** CPU time of one piece of work of the event loop, ms; in the full form. */
const LONGEST_MS = 100;
/** Of an answer of `/health`, in the full form, ms. */
const HEALTH_MS = 250;
/** Growth of the resident memory and of the heap after a collection from the first quarter's end to the last one's, in the full form. */
const MOST_RESIDENT_MB = 60;
const MOST_HEAP_MB = 10;
const LIVE_SESSIONS = 50;
const NAMES = 40;
/** Requests after which the sessions with a name are deleted, so that they stay short. */
const DELETE_EVERY = 1_000;

describe(`${REQUESTS} bodies at random`, () => {
  let model: ModelServer;
  let setting: Setting;
  let measured: MeasuredServer;
  let stdio: StdioClient;
  const failed: string[] = [];
  const table = new FuzzTable();

  before(async () => {
    model = await startServer({
      protocol: "openai-completions",
      script: () => {
        // A hundred thousand of them would fill this process.
        model.requests.length = 0;
        return { text: "ok" };
      },
    });
    const server = { maxLiveSessions: LIVE_SESSIONS };
    setting = makeSetting(modelConfig("openai-completions", model.url, {}, { server }));
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

  async function sendAll(made: readonly FuzzRequest[], isCounted: boolean): Promise<void> {
    let next = 0;
    const work = async (): Promise<void> => {
      for (let at = next++; at < made.length; at = next++) {
        const each = named(made[at] as FuzzRequest, at);
        const status =
          each.how === "stdio" ? await stdio.send(each.body) : await send(measured.process, each);
        if (status >= 500) failed.push(`${status} ${each.method} ${each.path} ${each.body.slice(0, 500)}`);
        if (isCounted) table.count(each, status);
        if (at % DELETE_EVERY === DELETE_EVERY - 1) await deleteNamed();
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }

  async function lap(probe: HealthProbe, sent: number): Promise<void> {
    const { longestMs: healthMs, asked, failed: refused } = await probe.lap();
    assert.ok(sent === 0 || asked > 0);
    assert.equal(refused, 0, "answers of /health");
    const { longestMs: loopMs, heapMb } = await measured.figures();
    table.lap({ sent, healthMs, loopMs, heapMb, residentMb: measured.residentMb() });
  }

  it("are answered below 500 while others are served, and use no more memory in the end", async (test) => {
    const document = (await measured.process.call("GET", "/api/v1/openapi.json")).body as unknown as OpenApi;
    const all = requests(document);
    await sendAll(fc.sample(all, { numRuns: WARM_UP, seed: 1 }), false);
    await measured.figures();
    const probe = await probeHealth(measured.process.url, test.signal);
    await lap(probe, 0);
    for (let quarter = 1; quarter <= 4; quarter++) {
      await sendAll(fc.sample(all, { numRuns: QUARTER, seed: 20_261_129 + quarter }), true);
      await lap(probe, quarter * QUARTER);
    }
    await probe.end();
    for (const line of table.lines()) test.diagnostic(line);
    assert.deepEqual(failed, []);
    assert.equal((await measured.process.call("GET", "/api/v1/status")).status, 200);
    assert.equal(await stdio.send("{}"), 101);
    if (FULL) assertBounds();
  });

  function assertBounds(): void {
    const [, first, ...more] = table.laps;
    const last = more.at(-1);
    assert.ok(first && last);
    for (const { sent, healthMs, loopMs } of table.laps) {
      assert.ok(healthMs < HEALTH_MS, `/health answered within ${healthMs} ms up to request ${sent}`);
      assert.ok(
        loopMs < LONGEST_MS,
        `the event loop was busy for ${loopMs} ms of CPU time up to request ${sent}`,
      );
    }
    const grown = { resident: last.residentMb - first.residentMb, heap: last.heapMb - first.heapMb };
    assert.ok(grown.resident < MOST_RESIDENT_MB, `the resident memory grew by ${grown.resident} MB`);
    assert.ok(grown.heap < MOST_HEAP_MB, `the heap grew by ${grown.heap} MB`);
  }
});
