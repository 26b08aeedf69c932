/** What the new version makes of a home of the old one as a whole: configuration, store, databases, plugins. */
import { existsSync, readFileSync } from "node:fs";
import type { Checks } from "./checks.ts";
import type { OldHome } from "./make-homes.ts";

async function checkConfiguration(checks: Checks, { user, findings = [] }: OldHome): Promise<void> {
  if (existsSync(`${user.home}/pagurus.json`)) {
    const { code, stdout, stderr } = await user.now("config", "validate");
    checks.check(`${user.title}: config validate accepts the old file`, code === 0, stdout + stderr);
  }
  const { code, stdout, stderr } = await user.now("doctor");
  checks.check(
    `${user.title}: doctor reports no error`,
    code === 0 && /^0 errors/m.test(stdout),
    stdout + stderr,
  );
  for (const finding of findings)
    checks.check(`${user.title}: doctor names the old key ${finding.source}`, finding.test(stdout), stdout);
}

async function checkLossless(checks: Checks, { user, lossless = false }: OldHome): Promise<void> {
  if (!lossless) return;
  const { code, stdout, stderr } = await user.now("lossless", "verify");
  checks.check(`${user.title}: lossless verify finds the old store whole`, code === 0, stdout + stderr);
}

async function checkPlugins(checks: Checks, { user, plugins = [] }: OldHome): Promise<void> {
  if (plugins.length === 0) return;
  const { stdout } = await user.now("plugins", "list");
  for (const id of plugins)
    checks.check(
      `${user.title}: the plugin ${id} is enabled`,
      new RegExp(`^${id} .*enabled`, "m").test(stdout),
      stdout,
    );
  const runtimes = (await user.now("runtimes", "list")).stdout;
  for (const id of ["example-program", "plain-loop"])
    checks.check(
      `${user.title}: the runtime ${id} can run the model`,
      new RegExp(`^${id} +yes`, "m").test(runtimes),
      runtimes,
    );
}

/** Before any session is continued. */
export async function checkHome(checks: Checks, home: OldHome): Promise<void> {
  await checkConfiguration(checks, home);
  await checkLossless(checks, home);
  await checkPlugins(checks, home);
}

/** After all sessions were continued: hooks have run, old keys are repaired, the store is still whole. */
export async function checkHomeAfter(checks: Checks, home: OldHome, hooksBefore: number): Promise<void> {
  const { user } = home;
  await checkLossless(checks, home);
  const log = user.env["HOOK_LOG"];
  if (log !== undefined) {
    const lines = readFileSync(log, "utf8").split("\n").slice(hooksBefore);
    for (const hook of ["user_prompt", "before_prompt_build", "before_compaction", "after_compaction"])
      checks.check(`${user.title}: the hook ${hook} runs`, lines.includes(hook), lines.join(" "));
    const turns = user.server.requests.filter(({ body }) => body["tools"] !== undefined);
    const isShown = turns.at(-1)?.text.includes("The hook says: mind the fog.") ?? false;
    checks.check(`${user.title}: the instructions have the hook's line`, isShown);
  }
  if (home.findings === undefined) return;
  const { code, stdout, stderr } = await user.now("doctor", "--fix");
  checks.check(`${user.title}: doctor --fix repairs the old keys`, code === 0, stdout + stderr);
  const text = user.read("home/pagurus.json");
  const isRepaired =
    !/"pi"|agentRuntime: \{ id: "pi"/.test(text) && text.includes("// The comment of the user.");
  checks.check(`${user.title}: the old keys are gone and the comment is there`, isRepaired, text);
  const after = await user.now("run", "-s", "tools", "And after the repair?");
  checks.check(`${user.title}: run succeeds after the repair`, after.code === 0, after.stderr);
}
