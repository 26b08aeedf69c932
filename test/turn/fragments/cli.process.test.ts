import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { startServer, type ModelServer } from "../../servers/server.ts";
import { makeSetting, modelConfig, run, finish, type Setting } from "../setting.ts";
import { readBody } from "../wire-bodies.ts";

describe("additional context on the command line", () => {
  let server: ModelServer;
  let setting: Setting;
  before(async () => {
    server = await startServer({ protocol: "openai-completions", script: () => ({ text: "Done." }) });
    setting = makeSetting(modelConfig("openai-completions", server.url));
    writeFileSync(join(setting.workspace, "note.txt"), "from a file");
  });
  after(async () => {
    await server.close();
    setting.remove();
  });

  const texts = (): string[] =>
    readBody("openai-completions", server.requests.at(-1) ?? assert.fail("no request")).messages.map(
      ({ text }) => text,
    );

  it("is sent with a prompt, once while it is unchanged, also in another process", async () => {
    const flags = [
      "--context",
      "rule=a=b",
      "--context-file",
      "note=note.txt",
      "--untrusted",
      "tab=CI <failures>",
    ];
    const first = await run(setting, "1", ...flags);
    assert.equal(first.code, 0, first.stderr);
    const fragments =
      "<note>from a file</note>\n\n<rule>a=b</rule>\n\n<external_tab>CI <failures></external_tab>";
    assert.deepEqual(texts(), [`${fragments}\n\n1`]);
    assert.equal((await run(setting, "2", ...flags)).code, 0);
    assert.deepEqual(texts(), [`${fragments}\n\n1`, "Done.", "2"]);
    const shown = await finish(setting, ["sessions", "show", "main"]);
    assert.equal(shown.code, 0, shown.stderr);
    assert.ok(shown.stdout.includes("Done.") && !shown.stdout.includes("failures"), shown.stdout);
    const listed = await finish(setting, ["sessions", "list"]);
    assert.ok(!/rule|tab|note/.test(listed.stdout), listed.stdout);
  });

  it("is sent with each input of a chat", async () => {
    const args = ["chat", "--session", "talk", "--untrusted", "tab=CI"];
    const { code, stderr } = await finish(setting, args, "1\n2\n");
    assert.equal(code, 0, stderr);
    assert.deepEqual(texts(), ["<external_tab>CI</external_tab>\n\n1", "Done.", "2"]);
    assert.equal((await finish(setting, ["chat", "--session", "talk"], "3\n")).code, 0);
    assert.equal((await finish(setting, args, "4\n")).code, 0);
    assert.equal(texts().at(-1), "<external_tab>CI</external_tab>\n\n4");
  });

  for (const [what, flags, sentence] of [
    ["without a key", ["--context", "=x"], /--context "=x" has no key/],
    ["given twice", ["--context", "a=1", "--untrusted", "a=2"], /"a" occurs twice/],
    [
      "of a file that is not there",
      ["--context-file", "a=none.txt"],
      /"none\.txt" for the context key "a" cannot be read/,
    ],
  ] as const) {
    it(`is refused ${what}, by run and by chat`, async () => {
      const { length } = server.requests;
      for (const args of [
        ["run", ...flags, "1"],
        ["chat", ...flags],
      ]) {
        const { code, stderr } = await finish(setting, args, "1\n");
        assert.equal(code, 2, stderr);
        assert.match(stderr, sentence);
      }
      assert.equal(server.requests.length, length);
    });
  }
});
