import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { HostCapability } from "../../../packages/contract/src/engine/engine.ts";
import type { AgentHarness } from "../../../packages/contract/src/harness/harness.ts";
import { HARNESS_CONTRACT } from "../../../packages/contract/src/version.ts";
import { describeModel } from "../../../packages/core/src/model/resolve.ts";
import { checkHostRequirements } from "../../../packages/host/src/turn/selection/host-requirements.ts";
import { contextOverflowReply } from "../../servers/server.ts";
import { filler, LaneSetting, ofType, ownSummary, recordingEngine, RESERVES } from "./setting.ts";

/** A capability that no runtime has. */
const NEEDED = "shared-thread-store" as HostCapability;

describe("an engine whose compaction needs a capability that the runtime lacks", () => {
  for (const key of ["compaction", "manual-compact"] as const) {
    it(`is not called to compact in any lane (declared as ${key}); the turn reports it and continues`, async () => {
      const { engine, calls } = recordingEngine({
        info: {
          ownsCompaction: true,
          hostRequirements: { [key]: { requiredCapabilities: [NEEDED], unsupportedMessage: "Not here." } },
        },
        compact: ownSummary,
      });
      const setting = await LaneSetting.open({ engine, compaction: RESERVES });
      try {
        await setting.ask(filler(6_000));
        await setting.ask(filler(6_000, "birch"));
        // Too long for the window before it is sent: the due compaction is refused.
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
  it("names the runtimes that qualify, and is the same when one of them fails during the check", () => {
    const harness = (id: string, more: Partial<AgentHarness> = {}): AgentHarness => ({
      id,
      label: id,
      contract: HARNESS_CONTRACT,
      execution: { kind: "in-process" },
      seam: "embedded",
      capabilities: [NEEDED],
      supports: () => ({ supported: true }),
      start: () => {
        throw new Error("Nothing runs.");
      },
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
