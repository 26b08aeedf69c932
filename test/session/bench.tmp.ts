import { mkdtempSync, writeFileSync, openSync, writeSync, closeSync, mkdirSync, rmSync } from "node:fs";
import { openStore, user, assistant } from "./fixtures.ts";
for (const n of [10, 1000, 100_000]) {
  const dir = mkdtempSync("/tmp/pgb-");
  mkdirSync(dir + "/sessions", { recursive: true });
  const id = "0mwqzb6dv00080ww";
  const fd = openSync(`${dir}/sessions/${id}.jsonl`, "w");
  let buf = JSON.stringify({ type: "session", version: 3, id, timestamp: "2026-01-01T00:00:00.000Z", cwd: "/", key: "main" }) + "\n";
  let parent: string | null = null;
  const words = Array.from({ length: 3000 }, (_, i) => "w" + i.toString(36));
  for (let i = 0; i < n; i++) {
    const eid = "0mw" + i.toString(36).padStart(9, "0") + "zzzz";
    let text = ""; while (text.length < 1500) text += words[(Math.random() * 3000) | 0] + " ";
    const turnId = "t" + (i >> 3);
    const e = i % 8 === 7 ? { type: "turn_commit", id: eid, parentId: parent, timestamp: "2026-01-01T00:00:00.000Z", turnId, epoch: 1, outcome: "completed" }
      : { type: "message", id: eid, parentId: parent, timestamp: "2026-01-01T00:00:00.000Z", turnId, epoch: 1, message: i % 8 === 0 ? user(text) : assistant(text) };
    parent = eid; buf += JSON.stringify(e) + "\n";
    if (buf.length > 1e7) { writeSync(fd, buf); buf = ""; }
  }
  writeSync(fd, buf); closeSync(fd);
  const time = (label: string, f: () => unknown) => { const t = performance.now(); const r = f(); console.log(n, label, (performance.now() - t).toFixed(2), "ms"); return r; };
  let store = openStore(dir);
  time("rebuild", () => store.list());
  const w = time("open", () => store.openWriter("main", { cwd: "/" })) as ReturnType<typeof store.openWriter>;
  w.close(); store.close();
  store = openStore(dir);
  const times: number[][] = [[], [], [], []];
  for (let k = 0; k < 60; k++) {
    const t0 = performance.now();
    const w = store.openWriter("main", { cwd: "/" });
    const t1 = performance.now();
    w.contextMessages({ maxBytes: 300_000 });
    const t2 = performance.now();
    for (let i = 0; i < 10; i++) w.append({ type: "message", turnId: "n" + k, message: i ? assistant("x ".repeat(500) + k) : user("y " + k) });
    const t3 = performance.now();
    w.commitTurn({ turnId: "n" + k, outcome: "completed" });
    const t4 = performance.now();
    w.close();
    times[0]!.push(t1 - t0); times[1]!.push(t2 - t1); times[2]!.push(t3 - t2); times[3]!.push(t4 - t3);
  }
  console.log(n, "open/context/append10/commit p50, first:", times.map((x) => `${x.toSorted((a, b) => a - b)[30]!.toFixed(2)} (${x[0]!.toFixed(2)})`).join("  "));
  time("search rare+catchup", () => store.search("w1x w2y"));
  time("search common", () => store.search("w1x"));
  time("search very common", () => store.search("x"));
  store.close();
  const s2 = openStore(dir);
  time("cold open", () => s2.openWriter("main", { cwd: "/" }).contextMessages({ maxBytes: 300_000 }));
  console.log(process.memoryUsage().rss >> 20, "MB");
  rmSync(dir, { recursive: true });
}
