import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { HostCapability } from "../../../src/contract/engine.ts";
import type { AgentHarness } from "../../../src/contract/harness.ts";
import { HARNESS_CONTRACT } from "../../../src/contract/version.ts";
import { describeModel } from "../../../src/model/resolve.ts";
import { checkHostRequirements } from "../../../src/turn/host-requirements.ts";
import { contextOverflowReply } from "../../servers/server.ts";
import { filler, LaneSetting, ofType, ownSummary, recordingEngine, ROOM } from "./setting.ts";

/** What no runtime has. */
const NEEDED = "shared-thread-store" as HostCapability;

describe("an engine whose compaction needs what the runtime does not have", () => {
  for (const key of ["compaction", "manual-compact"] as const) {
    it(`is not asked to compact in any lane (declared as ${key}); the turn says so and goes on`, async () => {
      const { engine, calls } = recordingEngine({
        info: {
          ownsCompaction: true,
          hostRequirements: { [key]: { requiredCapabilities: [NEEDED], unsupportedMessage: "Not here." } },
        },
        compact: ownSummary,
      });
      const setting = await LaneSetting.open({ engine, compaction: ROOM });
      try {
        await setting.ask(filler(6_000));
        await setting.ask(filler(6_000, "birch"));
        // Too long for the window before it is sent: the compaction that is due is refused.
        const due = await setting.run(filler(14_500, "cedar"));
        const [failed] = ofType(due, "compaction.failed");
        assert.match(
          failed?.reason ?? "",
          /needs shared-thread-store for a compaction, which the runtime embedded/,
        );
        // The provider refuses it as too long: so is the recovery.
        setting.turns.push(contextOverflowReply("openai-completions"));
        const refused = await setting.run("go on");
        assert.equal(ofType(refused, "turn.failed")[0]?.error.code, "context_overflow");
        await assert.rejects(setting.compact(), { code: "host_requirement", message: /Not here\./ });
        assert.equal(calls.compact.length, 0);
      } finally {
        await setting.end();
      }
    });
  }
});

describe("the refusal of an engine's requirements", () => {
  it("names the runtimes that would do, and is the same where one of them fails when it is asked", () => {
    const harness = (id: string, more: Partial<AgentHarness> = {}): AgentHarness => ({
      id,
      label: id,
      contract: HARNESS_CONTRACT,
      execution: { kind: "in-process" },
      seam: "native",
      capabilities: [NEEDED],
      supports: () => ({ supported: true }),
      runTurn: () => Promise.reject(new Error("Nothing runs.")),
      ...more,
    });
    const broken = harness("broken", {
      supports: () => {
        throw new Error("no disk");
      },
    });
    const chosen = harness("chosen", { capabilities: [] });
    const { engine } = recordingEngine({
      info: { hostRequirements: { "agent-run": { requiredCapabilities: [NEEDED] } } },
    });
    const among = {
      harnesses: [chosen, broken, harness("able")],
      model: describeModel("vllm/m", {}),
    };
    assert.throws(() => checkHostRequirements(engine, chosen, "agent-run", among), {
      code: "host_requirement",
      message: /the runtime "chosen" does not have\. Runtimes that have all of it for vllm\/m: able \(/,
    });
  });
});
