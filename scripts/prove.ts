/**
 * `npm run prove -- turn.4 [turn.5 …]`: shows a claim in full length (`PAGURUS_PROVE=1`). Without a name: lists them. Options
 * after the names are passed to each step, as in `npm run prove -- house.2 --only start-up --pairs 5`. `npm run prove -- --short`: runs
 * the short forms of the steps that are no tests, each once.
 */
import { ROOT, runCommand } from "./command.ts";
import { PROOFS } from "./prove-lines.ts";
import { SHORT_ENV, shortCommands } from "./short-forms.ts";

function list(): void {
  console.log("npm run prove -- NAME…\n");
  for (const [name, { claim, steps }] of Object.entries(PROOFS)) {
    console.log(`${name}  ${claim}`);
    for (const { args } of steps) console.log(`        node ${args.join(" ")}`);
  }
}

async function prove(name: string, options: readonly string[]): Promise<boolean> {
  const proof = PROOFS[name];
  if (!proof) {
    console.error(`prove: no proof is called ${name}; there are ${Object.keys(PROOFS).join(", ")}.`);
    return false;
  }
  console.log(`== ${name}: ${proof.claim}`);
  const byName =
    /^(channels|codex|hosts|inspector|page|runtimes|serve|wire|strangers)\.|^plugins\.3$|^contract\.7$|^bytes\.4$/.test(
      name,
    );
  let ok = true;
  for (const { title, args: own } of proof.steps) {
    const args = [...own, ...options];
    console.log(`-- ${title}: node ${args.join(" ")}`);
    // Tests of the real programs run by their names, and all of those that the proofs of harnesses and of the server match.
    const real = byName || args.some((arg) => arg.startsWith("test/real/")) ? { PAGURUS_REAL: "1" } : {};
    const env = { ...process.env, ...real, PAGURUS_PROVE: "1" };
    const started = performance.now();
    const { code } = await runCommand(process.execPath, args, { cwd: ROOT, env, output: "inherit" });
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`-- ${title}: ${code === 0 ? "ok" : `exit code ${code}`} (${seconds} s)`);
    ok &&= code === 0;
  }
  console.log(`${ok ? "PASS" : "FAIL"} ${name}\n`);
  return ok;
}

/** Runs each; returns those that failed. */
async function runShortForms(): Promise<string[]> {
  const failed: string[] = [];
  for (const args of shortCommands()) {
    const started = performance.now();
    const env = { ...process.env, ...SHORT_ENV };
    const { code, stdout, stderr } = await runCommand(process.execPath, args, { env });
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`${code === 0 ? "ok  " : "FAIL"} node ${args.join(" ")} (${seconds} s)`);
    if (code === 0) continue;
    console.log(stdout + stderr);
    failed.push(args.join(" "));
  }
  return failed;
}

const inputs = process.argv.slice(2);
const end = inputs.findIndex((arg) => arg.startsWith("--"));
const names = end === -1 ? inputs : inputs.slice(0, end);
const options = end === -1 ? [] : inputs.slice(end);
const isShort = names.length === 0 && options[0] === "--short";
if (names.length === 0 && !isShort) list();
const failed: string[] = isShort ? await runShortForms() : [];
for (const name of names) {
  if (!(await prove(name, options))) failed.push(name);
}
if (failed.length > 0) console.log(`FAIL: ${failed.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;
