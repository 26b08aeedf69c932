import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkLogsIn, isForbiddenName } from "../../scripts/check-logs.ts";

function found(source: string, file = "packages/host/src/turn/x.ts"): string[] {
  return checkLogsIn(file, source).map(({ line, what }) => `${line}: ${what}`);
}

describe("the check of log lines", () => {
  it("accepts literals, ids, counts, codes and durations", () => {
    const source = `
      log.info("A turn ended.", { turnId, ms: Date.now() - started, code: error.code, ok: true });
      this.#logger.warn("Retrying.", { attempt, promptTokens, bytes: Buffer.byteLength(text), n: messages.length });
      options.logger.child({ sessionKey: record.sessionKey }).debug(\`Opened \${count} files.\`);
      logger.error("Lost.", { ...fields, tool: call.name, same: content === before, tokens: estimate(prompt) });
    `;
    assert.deepEqual(found(source), []);
  });

  it("reports the line of a logged prompt, however it gets there", () => {
    for (const call of [
      `log.info("x", { prompt })`,
      `log.info("x", { said: input.prompt })`,
      `log?.warn("x", { said: request.promptText as string })`,
      `this.#log.error("x", { said: String(userPrompt) })`,
      `api.logger.debug("x", { said: \`\${prompt} and more\` })`,
      `log.info(\`Sent \${prompt}\`)`,
      `log.info("Sent " + prompt)`,
      `log.info(prompt)`,
      `log.info("x", { said: on ? prompt : "" })`,
      `log.info("x", { list: [prompt] })`,
      `log.info("x", { said: prompt.slice(0, 10) })`,
      `log.info("x", { said: messages[0] })`,
      `log.info("x", { "content": 1 })`,
      `log.info("x", JSON.parse(body))`,
      `logger.child({ prompt }).info("x")`,
    ]) {
      assert.match(found(`\n${call}`).join("\n"), /^2: a log line would hold /, call);
    }
  });

  it("follows a message to the literal that its variable holds", () => {
    assert.deepEqual(found("const detail = `Built from ${count} files.`; log.warn(detail);"), []);
    assert.match(found("const detail = `Said ${prompt}.`; log.warn(detail);").join(), /`prompt`/);
    assert.match(found("const detail = describe(prompt); log.warn(detail);").join(), /not a literal/);
    assert.match(found("let detail; log.warn(detail);").join(), /not a literal/);
  });

  it("reports secrets and accepts keys and counts that are not secret", () => {
    for (const name of [
      "apiKey",
      "key",
      "authToken",
      "client_secret",
      "Authorization",
      "headers",
      "password",
    ]) {
      assert.equal(isForbiddenName(name), true, name);
    }
    for (const name of [
      "sessionKey",
      "tokens",
      "tokenBudget",
      "messageCount",
      "contentHash",
      "keys",
      "keyCount",
    ]) {
      assert.equal(isForbiddenName(name), false, name);
    }
  });

  it("refuses a value of unknown origin", () => {
    assert.match(found(`log.info("x", { make: () => 1 })`).join(), /cannot judge/);
  });

  it("counts lines after multibyte characters", () => {
    assert.deepEqual(found(`// é 漢字\nconst a = 1;\nlog.info("x", { text });`), [
      "3: a log line would hold `text`",
    ]);
  });

  it("restricts printing to the command line", () => {
    const source = `console.log("x"); process.stderr.write("y");`;
    assert.equal(found(source).length, 2);
    assert.deepEqual(found(source, "packages/cli/src/run/run-work.ts"), []);
  });
});
