/** `pagurus inspect --export`: one HTML file of a session or a request, in which secrets are masked and foreign text is text. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createClient } from "../../packages/client/src/index.ts";
import { startServer, type ModelServer } from "../servers/server.ts";
import { finish, makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { ServeProcess } from "./serve-setting.ts";
import { longTest } from "../runner/long-tests.ts";

const HOSTILE = `</pre><script>alert(1)</script><img src=x onerror=alert(2)> \u202ereversed\u202c`;
/** Of the configuration; it has no shape by which it could be known. */
const KEY = "test-key-0123456789";
const IN_ENVIRONMENT = "aQ9zzPlainWordsOfAPassword";
const SHAPED = "sk-live-abcdefghij0123456789";
const SECRETS = [KEY, IN_ENVIRONMENT, SHAPED];

describe("pagurus inspect --export", () => {
  let model: ModelServer;
  let setting: Setting;
  let files = 0;

  /** The text of the file that an export with these options writes. */
  async function exported(...options: string[]): Promise<string> {
    const name = `report-${files++}.html`;
    const { code, stderr } = await finish(setting, [
      "inspect",
      "--session",
      "main",
      "--export",
      name,
      ...options,
    ]);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^Wrote [\d.]+ \w+ to report-\d+\.html\.\n$/);
    return readFileSync(join(setting.workspace, name), "utf8");
  }

  before(async () => {
    model = await startServer({
      protocol: "anthropic-messages",
      script: [
        { text: "I look.", toolCalls: [{ id: "call_1", name: "read", arguments: { path: "notes.txt" } }] },
        { text: `The answer of the model. ${HOSTILE}` },
        { text: `Again: ${SHAPED}` },
      ],
    });
    setting = makeSetting(modelConfig("anthropic-messages", model.url, {}, { gateway: { capture: true } }));
    setting.env["HARBOUR_PASSWORD"] = IN_ENVIRONMENT;
    writeFileSync(join(setting.workspace, "notes.txt"), `words of the result, ${IN_ENVIRONMENT}\n`);
    writeFileSync(join(setting.workspace, "AGENTS.md"), "words of the instructions\n");
    for (const prompt of [`words of the user ${HOSTILE} ${KEY}`, "the second prompt"])
      assert.equal((await finish(setting, ["run", prompt])).code, 0);
  });
  after(async () => {
    await model.close();
    setting.remove();
  });

  it("has all words of a session, as text, without a secret", async () => {
    const html = await exported();
    for (const words of [
      "words of the user",
      "words of the result",
      "The answer of the model",
      "the second prompt",
    ])
      assert.ok(html.includes(words), words);
    assert.ok(
      html.includes("&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(2)&gt;"),
    );
    assert.ok(html.includes("⟦U+202E⟧reversed⟦U+202C⟧"));
    const tags = html.matchAll(/<\/?([a-z]\w*)[^>]*>/g);
    const names = new Set(Array.from(tags, ([, name = ""]) => name));
    assert.deepEqual([...names].toSorted(), [
      "body",
      "h1",
      "h2",
      "h3",
      "head",
      "html",
      "li",
      "meta",
      "p",
      "pre",
      "style",
      "title",
      "ul",
    ]);
    assert.doesNotMatch(html, /[\u202a-\u202e]/);
    for (const secret of SECRETS) assert.ok(!html.includes(secret), secret);
    assert.ok(html.includes("[secret]"));
  });

  it("has a policy that allows its own style and nothing else", async () => {
    const html = await exported();
    const [, policy] = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html) ?? [];
    assert.match(
      policy ?? "",
      /^default-src 'none'; style-src 'sha256-[\w+/]+=*'; base-uri 'none'; form-action 'none'$/,
    );
    assert.equal(html.match(/<style>/g)?.length, 1);
  });

  longTest("leaves out the kinds of words that are picked, and no other", async () => {
    const kinds = {
      user: "words of the user",
      results: "words of the result",
      assistant: "The answer of the model",
    };
    for (const [kind, gone] of Object.entries(kinds)) {
      const html = await exported("--redact", kind);
      for (const words of Object.values(kinds))
        assert.equal(html.includes(words), words !== gone, `${kind}: ${words}`);
      assert.match(html, /\[redacted: [^\]]+, [\d,]+ bytes\]/);
    }
  });

  it("has one request with its parts, by the number of its capture, redacted in the same way", async () => {
    const html = await exported("--request", "2");
    assert.match(html, /<title>Request \S+\.1 of session main<\/title>/);
    for (const words of ["words of the instructions", "words of the result", "words of the user"])
      assert.ok(html.includes(words), words);
    for (const secret of SECRETS) assert.ok(!html.includes(secret), secret);
    const redacted = await exported("--request", "2", "--redact", "system,tools,user,assistant,results");
    for (const words of ["words of the", "I look.", "notes.txt", "Read"])
      assert.ok(!redacted.includes(words), words);
    assert.match(redacted, /redacted: system, tools, user, assistant, results/);
  });

  it("refuses an unknown kind, a missing session or request, and a file that exists", async () => {
    const refused = async (...options: string[]): Promise<string> => {
      const { code, stderr } = await finish(setting, ["inspect", "--export", "x.html", ...options]);
      assert.notEqual(code, 0);
      return stderr;
    };
    assert.match(await refused("--session", "main", "--redact", "colours"), /names are system, tools, user/);
    assert.match(await refused("--session", "other"), /There is no session "other"/);
    assert.match(await refused(), /An export needs --session/);
    assert.match(await refused("--session", "main", "--request", "99"), /no model request "99"/);
    writeFileSync(join(setting.workspace, "x.html"), "");
    assert.match(await refused("--session", "main"), /exists already/);
  });

  longTest("is what the server's route answers", async () => {
    const server = await ServeProcess.start(setting);
    try {
      const client = createClient({ url: server.url, token: server.key });
      const html = Buffer.from(await client.inspect.report("main", { redact: ["results"] })).toString();
      assert.equal(html, await exported("--redact", "results"));
    } finally {
      await server.kill();
    }
  });
});
