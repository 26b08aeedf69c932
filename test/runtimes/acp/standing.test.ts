import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AgentMessage } from "../../../src/contract/message.ts";
import {
  closedBinding,
  openBinding,
  standingOf,
  unassembledStanding,
  type Identity,
} from "../../../src/runtimes/acp/standing.ts";
import { extended, NOTHING_HELD } from "../../../src/native/held.ts";

const IDENTITY: Identity = { place: "p", epoch: "e", fingerprint: "f", tools: "t", instructions: "i" };
const AT = { nativeId: "n", agentId: "a", cwd: "/w", identity: IDENTITY };
const said = (content: string, entryId?: string): AgentMessage => ({
  role: "user",
  content,
  ...(entryId === undefined ? {} : { entryId }),
});

describe("whether a native session goes on", () => {
  const history = [said("one", "1"), said("two", "2")];
  const held = extended(NOTHING_HELD, history);
  const binding = closedBinding(AT, { held, anchor: "2" });

  it("does with what it holds, and lacks what stands behind", () => {
    const standing = standingOf(binding, IDENTITY, [...history, said("three")], false);
    assert.deepEqual(standing.bound && standing.delta, [said("three")]);
    const same = standingOf(binding, IDENTITY, history, false);
    assert.deepEqual(same.bound && same.delta, []);
  });

  it("does not where anything of what it was made for is another", () => {
    for (const field of Object.keys(IDENTITY))
      assert.equal(
        standingOf(binding, { ...IDENTITY, [field]: "other" }, history, false).bound,
        false,
        field,
      );
  });

  it("does not with another history, a shorter one, or an order of its own", () => {
    assert.equal(standingOf(binding, IDENTITY, [said("one"), said("2")], false).bound, false);
    assert.equal(standingOf(binding, IDENTITY, [said("one")], false).bound, false);
    assert.equal(standingOf(binding, IDENTITY, [said("two"), said("one")], false).bound, false);
  });

  it("does not where a turn on it did not end, nothing is bound or the binding is of nobody's making", () => {
    assert.equal(standingOf(openBinding(AT, "turn"), IDENTITY, history, false).bound, false);
    assert.equal(standingOf(undefined, IDENTITY, history, false).bound, false);
    assert.equal(standingOf({ nativeId: "n", state: { held: 1 } }, IDENTITY, history, false).bound, false);
    assert.equal(
      standingOf({ nativeId: "n", state: { adopted: true } }, IDENTITY, history, false).bound,
      false,
    );
  });

  it("lacks what was said since its newest entry, where the agent keeps the context", () => {
    const standing = standingOf(closedBinding(AT, { anchor: "1" }), IDENTITY, history, true);
    assert.deepEqual(standing.bound && standing.delta, [history[1]]);
    assert.equal(standingOf(closedBinding(AT, { anchor: "9" }), IDENTITY, history, true).bound, false);
  });

  it("goes on as it is where the engine could not be asked", () => {
    const standing = unassembledStanding(binding, { ...IDENTITY, epoch: undefined, instructions: "plain" });
    assert.deepEqual(standing.bound && [standing.delta, standing.identity], [[], IDENTITY]);
    assert.equal(unassembledStanding(binding, { ...IDENTITY, tools: "other" }).bound, false);
  });
});
