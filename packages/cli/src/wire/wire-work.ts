import { escapedUnseen } from "@pagurus/core/data/plain-text";
import { rmSync } from "node:fs";
import { join, relative } from "node:path";
import { oneLine } from "@pagurus/host/command/layout";
import type { FolderTrust } from "@pagurus/core/config/folder-trust";
import { loadConfig } from "@pagurus/core/config/load-config";
import { resolveHome } from "@pagurus/core/config/config-paths";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import { PagurusError } from "@pagurus/contract/errors";
import type { SessionClaim } from "@pagurus/contract/session/claim";
import type { ProgramWrap, WrapLaunch, WrappedProgram, WrapRequest } from "@pagurus/contract/harness/wrap";
import type { OpenWrap, WrapOptions, WrapReport } from "@pagurus/gateway/wrap/wrap-program";
import { createFileLogger } from "@pagurus/core/platform/log";
import { printLine, sessionOf, type Cli } from "../cli.ts";
import { checkChoice, showClaim, type ChoiceOptions } from "../sessions/session-choice.ts";
import { folderTrust, trusts } from "../trust/folder-question.ts";
import { programVersionNote } from "./program-version.ts";
import { chosenWrap, wrapSource, type DescribeOptions, type WrapSource } from "./wire-choice.ts";

export interface WireOptions extends Omit<ChoiceOptions, "new">, DescribeOptions {
  engine?: string;
  model?: string;
  contextWindow?: number;
  capture?: boolean;
  observe?: boolean;
  login?: boolean;
  trust?: boolean;
  print?: boolean;
}

/** `wire`: returns the program's exit code. Throws when refused before the start. */
export async function wire(
  cli: Cli,
  words: readonly string[],
  options: WireOptions,
  source: WrapSource = wrapSource(cli),
): Promise<number> {
  checkChoice(options);
  const [command = "", ...args] = words;
  const wrap = await chosenWrap(command, options, source);
  const home = resolveHome(cli.env);
  const loaded = loadConfig({ home });
  const folder = join(home, "runtimes", wrap.id);
  const trust = folderTrust(cli, options.trust);
  const { program, folderTrusted } = await surveyed(cli, wrap, {
    trust,
    request: { command, args, env: cli.env, cwd: cli.cwd, folder },
  });
  checkRefusal(program, options, loaded.config);
  // A model of ours answers: nothing goes to the program's own address.
  if (options.model === undefined) {
    const { checkUpstream } = await import("@pagurus/gateway/wrap/upstream-rule");
    const loginHosts = loaded.config.wire?.loginHosts;
    checkUpstream({ program, api: program.api ?? wrap.api, label: wrap.label, folderTrusted, loginHosts });
  }
  const { openWrap } = await import("@pagurus/gateway/wrap/wrap-program");
  const { id, label, api, rules, conversationHeader } = wrap;
  const named = typeof options.continue === "string" ? { sessionKey: options.continue } : {};
  const about: WrapOptions = {
    ...sessionOf(options),
    ...named,
    continues: options.continue !== undefined,
    engine: options.engine,
    model: options.model,
    contextWindow: options.contextWindow,
    home,
    env: cli.env,
    loaded,
    logger: createFileLogger(home, loaded.config.logging?.level),
    program,
    id,
    label,
    api: program.api ?? api,
    rules,
    conversationHeader,
    capture: options.capture === true,
    observe: options.observe === true,
    open: (made) => cli.open(made),
    serveTools: serveOverMcp,
  };
  return follow(cli, { wrap, program, home }, await openWrap(about), options.print === true);
}

