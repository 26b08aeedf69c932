import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import {
  closedBinding,
  openBinding,
  checkAcpBinding,
  checkUnassembled,
  type Identity,
} from "../../../packages/runtimes/src/acp/acp-thread.ts";
import { extended, NOTHING_HELD } from "../../../packages/runtimes/src/thread/thread-state.ts";

const IDENTITY: Identity = { place: "p", epoch: "e", fingerprint: "f", tools: "t", instructions: "i" };
const AT = { nativeId: "n", agentId: "a", cwd: "/w", identity: IDENTITY };
const message = (content: string, entryId?: string): AgentMessage => ({
  role: "user",
  content,
  ...(entryId === undefined ? {} : { entryId }),
});

describe("a bound native session", () => {
  const history = [message("one", "1"), message("two", "2")];
  const held = extended(NOTHING_HELD, history);
  const binding = closedBinding(AT, { held, anchor: "2" });

  it("continues with what it holds, and lacks the later messages", () => {
    const check = checkAcpBinding(binding, IDENTITY, [...history, message("three")], false);
    assert.deepEqual(check.bound && check.delta, [message("three")]);
    const same = checkAcpBinding(binding, IDENTITY, history, false);
    assert.deepEqual(same.bound && same.delta, []);
  });

  it("is replaced when any part of its identity differs", () => {
    for (const field of Object.keys(IDENTITY))
      assert.equal(
        checkAcpBinding(binding, { ...IDENTITY, [field]: "other" }, history, false).bound,
        false,
        field,
      );
  });

  it("is replaced for a different, shorter or reordered history", () => {
    assert.equal(checkAcpBinding(binding, IDENTITY, [message("one"), message("2")], false).bound, false);
    assert.equal(checkAcpBinding(binding, IDENTITY, [message("one")], false).bound, false);
    assert.equal(checkAcpBinding(binding, IDENTITY, [message("two"), message("one")], false).bound, false);
  });

  it("is replaced when a turn on it did not end, nothing is bound or the binding is from another program", () => {
    assert.equal(checkAcpBinding(openBinding(AT, "turn"), IDENTITY, history, false).bound, false);
    assert.equal(checkAcpBinding(undefined, IDENTITY, history, false).bound, false);
    assert.equal(
      checkAcpBinding({ nativeId: "n", state: { held: 1 } }, IDENTITY, history, false).bound,
      false,
    );
    assert.equal(
      checkAcpBinding({ nativeId: "n", state: { adopted: true } }, IDENTITY, history, false).bound,
      false,
    );
  });

  it("lacks the messages since its newest entry, when the agent manages the context", () => {
    const check = checkAcpBinding(closedBinding(AT, { anchor: "1" }), IDENTITY, history, true);
    assert.deepEqual(check.bound && check.delta, [history[1]]);
    assert.equal(checkAcpBinding(closedBinding(AT, { anchor: "9" }), IDENTITY, history, true).bound, false);
  });

  it("continues as it is when the engine could not be called", () => {
    const check = checkUnassembled(binding, { ...IDENTITY, epoch: undefined, instructions: "plain" });
    assert.deepEqual(check.bound && [check.delta, check.identity], [[], IDENTITY]);
    assert.equal(checkUnassembled(binding, { ...IDENTITY, tools: "other" }).bound, false);
  });
});
