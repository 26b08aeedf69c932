import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanLine, serverSecrets } from "../../../packages/host/src/mcp/client/mcp-words.ts";

test("a secret is found verbatim, without its scheme, escaped, and across lines", () => {
  const secrets = serverSecrets(['Bearer a"b\\c/d e-token', "line-one\nline-two\n", "short"]);
  for (const text of [
    'Bearer a"b\\c/d e-token',
    'a"b\\c/d e-token',
    JSON.stringify('a"b\\c/d e-token').slice(1, -1),
    encodeURIComponent('a"b\\c/d e-token'),
    "line-one line-two",
    "line-one\nline-two",
  ])
    assert.equal(cleanLine(`<${text}>`, secrets), "<[secret]>", text);
  assert.equal(cleanLine("only line-two of it", secrets), "only [secret] of it");
  assert.equal(cleanLine("a short word and a Bearer", secrets), "a short word and a Bearer");
});

test("output of a server cannot move the cursor, hide or reverse characters", () => {
  const text = "a\u001b[2Jb\u001b]0;title\u0007c\r\nd\u202ee\u200bf\u0000g\ud83d";
  assert.equal(cleanLine(text, []), "abc def g\ufffd");
});
