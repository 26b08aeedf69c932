import type { TurnEvent } from "../contract/events.ts";
import type { Pagurus, RunRequest, TurnRun } from "../contract/host.ts";
import { withPagurus, type Cli } from "./cli.ts";
import { EXIT_DONE, EXIT_INTERRUPTED, exitCodeFor, printFailure } from "./failure.ts";
import { terminalPermission } from "./permission-prompt.ts";
import { asking, attach, readPrompt, requestOf, workspace, type RunOptions } from "./turn-request.ts";
import { TurnOutput } from "./turn-output.ts";

/** The last event of every turn. */
type TurnEnd = Extract<TurnEvent, { type: "turn.completed" | "turn.failed" }>;

/** Hands every event but the last to `show`, and answers the last. A stream without an end is a failed turn. */
export async function followTurn(run: TurnRun, show: (event: TurnEvent) => void): Promise<TurnEnd> {
  let end: TurnEnd | undefined;
  for await (const event of run) {
    if (event.type === "turn.completed" || event.type === "turn.failed") end = event;
    else show(event);
  }
  return (
    end ?? {
      type: "turn.failed",
      error: { code: "internal", message: "The turn ended without saying how." },
      degraded: [],
    }
  );
}

/** Exit code of a turn. */
function turnExitCode(end: TurnEnd, interrupted: boolean): number {
  if (interrupted) return EXIT_INTERRUPTED;
  if (end.type === "turn.failed") return exitCodeFor(end.error.code);
  return end.stopReason === "aborted" ? EXIT_INTERRUPTED : EXIT_DONE;
}

async function play(cli: Cli, pagurus: Pagurus, request: RunRequest, json: boolean): Promise<TurnEnd> {
  const turn = pagurus.run(request);
  if (json) {
    const end = await followTurn(turn, (event) => void cli.stdout.write(`${JSON.stringify(event)}\n`));
    cli.stdout.write(`${JSON.stringify(end)}\n`);
    if (end.type === "turn.failed") printFailure(cli, end.error);
    return end;
  }
  const output = new TurnOutput(cli.stdout, cli.stderr, cli.env);
  try {
    const end = await followTurn(turn, (event) => output.show(event));
    output.show(end);
    output.endLine();
    if (end.type === "turn.failed") printFailure(cli, end.error);
    return end;
  } finally {
    output.endLine();
  }
}

/** `pagurus run`. The first interrupt aborts the turn, the second leaves at once. Throws when refused at the door. */
export async function run(cli: Cli, argument: string | undefined, options: RunOptions): Promise<number> {
  const cwd = workspace(cli, options.cwd);
  const prompt = await readPrompt(cli, argument);
  const input = await attach(cli, prompt, { cwd, images: options.image });
  // From here on a turn may be under way; before, an interrupt ends the process as usual.
  const controller = new AbortController();
  const stop = cli.onInterrupt(() => {
    if (controller.signal.aborted) cli.exit(EXIT_INTERRUPTED);
    controller.abort();
  });
  try {
    const request = { ...requestOf(options, cwd), ...input, signal: controller.signal };
    const end = await withPagurus(
      cli,
      (pagurus) => play(cli, pagurus, request, options.json === true),
      asking(terminalPermission(cli)),
    );
    return turnExitCode(end, controller.signal.aborted);
  } finally {
    stop();
  }
}
