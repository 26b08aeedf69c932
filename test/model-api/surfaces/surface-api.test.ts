/** Costs of requests to direct surfaces under way together, and of those whose answer comes too late. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { WireReply } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { FAULT_STATUS } from "../../../packages/gateway/src/dialect/fault-status.ts";
import { WireCallError } from "../../../packages/gateway/src/server/faults.ts";
import type { WireCall } from "../../../packages/gateway/src/server/gateway-call.ts";
import { directAgents, type DirectAgents } from "../../../packages/gateway/src/upstream/direct.ts";
import {
  SurfaceApi,
  type SurfaceApiOptions,
} from "../../../packages/server/src/model-api/surfaces/surface-api.ts";
import { SpendLedger } from "../../../packages/host/src/stores/files/spend/spend-ledger.ts";
import { agentDir } from "../../../packages/core/src/config/config-paths.ts";
import { until } from "../../runner/until.ts";
import { SURFACE_KEY, startSurfaceServer, type SurfaceServer } from "../../servers/surface-server.ts";

const SESSION = "0000000000000000";
const PRICE = 0.04;

let home: string;
let provider: SurfaceServer;
let agents: DirectAgents;

/** The surfaces of the agent `main`, which has the session `art`. */
function surfaces(maxCost: object): SurfaceApi {
  const models = [{ id: "paints", surfaces: ["images"], unitCost: { image: PRICE } }];
  const lab = { api: "openai-completions", baseUrl: provider.url, apiKey: SURFACE_KEY, models };
  const config = { models: { providers: { lab } }, agents: { defaults: { maxCost } } };
  const store = { find: (key: string) => (key === "art" ? { sessionId: SESSION } : undefined) };
  return new SurfaceApi({
    home,
    agentId: "main",
    env: {},
    loaded: { config },
    pagurus: { sessions: () => store },
    json: { parse: (bytes: Buffer) => Promise.resolve(JSON.parse(bytes.toString("utf8"))) },
    logger: { warn: () => undefined },
    agents,
  } as unknown as SurfaceApiOptions);
}

/** Asks for one image. Resolves to the status of the answer. */
async function asked(api: SurfaceApi): Promise<number> {
  let status = 0;
  const call: Partial<WireCall> = {
    method: "POST",
    path: "/images/generations",
    query: "",
    headers: { "content-type": "application/json" },
    rawHeaders: ["content-type", "application/json"],
    signal: new AbortController().signal,
    body: () => Promise.resolve(Buffer.from(JSON.stringify({ model: "lab/paints", prompt: "x" }))),
    reply: (reply: WireReply) => (status = reply.status),
    async pass(answer, tap) {
      status = answer.status;
      for await (const chunk of answer.stream) tap?.(chunk as Buffer);
      return { cut: false, left: false, bytes: 0 };
    },
  };
  try {
    await api.serve(call as WireCall, { tokenId: "t", allowsAgent: () => true, sessionKey: "art" });
  } catch (error) {
    if (error instanceof WireCallError && error.fault === "cost_limit") return FAULT_STATUS.cost_limit;
    throw error;
  }
  return status;
}

function sessionTotal(): number {
  return new SpendLedger(agentDir(home, "main"), {}).sessionTotal(SESSION);
}

describe("requests to a direct surface", () => {
  beforeEach(async () => {
    home = mkdtempSync(join(tmpdir(), "pagurus-surfaces-"));
    provider = await startSurfaceServer();
    agents = directAgents();
  });
  afterEach(async () => {
    agents.close();
    await provider.close();
    rmSync(home, { recursive: true, force: true });
  });
  it("of one session count against its limit together while they are under way", async () => {
    const api = surfaces({ session: 2.5 * PRICE });
    const held = provider.hold();
    const statuses: number[] = [];
    const all = Array.from({ length: 5 }, async () => statuses.push(await asked(api)));
    await until(() => provider.requests.length + statuses.length === all.length);
    assert.deepEqual(statuses, [402, 402, 402]);
    held.release();
    await Promise.all(all);
    assert.equal(provider.requests.length, 2);
    assert.ok(Math.abs(sessionTotal() - 2 * PRICE) < 1e-9);
  });

  it("of one session count once for its limit, if they ended while another was under way", async () => {
    const api = surfaces({ session: 3.5 * PRICE });
    const held = provider.hold();
    const underWay = asked(api);
    await held.begun;
    // The first request stays held; these are not.
    provider.hold().release();
    assert.equal(await asked(api), 200);
    assert.equal(await asked(api), 200);
    assert.equal(await asked(api), 402);
    held.release();
    assert.equal(await underWay, 200);
    assert.equal(await asked(api), 402);
  });

  it("cost their estimate if the answer comes too late", async ({ mock }) => {
    const api = surfaces({});
    const held = provider.hold();
    mock.timers.enable({ apis: ["setTimeout"] });
    const late = assert.rejects(asked(api), { name: "WireCallError" });
    await held.begun;
    mock.timers.tick(10 * 60_000);
    await late;
    held.release();
    assert.equal(sessionTotal(), PRICE);
  });
});
