/** Ranges of captured bodies: plain ones from the file, compressed ones from the decoded stream. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { captureNumbers, readCapture } from "../../packages/gateway/src/capture/read-capture.ts";
import { StoredRequestBody } from "../../packages/server/src/inspect/requests/stored-body.ts";
import { Captures } from "../gateway/capture/setting.ts";

const PLAIN = Buffer.from(JSON.stringify({ messages: [{ role: "user", content: "ü".repeat(300_000) }] }));
const ENCODERS = { none: (bytes: Buffer) => bytes, gzip: gzipSync, zstd: zstdCompressSync };

describe("a captured body", () => {
  for (const [encoding, encode] of Object.entries(ENCODERS))
    it(`gives any range of what it says: ${encoding}`, async (t) => {
      const captures = new Captures();
      t.after(() => captures.remove());
      const body = encode(PLAIN);
      const rawHeaders = encoding === "none" ? [] : ["Content-Encoding", encoding];
      const capture = captures.log.begin({
        sessionKey: "main",
        runtime: "codex",
        route: "r",
        request: 0,
        kind: "main",
        api: "openai-completions",
        model: "m",
        method: "POST",
        path: "/chat/completions",
        rawHeaders,
        body,
      });
      capture.sent("model", [body], { replaced: false });
      capture.end({ cut: false, left: false, answeredBy: "upstream" });
      await captures.log.settled();
      const session = { home: captures.home, agentId: "main", sessionKey: "main" };
      const record = readCapture(session, captureNumbers(session)[0] ?? 0);
      const stored = record && StoredRequestBody.sent(session, record, 1);
      assert.ok(stored);
      assert.equal(stored.isEncoded, encoding !== "none");
      assert.ok((await stored.whole())?.equals(PLAIN));
      for (const [from, to] of [
        [0, 10],
        [299_990, 300_010],
        [PLAIN.length - 5, PLAIN.length + 100],
        [PLAIN.length + 1, PLAIN.length + 9],
      ] as const)
        assert.deepEqual(await stored.range(from, to), PLAIN.subarray(from, to), `${from} to ${to}`);
      assert.equal(record && StoredRequestBody.sent(session, record, 2), undefined);
    });
});
