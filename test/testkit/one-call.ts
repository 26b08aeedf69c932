/** A test file of its own for `npm run contract`: a host that only assembles, and reads one field of the answer. */
import { test } from "node:test";
import { createLegacyEngine } from "../../packages/host/src/engines/legacy/legacy-engine.ts";
import { recordEngine } from "./recorder.ts";

test("assembles once", async () => {
  const answered = await recordEngine(createLegacyEngine()).assemble({ sessionId: "s", messages: [] });
  if (answered.estimatedTokens !== 0) throw new Error("no messages have no tokens");
});
