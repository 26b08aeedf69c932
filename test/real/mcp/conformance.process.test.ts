/**
 * The published scenarios of the Model Context Protocol for clients, with our client. In full: all of them, and the table. In the short
 * form: one of each kind.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { after, suite, test } from "node:test";
import { promisify } from "node:util";
import { byLength, FULL } from "../../runner/short-form.ts";
import { packageFile } from "../programs.ts";

const run = promisify(execFile);

/** Each with the least number of its checks. */
const SCENARIOS: Readonly<Record<string, number>> = {
  initialize: 1,
  tools_call: 1,
  "elicitation-sep1034-client-defaults": 5,
  "sse-retry": 3,
  "auth/metadata-default": 14,
  "auth/metadata-var1": 14,
  "auth/metadata-var2": 14,
  "auth/metadata-var3": 14,
  "auth/basic-cimd": 14,
  "auth/scope-from-www-authenticate": 15,
  "auth/scope-from-scopes-supported": 15,
  "auth/scope-omitted-when-undefined": 15,
  "auth/scope-step-up": 20,
  "auth/scope-retry-limit": 15,
  "auth/token-endpoint-auth-basic": 19,
  "auth/token-endpoint-auth-post": 19,
  "auth/token-endpoint-auth-none": 19,
  "auth/pre-registration": 14,
  "auth/2025-03-26-oauth-metadata-backcompat": 14,
  "auth/2025-03-26-oauth-endpoint-fallback": 8,
  "auth/resource-mismatch": 3,
  "auth/offline-access-scope": 16,
  "auth/offline-access-not-supported": 15,
  "auth/client-credentials-jwt": 9,
  "auth/client-credentials-basic": 9,
};
/** Not served, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  "auth/cross-app-access-complete-flow":
    "a token of a company's identity provider is exchanged, and there is no setting for one",
};
/** Printed by `npm run prove -- bytes.4`. */
const TABLE = fileURLToPath(new URL("../../../node_modules/.cache/mcp-conformance.txt", import.meta.url));
const SOME = ["tools_call", "elicitation-sep1034-client-defaults", "auth/scope-step-up"];

const program = packageFile("@modelcontextprotocol/conformance", "dist/index.js");
const client = fileURLToPath(new URL("../../mcp/conformance/client.child.ts", import.meta.url));

async function output(...args: string[]): Promise<string> {
  const options = { timeout: 120_000, maxBuffer: 64 * 1024 * 1024 };
  const ended = await run(process.execPath, [program, ...args], options).catch(
    (error: { stdout?: string; stderr?: string }) => error,
  );
  return `${ended.stdout ?? ""}${ended.stderr ?? ""}`;
}

suite("the conformance package of MCP, for clients", { concurrency: 2 }, () => {
  const rows: string[] = [];
  after(() => {
    if (!FULL) return;
    const missing = Object.entries(LEFT_OUT).map(([name, why]) => `${name.padEnd(44)} left out: ${why}`);
    writeFileSync(TABLE, `${[...rows.toSorted(), ...missing].join("\n")}\n`);
  });

  test("has the scenarios of the table and no other", async () => {
    const listed = (await output("list")).split("Client scenarios")[1] ?? "";
    const names = [...listed.matchAll(/^ {2}- (\S+) \[/gm)].map(([, name = ""]) => name);
    const known = [...Object.keys(SCENARIOS), ...Object.keys(LEFT_OUT)];
    assert.deepEqual(names.toSorted(), known.toSorted());
  });

  for (const name of byLength(Object.keys(SCENARIOS), SOME, SOME))
    test(name, async () => {
      const command = `${process.execPath} ${client}`;
      const text = await output("client", "--command", command, "--scenario", name);
      const [, passed = "0", of = "0", failed = "1", warnings = "1"] =
        /Passed: (\d+)\/(\d+), (\d+) failed, (\d+) warnings/.exec(text) ?? [];
      rows.push(`${name.padEnd(44)} ${passed.padStart(3)} of ${of} checks`);
      assert.deepEqual([failed, warnings, passed], ["0", "0", of], text.slice(-4_000));
      assert.ok(Number(passed) >= (SCENARIOS[name] ?? 0), `only ${passed} checks`);
    });
});
