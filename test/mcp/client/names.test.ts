import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { fitsOne, toolName } from "../../../packages/host/src/mcp/client/names.ts";

test("plain names of a server and a tool are joined for models", () => {
  assert.equal(toolName("github", "create_issue"), "github__create_issue");
  assert.equal(toolName("my-server", "get-sum"), "my-server__get-sum");
});

test("every name fits every provider, none has the prefix that Codex reserves, and no two tools share one", () => {
  const text = fc.oneof(
    fc.string({ maxLength: 80 }),
    fc.stringMatching(/^[a_-]{1,4}$/),
    fc.constantFrom("mcp", "mcp_", "mcp__x", "1st", "", "é", "a".repeat(70)),
  );
  fc.assert(
    fc.property(text, text, text, text, (server, tool, otherServer, otherTool) => {
      const name = toolName(server, tool);
      assert.match(name, /^[A-Za-z][A-Za-z0-9_-]{0,63}$/);
      assert.ok(!name.startsWith("mcp__"), name);
      assert.equal(toolName(server, tool), name);
      if (server !== otherServer || tool !== otherTool)
        assert.notEqual(toolName(otherServer, otherTool), name);
    }),
  );
});

test("a pattern is a whole name, in which a star matches any characters", () => {
  assert.equal(fitsOne("get-sum", ["get-*"]), true);
  assert.equal(fitsOne("get-sum", ["get", "sum"]), false);
  assert.equal(fitsOne("a.b", ["a?b", "a.b"]), true);
  assert.equal(fitsOne("axb", ["a.b"]), false);
  assert.equal(fitsOne("anything", ["*"]), true);
});
