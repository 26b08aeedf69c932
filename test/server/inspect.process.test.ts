/** The inspector's routes over a real server: requests, their bytes and sources, what was left out, the line of time. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { createClient, type PagurusClient } from "../../packages/client/src/index.ts";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { ServeProcess } from "./serve-setting.ts";

const PROMPTS = Array.from(
  { length: 6 },
  (_, at) => `Prompt ${at}: ${`the harbour of Triest has ${at + 3} quays. `.repeat(60)}`,
);

describe("the inspector's routes", () => {
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;
  let client: PagurusClient;

  before(async () => {
    model = await startServer({
      protocol: "anthropic-messages",
      script: () => ({
        text: `Answer <b>with</b> "marks" \u202e and ümlauts. ${"It is as it was. ".repeat(40)}`,
      }),
    });
    setting = makeSetting(
      modelConfig(
        "anthropic-messages",
        model.url,
        {},
        {
          plugins: { slots: { contextEngine: "lossless" } },
          gateway: { capture: true },
        },
      ),
    );
    server = await ServeProcess.start(setting);
    client = createClient({ url: server.url, token: server.key });
    for (const prompt of PROMPTS) {
      const { id } = await client.postTurn("trip", { prompt });
      assert.equal((await server.ended(id))["outcome"], "completed");
    }
    const { id } = await client.compact("trip");
    assert.equal((await server.ended(id))["outcome"], "completed");
    const last = await client.postTurn("trip", { prompt: "And now?" });
    assert.equal((await server.ended(last.id))["outcome"], "completed");
  });
  after(async () => {
    await server.kill();
    await model.close();
    setting.remove();
  });

  it("divide the body that the model got, byte for byte, and give any range of it", async () => {
    const { requests, total } = await client.inspect.requests("trip");
    const own = requests.filter(({ purpose }) => purpose === undefined);
    assert.equal(own.length, PROMPTS.length + 1);
    assert.equal(total, requests.length);
    for (const { id, captured } of own) {
      const { parts } = await client.inspect.parts("trip", id, { limit: 1_000 });
      const details = await client.inspect.request("trip", id);
      assert.equal(details.captured, true);
      const bytes = details.body?.bytes ?? 0;
      assert.equal(captured?.bytes, bytes);
      let at = 0;
      for (const { from, to } of parts) {
        assert.equal(from, at);
        at = to ?? 0;
      }
      assert.equal(at, bytes);
      const body = Buffer.from(await client.inspect.body("trip", id, { from: 0, to: bytes }));
      assert.ok(
        model.requests.some(({ body: got }) => isDeepStrictEqual(got, JSON.parse(body.toString()))),
        "the model server got this",
      );
      const live = parts.filter(({ source }) => source === "live");
      assert.equal(live.length, 1);
      const [entryId = ""] = live[0]?.entryIds ?? [];
      const { entry } = await client.inspect.entry("trip", entryId);
      assert.ok(entry?.type === "message" && entry.message.role === "user");
      const words = body.toString("utf8", live[0]?.from, live[0]?.to);
      const { content } = entry.message;
      assert.ok(
        words.includes(typeof content === "string" ? content : (content[0] as { text: string }).text),
      );
      assert.ok(!parts.some(({ source }) => source === "unread" || source === "harness"));
    }
  });

  it("have nothing of the provider's key: the embedded runtime's captures leave it out", () => {
    const folder = join(setting.home, "captures");
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      /\.\w+$/.test(name),
    );
    const texts = files
      .filter((name) => /\.(?:json|bin)$/.test(name))
      .map((name) => readFileSync(join(folder, name), "latin1"));
    assert.ok(texts.length > PROMPTS.length && texts.some((text) => text.includes('"[redacted]"')));
    assert.ok(texts.every((text) => !text.includes("test-key-0123456789")));
  });

  it("name what was left out after a compaction, and the summary that has its place", async () => {
    const { requests } = await client.inspect.requests("trip");
    const [last] = requests.filter(({ purpose }) => purpose === undefined).slice(-1);
    assert.ok(last);
    const { sums } = await client.inspect.request("trip", last.id);
    assert.ok(sums.some(({ source }) => source === "head"));
    const left = await client.inspect.leftOut("trip", last.id, { limit: 1_000 });
    assert.ok(left.known && left.total > 0);
    const { compactions } = await client.inspect.compactions("trip");
    const [compaction] = compactions;
    assert.equal(compactions.length, 1);
    assert.equal(compaction?.firstRequest, last.id);
    const ids = new Set(compaction?.summaries.map(({ id }) => id));
    for (const entry of left.entries) {
      assert.equal(entry.where, "summarized");
      assert.ok(ids.has(entry.summaryId ?? ""), JSON.stringify(entry));
    }
    assert.equal(
      left.sums.reduce((sum, { entries }) => sum + entries, 0),
      left.total,
    );
    const { parts } = await client.inspect.parts("trip", last.id, { limit: 1_000 });
    const shown = new Set(parts.flatMap(({ entryIds = [] }) => entryIds));
    assert.ok(left.entries.every(({ entryId }) => !shown.has(entryId)));
    const [summary] = compaction?.summaries ?? [];
    const text = await client.inspect.summary("trip", {
      entryId: compaction?.entryId ?? "",
      id: summary?.id ?? "",
    });
    assert.ok(text.length > 0);
    const [first] = requests;
    const before = await client.inspect.leftOut("trip", first?.id ?? "");
    assert.deepEqual([before.known, before.total], [true, 0]);
  });

  it("page the line of time from its end, without a hole or a double", async () => {
    const { items: all, total } = await client.inspect.timeline("trip", { limit: 1_000 });
    assert.equal(all.length, total);
    const kinds = all.map(({ kind }) => kind);
    assert.equal(kinds.filter((kind) => kind === "turn").length, PROMPTS.length + 1);
    assert.equal(kinds.filter((kind) => kind === "compaction").length, 1);
    const paged = [];
    for (let before: string | undefined; ;) {
      const { items, next } = await client.inspect.timeline("trip", { before, limit: 4 });
      paged.unshift(...items);
      if (next === undefined) break;
      before = next;
    }
    assert.deepEqual(paged, all);
  });

  it("have a curve of the session's own requests, each point of which is a request", async () => {
    const { requests } = await client.inspect.requests("trip");
    const own = requests.filter(({ purpose }) => purpose === undefined);
    const { points, requests: counted } = await client.inspect.curve("trip");
    assert.equal(counted, own.length);
    assert.deepEqual(
      points.map(({ request, tokens }) => [request, tokens]),
      own.map(({ id, usage, tokens }) => [
        id,
        usage ? usage.input + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0) : tokens,
      ]),
    );
    assert.equal((await client.inspect.curve("trip", { points: 2 })).points.length, 2);
  });

  it("refuse a range of more than 256 KiB, and what does not exist", async () => {
    const { requests } = await client.inspect.requests("trip", { limit: 1 });
    const id = requests[0]?.id ?? "";
    const refused = [
      client.inspect.body("trip", id, { from: 0, to: 262_145 }),
      client.inspect.body("trip", id, { from: 5, to: 5 }),
      client.inspect.request("trip", "none.0"),
      client.inspect.entry("trip", "none"),
      client.inspect.timeline("trip", { before: "none" }),
      client.inspect.requests("unknown"),
    ];
    const codes = (await Promise.allSettled(refused)).map(
      (each) => each.status === "rejected" && (each.reason as { code?: string }).code,
    );
    assert.deepEqual(codes, [
      "usage_invalid",
      "usage_invalid",
      "entry_not_found",
      "entry_not_found",
      "entry_not_found",
      "session_not_found",
    ]);
  });
});
