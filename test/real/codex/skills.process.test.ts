/** Skills and plans where Codex owns the loop, at its model's endpoint. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { CodexBench } from "./codex-bench.ts";

describe("Codex", () => {
  let bench: CodexBench;
  afterEach(() => bench.end());

  it("gets the skills that it does not find itself, each once", async () => {
    bench = await CodexBench.with(() => ({ text: "ok" }));
    for (const folder of [".agents", ".codex", ".claude", ".pagurus"]) {
      const skill = join(bench.cwd, folder, "skills", `of-${folder.slice(1)}`);
      mkdirSync(skill, { recursive: true });
      const text = `---\nname: of-${folder.slice(1)}\ndescription: About ${folder}.\n---\nSteps.\n`;
      writeFileSync(join(skill, "SKILL.md"), text);
    }
    const pagurus = await bench.host();
    await bench.ask(pagurus, "Begin.");
    const sent = JSON.stringify(bench.request(0).body["input"]);
    for (const name of ["agents", "codex", "claude", "pagurus"])
      assert.equal(sent.split(`- of-${name}: About .${name}.`).length, 2, name);
    assert.match(sent, /of-claude: About \.claude\. \(\.claude\/skills\/of-claude\/SKILL\.md\)/);
  });

  for (const own of [false, true]) {
    it(`shows a plan made with ${own ? "its own tool, where the user has turned that on" : "the host's tool"}`, async () => {
      const plan = [{ step: "look", status: "in_progress" }];
      bench = await CodexBench.with((_request, index) =>
        index === 0
          ? { toolCalls: [{ id: "p1", name: "update_plan", arguments: { explanation: "One.", plan } }] }
          : { text: "ok" },
      );
      const settings = own ? "[tools.update_plan]\nenabled = true\n" : "";
      writeFileSync(join(bench.root, "codex", "config.toml"), settings);
      const pagurus = await bench.host();
      const events = await bench.ask(pagurus, "Begin.");
      const steps = [{ step: "look", status: "inProgress" }];
      assert.deepEqual(
        events.filter(({ type }) => type === "plan.updated"),
        [{ type: "plan.updated", explanation: "One.", steps }],
      );
      const { plan: kept } = await pagurus.status({ cwd: bench.cwd });
      assert.deepEqual(kept?.steps, steps);
      const names = (bench.request(0).body["tools"] as { name?: string }[]).map(({ name }) => name);
      assert.equal(names.filter((name) => name === "update_plan").length, 1);
    });
  }
});
