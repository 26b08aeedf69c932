import { mkdtempSync, openSync, writeSync, closeSync, mkdirSync, rmSync } from "node:fs";
import { openStore, user, assistant } from "./fixtures.ts";
  const n = 100_000;
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
    const e = i % 8 === 7 || i===n-1 ? { type: "turn_commit", id: eid, parentId: parent, timestamp: "2026-01-01T00:00:00.000Z", turnId: "t" + (i >> 3), epoch: 1, outcome: "completed" }
      : { type: "message", id: eid, parentId: parent, timestamp: "2026-01-01T00:00:00.000Z", turnId: "t" + (i >> 3), epoch: 1, message: i % 8 === 0 ? user(text) : assistant(text) };
    parent = eid; buf += JSON.stringify(e) + "\n";
    if (buf.length > 1e7) { writeSync(fd, buf); buf = ""; }
  }
  writeSync(fd, buf); closeSync(fd);
  let store = openStore(dir); store.list(); store.search("x"); store.close();
  console.log(dir);
