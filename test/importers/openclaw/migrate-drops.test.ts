/** Tests of `migrate openclaw` with many dropped settings. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { setting } from "./migrate-setting.ts";
import { longTest } from "../../runner/long-tests.ts";

longTest("of a very large configuration the parts without a counterpart are left out within seconds", () => {
  const prompt = "x".repeat(900);
  const agent = (index: number): string => `{ id: "a${index}", // agent ${index}
      workspace: "~/w${index}",
      humanDelay: { prompt: "${prompt}" },
      sandbox: { mode: "all" }, identity: { name: "n" },
      groupChat: {}, default: false
    },`;
  const agents = Array.from({ length: 120 }, (_, index) => agent(index));
  const { migrate, file } = setting(`{ agents: { list: [\n    ${agents.join("\n    ")}\n] } }\n`);
  const before = process.cpuUsage();
  const report = migrate();
  const { user, system } = process.cpuUsage(before);
  assert.equal(report.notTaken.length, 600);
  const kept = agents.map(
    (_, index) => `{ id: "a${index}", // agent ${index}
      workspace: "~/w${index}"
    },`,
  );
  assert.equal(
    readFileSync(file, "utf8"),
    `{ agents: { list: [\n    ${kept.join("\n    ")}\n] }, plugins: {slots: {contextEngine: "legacy"}} }\n`,
  );
  // It took 12 s when each dropped part had the text parsed again.
  assert.ok((user + system) / 1e6 < 4, `${(user + system) / 1e6} s`);
});

test("of a duplicate key both are left out", () => {
  const { migrate, written } = setting(
    `{ talk: { a: 1 }, logging: { level: "warn" }, talk: { b: 2 }, tools: { x: 1 } }`,
  );
  const { notTaken } = migrate();
  assert.deepEqual(written(), {
    logging: { level: "warn" },
    plugins: { slots: { contextEngine: "legacy" } },
  });
  assert.deepEqual(
    notTaken.map(({ path }) => path),
    ["talk", "tools", "talk"],
  );
});

test("agents that a newer version keeps by id become a list, after those of an older one", () => {
  const { migrate, written } = setting(
    `{ agents: { list: [{ id: "main" }], entries: { Work: { workspace: "~/work", thinkingDefault: "high" }, main: {} } } }`,
  );
  const { notTaken } = migrate();
  assert.deepEqual(written(), {
    agents: { list: [{ id: "main" }, { id: "Work", workspace: "~/work", thinking: "high" }] },
    plugins: { slots: { contextEngine: "legacy" } },
  });
  assert.deepEqual(
    notTaken.map(({ why }) => why),
    ["an earlier agent has the same id"],
  );
});

test("the ageing of tool results keeps its mode, pause, tools and line; its thresholds are left out by name", () => {
  const contextPruning = {
    mode: "cache-ttl",
    ttl: "30m",
    tools: { deny: ["browser"] },
    hardClear: { enabled: true, placeholder: "[gone]" },
  };
  const { migrate, written } = setting({
    agents: { defaults: { contextPruning: { ...contextPruning, softTrimRatio: 0.4 } } },
  });
  const { notTaken } = migrate();
  assert.deepEqual(written(), {
    agents: { defaults: { contextPruning } },
    plugins: { slots: { contextEngine: "legacy" } },
  });
  assert.deepEqual(
    notTaken.map(({ path }) => path),
    ["agents.defaults.contextPruning.softTrimRatio"],
  );
  assert.match(notTaken[0]?.why ?? "", /has mode, ttl, tools and hardClear here/);
});
