/** The price of a tool's request to a direct surface that fails. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, it } from "node:test";
import type { PagurusConfig } from "../../packages/core/src/config/config-types.ts";
import { jsonRequest } from "../../packages/core/src/model/surfaces/surface-forms.ts";
import { paidSurface } from "../../packages/host/src/turn/prepare/paid-surface.ts";

const PRICE = 0.04;
const TOO_LONG = Buffer.alloc(65 * 2 ** 20);

let close: (() => Promise<void>) | undefined;

async function providerWith(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

/** Costs of one image that is asked for at this provider, whose request fails with `code`. */
async function paidAt(url: string, code: string, signal = new AbortController().signal): Promise<number[]> {
  const config = {
    models: {
      providers: {
        lab: {
          api: "openai-completions",
          baseUrl: url,
          apiKey: "a-key-of-the-provider",
          models: [{ id: "paints", surfaces: ["images"], unitCost: { image: PRICE } }],
        },
      },
    },
  } as PagurusConfig;
  const costs: number[] = [];
  const payer = {
    cost: {
      reserve: () => ({ done: () => undefined }),
      paid: (cost: number) => void costs.push(cost),
      noteUnpriced: () => undefined,
    },
    onUnwritten: () => undefined,
  };
  const asked = paidSurface(
    { config, env: {}, payer },
    {
      ref: "lab/paints",
      ask: { surface: "images", texts: ["x"], images: 1 },
      form: (model) => jsonRequest("/images/generations", { model, prompt: "x" }),
    },
    signal,
  );
  await assert.rejects(asked, { code });
  return costs;
}

describe("a tool's request to a direct surface", () => {
  afterEach(async () => {
    await close?.();
    close = undefined;
  });
  it("costs its estimate if the turn is aborted after it was sent", async () => {
    const turn = new AbortController();
    const url = await providerWith((incoming) => void incoming.resume().once("end", () => turn.abort()));
    assert.deepEqual(await paidAt(url, "turn_aborted", turn.signal), [PRICE]);
  });

  it("costs its estimate if the answer comes too late", async ({ mock }) => {
    mock.timers.enable({ apis: ["setTimeout"] });
    const url = await providerWith(
      (incoming) => void incoming.resume().once("end", () => mock.timers.tick(10 * 60_000)),
    );
    assert.deepEqual(await paidAt(url, "deadline_exceeded"), [PRICE]);
  });

  it("costs its estimate if the answer is too long, or is cut off", async () => {
    const long = await providerWith((_incoming, response) => void response.end(TOO_LONG));
    assert.deepEqual(await paidAt(long, "model_bad_response"), [PRICE]);
    await close?.();
    const cut = await providerWith((_incoming, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("x", () => response.destroy());
    });
    assert.deepEqual(await paidAt(cut, "model_unavailable"), [PRICE]);
  });

  it("costs nothing before it is sent, for an error of the provider, and without a connection", async () => {
    const url = await providerWith((_incoming, response) => {
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: "Too dark." } }));
    });
    assert.deepEqual(await paidAt(url, "turn_aborted", AbortSignal.abort()), []);
    assert.deepEqual(await paidAt(url, "model_bad_request"), []);
    await close?.();
    close = undefined;
    assert.deepEqual(await paidAt(url, "model_unavailable"), []);
  });
});
