import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ProgramMessage } from "../../packages/inside/src/client/host-client.ts";
import { keptEnd } from "../../packages/inside/src/pi/kept-end.ts";

const say = (role: ProgramMessage["role"], results: string[] = []): ProgramMessage => ({
  role,
  text: "",
  calls: [],
  results: results.map((id) => ({ id, text: "", isError: false })),
});

test("pi keeps all messages from the earliest on from which each one is kept", () => {
  const messages = [say("user"), say("assistant"), say("user"), say("assistant"), say("user")];
  assert.deepEqual(keptEnd(messages, [0, 3, 4]), { first: 3, before: [0] });
  assert.deepEqual(keptEnd(messages, [2, 3, 4]), { first: 2, before: [] });
});

test("a tool result does not begin the kept messages", () => {
  const messages = [say("user"), say("assistant"), say("user", ["c1"]), say("assistant")];
  assert.deepEqual(keptEnd(messages, [2, 3]), { first: 1, before: [] });
});

test("each kept message is after the first one or named before it", () => {
  const kinds = fc.array(fc.constantFrom(say("user"), say("assistant"), say("user", ["c"])), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(kinds, fc.array(fc.nat(11)), (messages, some) => {
      const keep = [...new Set(some.filter((index) => index < messages.length))].toSorted((a, b) => a - b);
      const { first, before } = keptEnd(messages, keep);
      for (const index of keep) assert.ok(index >= first || before.includes(index));
      assert.ok(first === 0 || first === messages.length || messages[first]?.results.length === 0);
    }),
  );
});
