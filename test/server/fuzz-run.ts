/**
 * Bodies at random on each API of a real server, while its `/health` is asked. A run has parts, which are measured on their own, so that it
 * can be continued.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { probeHealth, send, StdioClient, type HealthProbe } from "./fuzz-clients.ts";
import { requests, type FuzzRequest, type OpenApi } from "./fuzz-requests.ts";
import { MeasuredServer } from "./measured-server.ts";

const AT_ONCE = 8;
const LIVE_SESSIONS = 50;
const NAMES = 40;
/** Requests after which the sessions with a name are deleted, so that they stay short. */
const DELETE_EVERY = 1_000;
/** Characters that are shown of a body whose answer is a failure. */
const SHOWN = 500;

export interface FuzzPart {
  /** From 1; the same part has the same requests. */
  part: number;
  /** Numbers of answers by door, then by status. */
  answers: Record<string, Record<string, number>>;
  /** Requests whose status is 500 or above. */
  failed: string[];
  /** Longest answer of `/health`, ms; `ownMs`: without waiting for a processor. */
  healthMs: number;
  ownMs: number;
  asked: number;
  /** CPU time of the longest work of the event loop, ms. */
  loopMs: number;
  /** After a collection. */
  heapMb: number;
  residentMb: number;
}

function doorOf({ how, path }: FuzzRequest): string {
  if (path.startsWith("/acp")) return `/acp ${how}`;
  return path.startsWith("/v1") ? "/v1" : "/api/v1";
}

/** Most of `/v1` are in sessions with a name, so that the sessions do not become as many as the requests. */
function named(request: FuzzRequest, at: number): FuzzRequest {
  if (!request.path.startsWith("/v1/") || at % 10 === 0) return request;
  return { ...request, headers: { ...request.headers, "x-pagurus-session": `fuzz-${at % NAMES}` } };
}

interface Parts {
  model: ModelServer;
  setting: Setting;
  measured: MeasuredServer;
  stdio: StdioClient;
  probe: HealthProbe;
  all: fc.Arbitrary<FuzzRequest>;
}

export class FuzzRun {
  readonly #parts: Parts;

  private constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** `warmUp`: requests without measurement that load what the first ones of a kind load, and fill the sessions that are kept. */
  static async start(warmUp: number, signal: AbortSignal): Promise<FuzzRun> {
    const model = await startServer({
      protocol: "openai-completions",
      script: () => {
        // A hundred thousand of them would fill this process.
        model.requests.length = 0;
        return { text: "ok" };
      },
    });
    const config = modelConfig(
      "openai-completions",
      model.url,
      {},
      { server: { maxLiveSessions: LIVE_SESSIONS } },
    );
    const setting = makeSetting(config);
    const measured = await MeasuredServer.start(setting);
    const document = (await measured.process.call("GET", "/api/v1/openapi.json")).body as unknown as OpenApi;
    const run = new FuzzRun({
      model,
      setting,
      measured,
      stdio: new StdioClient(setting),
      probe: await probeHealth(measured.process, signal),
      all: requests(document),
    });
    await run.#send(fc.sample(run.#parts.all, { numRuns: warmUp, seed: 1 }));
    await run.#measured();
    return run;
  }

  async part(part: number, count: number): Promise<FuzzPart> {
    const made = fc.sample(this.#parts.all, { numRuns: count, seed: 20_261_129 + part });
    const sent = await this.#send(made);
    return { part, ...sent, ...(await this.#measured()) };
  }

  async #send(made: readonly FuzzRequest[]): Promise<Pick<FuzzPart, "answers" | "failed">> {
    const { measured, stdio } = this.#parts;
    const answers: FuzzPart["answers"] = {};
    const failed: string[] = [];
    let next = 0;
    const work = async (): Promise<void> => {
      for (let at = next++; at < made.length; at = next++) {
        const each = named(made[at] as FuzzRequest, at);
        const status =
          each.how === "stdio" ? await stdio.send(each.body) : await send(measured.process, each);
        if (status >= 500) failed.push(`${status} ${each.method} ${each.path} ${each.body.slice(0, SHOWN)}`);
        const statuses = (answers[doorOf(each)] ??= {});
        statuses[status] = (statuses[status] ?? 0) + 1;
        if (at % DELETE_EVERY === DELETE_EVERY - 1) await this.#deleteNamed();
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return { answers, failed };
  }

  async #deleteNamed(): Promise<void> {
    for (let name = 0; name < NAMES; name++)
      await this.#parts.measured.process.call("DELETE", `/api/v1/sessions/fuzz-${name}`);
  }

  async #measured(): Promise<Omit<FuzzPart, "part" | "answers" | "failed">> {
    const { measured, probe } = this.#parts;
    const { longestMs: healthMs, ownMs, asked, failed } = await probe.pause();
    assert.equal(failed, 0, "answers of /health that are not ok");
    // A collection, and a count of the heap's objects in the server's main thread, which takes a second that is no work of the server.
    const { longestMs: loopMs, heapMb } = await measured.figures();
    probe.resume();
    return {
      healthMs,
      ownMs,
      asked,
      loopMs,
      heapMb,
      residentMb: measured.residentMb(),
    };
  }

  /** The server and the program over stdio still answer. */
  async check(): Promise<void> {
    assert.equal((await this.#parts.measured.process.call("GET", "/api/v1/status")).status, 200);
    assert.equal(await this.#parts.stdio.send("{}"), 101);
  }

  async end(): Promise<void> {
    const { model, setting, measured, stdio, probe } = this.#parts;
    await Promise.all([probe.end(), stdio.end()]);
    await measured.process.kill();
    await model.close();
    setting.remove();
  }
}
