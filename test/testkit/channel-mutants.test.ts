import assert from "node:assert/strict";
import { test } from "node:test";
import { channelChecks, runChannelSuite, testChannel } from "../../packages/testkit/src/index.ts";
import { MemoryService } from "./memory-channel.ts";
import { everyOther } from "../runner/long-tests.ts";

testChannel("a channel in memory", { open: () => Promise.resolve(new MemoryService()) });

for (const { id } of everyOther(channelChecks())) {
  test(`the check ${id} fails for a channel that does not meet it`, async () => {
    const open = (): Promise<MemoryService> => Promise.resolve(new MemoryService(id));
    const [result] = (await runChannelSuite({ open, only: [id], deadlineMs: 3_000 })).results;
    assert.equal(result?.status, "failed", `${result?.status}: ${result?.reason}`);
    assert.ok((result.reason ?? "").length > 10, "the reason is a sentence");
  });
}

test("the ids of the checks of channels are different", () => {
  const ids = channelChecks().map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
});

test("a service that cannot pretend skips that check", async () => {
  const open = (): Promise<MemoryService> =>
    Promise.resolve(Object.assign(new MemoryService(), { pretend: undefined }));
  const [result] = (await runChannelSuite({ open, only: ["receive.pretended"] })).results;
  assert.deepEqual(
    [result?.status, result?.reason],
    ["skipped", "not offered: The service has no pretend()."],
  );
});
