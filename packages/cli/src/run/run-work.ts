import type { TurnEvent } from "@pagurus/contract/host/events";
import type { Pagurus } from "@pagurus/contract/host/host";
import { PagurusError } from "@pagurus/contract/errors";
import type { InputPart, RunRequest, TurnRun } from "@pagurus/contract/host/run";
import { readAdditionalContext } from "./additional-context.ts";
import { printLine, sessionOf, withPagurus, type Cli } from "../cli.ts";
import { EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, exitCodeFor, printFailure } from "../cli-failure.ts";
import { HeldOutput } from "./held-output.ts";
import { terminalPermission } from "../chat/permission-prompt.ts";
import { checkChoice, claimChoice, showClaim } from "../sessions/session-choice.ts";
import { turnSettings } from "../config/cli-settings.ts";
import { asking, attach, pipedPart, readPrompt, requestOf, type RunOptions } from "./turn-request.ts";
import { workspace } from "../cli-workspace.ts";
import { trustForTurns } from "../trust/turn-trust.ts";
import { TurnOutput } from "./turn-output.ts";

/** The last event of every turn. */
type TurnEnd = Extract<TurnEvent, { type: "turn.completed" | "turn.failed" }>;

/** Passes every event but the last to `show`, and returns the last. A stream without an end is a failed turn. */
export async function followTurn(run: TurnRun, show: (event: TurnEvent) => void): Promise<TurnEnd> {
  let end: TurnEnd | undefined;
  for await (const event of run) {
    if (event.type === "turn.completed" || event.type === "turn.failed") end = event;
    else show(event);
  }
  return (
    end ?? {
      type: "turn.failed",
      error: { code: "internal", message: "The turn ended without a result." },
      degraded: [],
    }
  );
}

/** Exit code of a turn. */
function turnExitCode(end: TurnEnd, interrupted: boolean): number {
  if (interrupted) return EXIT_INTERRUPTED;
  if (end.type === "turn.failed") return exitCodeFor(end.error.code);
  if (end.stopReason === "aborted") return EXIT_INTERRUPTED;
  return end.stopReason === "max_steps" ? EXIT_FAILED : EXIT_DONE;
}

async function playJson(cli: Cli, pagurus: Pagurus, request: RunRequest): Promise<TurnEnd> {
  const end = await followTurn(pagurus.run(request), (event) => printEvent(cli, event));
  printEvent(cli, end);
  if (end.type === "turn.failed") printFailure(cli, end.error);
  return end;
}

function printEvent(cli: Cli, event: TurnEvent): void {
  cli.stdout.write(`${JSON.stringify(event)}\n`);
}

async function playText(
  cli: Cli,
  pagurus: Pagurus,
  request: RunRequest & { signal: AbortSignal },
  shown: { held: HeldOutput; notifyCompactions: boolean },
): Promise<TurnEnd> {
  const { held, notifyCompactions } = shown;
  const activity = held.writer(cli.stderr);
  const output = new TurnOutput(held.writer(cli.stdout), activity, cli.env, {
    quiet: () => held.holding,
    notifyCompactions,
  });
  try {
    const end = await followTurn(pagurus.run(request), (event) => output.show(event));
    output.show(end);
    if (request.signal.aborted) output.aborted();
    output.endLine();
    if (end.type === "turn.failed" && !request.signal.aborted) {
      printFailure({ ...cli, stderr: activity }, end.error);
    }
    return end;
  } finally {
    output.close();
  }
}

/** The request, expanded by the user's command file if the prompt names one; `--model` overrides the file's. */
async function spoken<
  T extends Omit<RunRequest, "parts"> & { agentId: string; cwd: string; parts: InputPart[] },
>(cli: Cli, pagurus: Pagurus, request: T): Promise<T> {
  if (!request.prompt.startsWith("/")) return request;
  const { expandLine } = await import("@pagurus/host/command/host-command");
  const expanded = await expandLine(request.prompt, { pagurus, ...request });
  if (!expanded) return request;
  const { isForeign, ...rest } = expanded;
  if (isForeign === true) return { ...rest, ...request, prompt: rest.prompt };
  const input = await attach(cli, expanded.prompt, { cwd: request.cwd });
  // Files named in the arguments are attached already.
  const known = new Set(request.parts.map((part) => JSON.stringify(part)));
  const parts = [...request.parts, ...input.parts.filter((part) => !known.has(JSON.stringify(part)))];
  return { ...rest, ...request, prompt: input.prompt, parts };
}

/** Throws `model_unknown` for an id that the provider's own list lacks; an endpoint may answer as another model without a word. */
async function assertListed(cli: Cli, ref: string, agentId: string): Promise<void> {
  const { modelChecks } = await import("../chat/model-checks.ts");
  const { problem, isUnlisted } = await modelChecks(cli.env, agentId).check(ref);
  if (problem !== undefined && isUnlisted === true) throw new PagurusError("model_unknown", problem);
}

/** `pagurus run`. The first interrupt aborts the turn, the second exits at once. Throws when the request is refused. */
export async function run(cli: Cli, argument: string | undefined, options: RunOptions): Promise<number> {
  checkChoice(options);
  const cwd = workspace(cli, options.cwd, options.agent);
  const context = readAdditionalContext(cli, options);
  const prompt = await readPrompt(cli, argument);
  const input = await attach(cli, prompt, { cwd, images: options.image });
  if (argument !== undefined && argument !== "-") input.parts.push(...(await pipedPart(cli)));
  const { warnings, notifyCompactions } = turnSettings(cli);
  for (const warning of warnings) printLine(cli.stderr, `note: ${warning}`);
  if (options.model !== undefined && cli.isRemote !== true)
    await assertListed(cli, options.model, sessionOf(options).agentId);
  const trusted = await trustForTurns(cli, options);
  // From here on a turn may be running; before, an interrupt ends the process as usual.
  const controller = new AbortController();
  const stop = cli.onInterrupt(() => {
    if (controller.signal.aborted) cli.exit(EXIT_INTERRUPTED);
    controller.abort();
  });
  try {
    const request = {
      ...requestOf(options, cwd),
      ...(options.heartbeat === true ? { heartbeat: true } : {}),
      ...(cli.stderr.isTTY === true ? {} : { oneShot: true }),
      ...input,
      ...context,
      signal: controller.signal,
    };
    const held = new HeldOutput();
    const shown = { held, notifyCompactions };
    const end = await withPagurus(
      cli,
      async (pagurus) => {
        const claim = await claimChoice(pagurus, options, { cwd });
        try {
          showClaim(cli, claim);
          const expanded = { ...(await spoken(cli, pagurus, request)), sessionKey: claim.sessionKey };
          const play =
            options.json === true
              ? playJson(cli, pagurus, expanded)
              : playText(cli, pagurus, expanded, shown);
          return await play;
        } finally {
          claim.release();
        }
      },
      { ...asking(terminalPermission(cli, held)), ...trusted },
    );
    return turnExitCode(end, controller.signal.aborted);
  } finally {
    stop();
  }
}