/** The program as it is set up: by files of its folder only if the folder is trusted, by the program or else by the user. */
async function surveyed(
  cli: Cli,
  wrap: ProgramWrap,
  { trust, request }: { trust: FolderTrust; request: WrapRequest },
): Promise<{ program: WrappedProgram; folderTrusted: boolean }> {
  const folderTrusted = trust.isTrusted(request.cwd);
  const program = await wrap.survey({ ...request, folderTrusted });
  const { withheld = [], folderTrusted: own } = program;
  if (withheld.length === 0) return { program, folderTrusted };
  const names = withheld.map((file) => relative(request.cwd, file)).join(", ");
  if (own === undefined) {
    const reasons = [`${wrap.label} would be set up by ${names}`];
    if (await trusts(cli, trust, { cwd: request.cwd, reasons }))
      return { program: await wrap.survey({ ...request, folderTrusted: true }), folderTrusted: true };
  }
  const remedy =
    own === undefined ? "pagurus trust add trusts it" : `answer the question of ${wrap.label} first`;
  const left = escapedUnseen(oneLine(names, 200));
  printLine(
    cli.stderr,
    `note: this folder is not trusted, so ${left} did not set up ${wrap.label}; ${remedy}`,
  );
  return { program, folderTrusted };
}

const serveOverMcp: WrapOptions["serveTools"] = async (tools, name) => {
  const { loadToolServer } = await import("@pagurus/app/bundled");
  return (await loadToolServer())({ tools: () => tools, name });
};

function checkRefusal({ refusal }: WrappedProgram, options: WireOptions, { wire }: PagurusConfig): void {
  if (!refusal) return;
  const { observe, model, login } = options;
  // Nothing is governed, the login is not used, or the user has allowed its use.
  const isAllowed = observe === true || model !== undefined || login === true || wire?.ownLogin === true;
  if (refusal.kind === "login" && isAllowed) return;
  if (refusal.kind === "account" && model !== undefined) return;
  throw new PagurusError("runtime_unsupported", refusal.reason);
}

/** Runs the program, which owns the terminal until it ends; a line before it names its conversation. */
async function follow(
  cli: Cli,
  { wrap, program, home }: { wrap: ProgramWrap; program: WrappedProgram; home: string },
  open: OpenWrap,
  isPrinted: boolean,
): Promise<number> {
  const { runInForeground } = await import("./wire-program.ts");
  // A closed output is the program's concern, too.
  const stop = isPrinted ? () => undefined : cli.onInterrupt(() => undefined);
  let launch: WrapLaunch | undefined;
  let report: WrapReport | undefined;
  const over = new AbortController();
  let note: Promise<string | undefined> | undefined;
  try {
    if (open.claim) announce(cli, program, open.claim);
    launch = await program.launch(open.route);
    if (!isPrinted) {
      // A script gets the program's own output alone.
      if (cli.stderr.isTTY === true) note = programVersionNote(wrap, launch, { home, signal: over.signal });
      return await runInForeground(launch, cli.cwd);
    }
    const { printSetting } = await import("./wire-print.ts");
    return await printSetting(cli, launch, open.route);
  } finally {
    report = await open.close();
    for (const file of launch?.files ?? []) rmSync(file, { recursive: true, force: true });
    stop();
    printReport(cli, report);
    over.abort();
    const sentence = await note;
    if (sentence !== undefined) printLine(cli.stderr, `pagurus: ${sentence}`);
  }
}

/** Prints the conversation's line. What the program resumes by itself is known only at its first request. */
function announce(cli: Cli, { resumes }: WrappedProgram, claim: SessionClaim): void {
  if (resumes !== true || claim.record || claim.folder === undefined)
    showClaim(cli, claim, "without --continue a new one is created");
  else if (cli.stderr.isTTY === true)
    printLine(cli.stderr, "session: that of the conversation the program resumes");
}

function printReport(cli: Cli, { notices, sessionKey, capturedAs, turns, requests }: WrapReport): void {
  for (const sentence of notices) printLine(cli.stderr, `pagurus: ${sentence}`);
  if (cli.stderr.isTTY !== true) return;
  const asked = `${requests} ${requests === 1 ? "request" : "requests"}`;
  if (sessionKey === undefined) {
    printLine(cli.stderr, `${asked} observed; see pagurus requests list --session ${capturedAs}`);
    return;
  }
  const turnText = `${turns} ${turns === 1 ? "turn" : "turns"}`;
  printLine(
    cli.stderr,
    `session ${sessionKey}: ${turnText}, ${asked}; see pagurus sessions show ${sessionKey}`,
  );
}
