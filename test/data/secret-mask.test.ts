import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  maskKeyShapes,
  maskSecrets,
  secretForms,
  withoutAuthScheme,
} from "../../packages/core/src/data/secret-mask.ts";
import { cleanLine } from "../../packages/host/src/mcp/client/mcp-words.ts";
import { redact } from "../../packages/core/src/model/secret.ts";
import { redactSensitiveText } from "../../packages/host/src/plugin/compat/sdk.ts";

const SHAPES: [text: string, masked: string][] = [
  ["key sk-ant-api03-AbC_123456 ends", "key [secret] ends"],
  ["SK-ABCDEFGH12345", "[secret]"],
  ["rk_abcdefgh12345", "[secret]"],
  ["ghp_abcdefghijklmnop", "[secret]"],
  ["xoxb-1234567890-abc", "[secret]"],
  ["AIzaSyA-1234567890abcdefghij", "[secret]"],
  ["Authorization: Bearer abcdefgh.ijk", "Authorization: Bearer [secret]"],
  ['{"api_key": "hunter2222"}', '{"api_key": "[secret]"}'],
  ["password=hunter2222; next", "password=[secret]; next"],
  ["the token is short", "the token is short"],
  ["task-oriented, max_tokens: 100000", "task-oriented, max_tokens: 100000"],
];

describe("masking of secrets", () => {
  it("masks the same key shapes in errors of a model, lines of an MCP server and the SDK's text", () => {
    for (const [text, masked] of SHAPES) {
      assert.equal(maskKeyShapes(text), masked);
      assert.equal(maskKeyShapes(masked), masked);
      assert.equal(redact(text, []), masked);
      assert.equal(cleanLine(text, []), masked);
      assert.equal(redactSensitiveText(text), masked);
    }
  });

  it("masks a known secret in JSON text and in a URL too", () => {
    const secret = 'a"b/c d\u00e9';
    const forms = secretForms([secret]);
    const json = JSON.stringify(secret).slice(1, -1);
    for (const form of [secret, json, json.replaceAll("/", "\\/"), encodeURIComponent(secret)]) {
      assert.equal(maskSecrets(`<${form}>`, forms), "<[secret]>");
      assert.equal(redact(`<${form}>`, [secret]), "<[secret]>");
    }
  });

  it("masks a secret that contains another as a whole", () => {
    assert.equal(maskSecrets("abcdef abcd", secretForms(["abcd", "abcdef"])), "[secret] [secret]");
  });

  it("removes any scheme of a credential", () => {
    for (const scheme of ["Bearer", "basic", "Token", "Negotiate"])
      assert.equal(withoutAuthScheme(`${scheme} abc`), "abc");
    assert.equal(withoutAuthScheme("abc def"), "abc def");
  });
});
