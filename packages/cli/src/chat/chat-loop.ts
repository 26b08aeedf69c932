import type { SessionClaim } from "@pagurus/contract/session/claim";
import type { TurnSummary } from "@pagurus/contract/host/events";
import type { ExpandedCommand } from "@pagurus/contract/host/skill";
import type { Pagurus } from "@pagurus/contract/host/host";
import type { AskPermission, TurnRun } from "@pagurus/contract/host/run";
import type { CommandContext, CommandEffect } from "@pagurus/host/command/command-types";
import { turnGauge } from "@pagurus/host/command/context-gauge";
import { terminalSafe } from "@pagurus/host/command/layout";
import { commandNames, isCommand, runCommand, runsAtOnce } from "@pagurus/host/command/host-command";
import { statusConcerns } from "@pagurus/host/command/status-text";
import { ChatScreen } from "./chat-screen.ts";
import { readAdditionalContext } from "../run/additional-context.ts";
import { trustForTurns } from "../trust/turn-trust.ts";
import { hasColours, printLine, styleFor, withPagurus, type Cli } from "../cli.ts";
import { EXIT_DONE, EXIT_INTERRUPTED, exitCodeFor, printFailure, reportFailure } from "../cli-failure.ts";
import { followTurn } from "../run/run-work.ts";
import {
  checkChoice,
  choices,
  claimChoice,
  claimLine,
  isChosen,
  pickedBy,
} from "../sessions/session-choice.ts";
import { listWidth } from "../sessions/session-rows.ts";
import { turnSettings } from "../config/cli-settings.ts";
import { ToolOutputs } from "./tool-outputs.ts";
import { TurnOutput, type TextRenderer } from "../run/turn-output.ts";
import { asking, attach, requestOf, type TurnOptions } from "../run/turn-request.ts";
import { workspace } from "../cli-workspace.ts";

/** Window for the second Ctrl-C at an empty line, ms. */
const LEAVE_MS = 3_000;

/** Removes the escape: a prompt that begins with a slash is typed with two. */
function unescaped(text: string): string {
  return text.replace(/^\/\//, "/");
}

/** One conversation in the terminal: reads inputs one after the other and runs them as commands or turns. */
class Chat {
  readonly screen: ChatScreen;
  readonly #cli: Cli;
  readonly #options: TurnOptions;
  readonly #cwd: string;
  readonly #notifyCompactions: boolean;
  readonly #inputs: string[] = [];
  readonly #outputs = new ToolOutputs();
  #claim: SessionClaim | undefined;
  #wake: (() => void) | undefined;
  #turn: TurnRun | undefined;
  #pagurus: Pagurus | undefined;
  /** Additional context sent with each input of the turn. */
  #context: ReturnType<typeof readAdditionalContext> = {};
  /** Abort controller of the running turn or command. */
  #working: AbortController | undefined;
  #ended = false;
  /** Set while a second Ctrl-C would leave. */
  #leaveAsked: NodeJS.Timeout | undefined;
  #leaving: number | undefined;
  /** Without a terminal, the exit code of the newest failure. */
  #failed = EXIT_DONE;

  constructor(cli: Cli, options: TurnOptions, cwd: string) {
    this.#cli = cli;
    this.#options = { ...options };
    this.#cwd = cwd;
    this.#notifyCompactions = turnSettings(cli).notifyCompactions;
    this.screen = new ChatScreen(cli, {
      line: (text) => this.#line(text),
      interrupt: () => this.#ctrlC(),
      open: () => this.screen.above(terminalSafe(this.#outputs.open())),
      end: () => {
        this.#ended = true;
        this.#wake?.();
      },
      commands: () => this.#commands(),
    });
  }

  /** Claims its conversation until `release`. */
  async take(pagurus: Pagurus): Promise<void> {
    const options = this.screen.interactive ? await this.#picked(pagurus) : this.#options;
    if (this.#leaving !== undefined) return;
    this.#claim = await claimChoice(pagurus, options, { cwd: this.#cwd });
  }

  /** Lets the user choose, where the folder has several conversations and no option selects one. */
  async #picked(pagurus: Pagurus): Promise<TurnOptions> {
    const options = this.#options;
    if (isChosen(options)) return options;
    const { records, lines } = choices(pagurus, options, this.#cwd, listWidth(this.#cli.stderr));
    if (records.length < 2) return options;
    for (const line of lines) this.#note(line);
    this.#note("Number of the conversation to continue (Enter: 1), or n for a new one.");
    const answer = await this.#next();
    const picked = pickedBy(answer ?? "", records);
    if (picked) return { ...options, ...picked };
    // The answer is the first input.
    this.#inputs.unshift(answer ?? "");
    return options;
  }

  /**
   * Permission prompt. Text instead of an answer is input: it steers the asking turn, and a subagent gets it with the denial. A
   * command is run, and the question repeated.
   */
  permission(): AskPermission | undefined {
    const ask = this.screen.permission();
    return (
      ask &&
      (async (question) => {
        for (;;) {
          const answer = await ask(question);
          if (typeof answer === "string" || "content" in answer) return answer;
          if (isCommand(answer.deny)) {
            this.#line(answer.deny);
            continue;
          }
          const own = question.sessionKey === undefined || question.sessionKey === this.#sessionKey;
          const words = unescaped(answer.deny);
          return own && this.#turn?.steer(words, this.#context) === true ? "deny" : { deny: words };
        }
      })
    );
  }

  release(): void {
    this.#claim?.release();
    this.#claim = undefined;
  }

  get #sessionKey(): string {
    return this.#claim?.sessionKey ?? "";
  }

  async talk(pagurus: Pagurus): Promise<number> {
    this.#pagurus = pagurus;
    if (this.#claim) await this.#greet(pagurus);
    while (this.#leaving === undefined && !this.#cli.outputLost()) {
      const input = await this.#next();
      if (input === undefined) break;
      if (input.trim() === "") continue;
      this.#working = new AbortController();
      try {
        const { signal } = this.#working;
        if (!isCommand(input)) await this.#runTurn(pagurus, { prompt: unescaped(input), signal });
        else {
          const ask = await this.#command(pagurus, input, { signal });
          if (ask) await this.#runTurn(pagurus, { ...ask, signal });
        }
      } catch (error) {
        this.#failed = reportFailure(this.#cli, error);
      } finally {
        this.#working = undefined;
      }
    }
    if (this.#leaving !== undefined) return this.#leaving;
    return this.screen.interactive ? EXIT_DONE : this.#failed;
  }

  /** Handles Ctrl-C: at an empty line it asks for a second one. */
  #ctrlC(): void {
    if (this.#working || this.#leaveAsked) return this.interrupt();
    if (this.screen.discardInput()) return undefined;
    this.screen.above(
      styleFor(this.#cli.stderr, this.#cli.env)("dim", "Ctrl-C again leaves, as Ctrl-D does."),
    );
    this.#leaveAsked = setTimeout(() => (this.#leaveAsked = undefined), LEAVE_MS).unref();
    return undefined;
  }

  /** Aborts the running work; a second interrupt, or one with nothing running, leaves. */
  interrupt(): void {
    if (this.#working?.signal.aborted) {
      this.screen.close();
      return this.#cli.exit(EXIT_INTERRUPTED);
    }
    if (this.#working) {
      this.#working.abort();
      this.#turn?.abort();
      return undefined;
    }
    if (this.screen.discardInput()) return undefined;
    this.#leaving = EXIT_INTERRUPTED;
    this.#wake?.();
    return undefined;
  }

  #line(text: string): void {
    const turn = this.screen.interactive ? this.#turn : undefined;
    if (turn && text.trim() !== "") {
      if (isCommand(text) && runsAtOnce(text)) return void this.#atOnce(text, turn);
      if (isCommand(text)) this.#note(`${text.split(/\s/)[0] ?? ""} runs when the turn has ended`);
      else if (turn.steer(unescaped(text), this.#context)) return;
    }
    this.#inputs.push(text);
    this.#wake?.();
  }

  /** Runs a command during the turn; its error is shown and changes nothing. */
  async #atOnce(text: string, turn: TurnRun): Promise<void> {
    const reach = { steer: (said: string) => turn.steer(said, this.#context), abort: () => turn.abort() };
    try {
      if (this.#pagurus) await this.#command(this.#pagurus, text, { turn: reach });
    } catch (error) {
      reportFailure(this.#cli, error);
    }
  }

  async #next(): Promise<string | undefined> {
    if (this.#inputs.length === 0 && !this.#ended) {
      this.screen.prompt();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        // An interrupt may have come while the previous command was ending.
        if (this.#leaving !== undefined) resolve();
      });
      this.#wake = undefined;
    }
    return this.#leaving === undefined ? this.#inputs.shift() : undefined;
  }

  #note(text: string): void {
    printLine(this.screen.activity, styleFor(this.#cli.stderr, this.#cli.env)("dim", text));
  }

  /** Shows how full the context is and the turn's cost, on a terminal. */
  #gauge(summary: TurnSummary): void {
    const { activity } = this.screen;
    if (activity.isTTY !== true) return;
    const line = turnGauge(summary, activity.columns);
    if (line !== undefined) this.#note(line);
  }

  async #greet(pagurus: Pagurus): Promise<void> {
    const { agentId } = requestOf(this.#options, this.#cwd);
    const sessionKey = this.#sessionKey;
    if (this.#claim && this.screen.interactive) this.#note(claimLine(this.#claim, "/new begins another"));
    const report = await pagurus.status({ sessionKey, agentId, cwd: this.#cwd });
    const model = this.#options.model ?? report.model.ref;
    const runtime = this.#options.runtime ?? report.Runtime.id;
    this.#note(
      `session ${sessionKey} · model ${model} · runtime ${runtime} · engine ${report.engine.effective}`,
    );
    for (const concern of statusConcerns(report)) this.#note(concern);
    if (this.screen.interactive)
      this.#note("/help lists the commands; Ctrl-O opens tool output, Ctrl-C aborts a turn, Ctrl-D leaves.");
  }

  async #command(
    pagurus: Pagurus,
    input: string,
    beside: Pick<CommandContext, "signal" | "turn">,
  ): Promise<Extract<CommandEffect, { type: "prompt" }> | undefined> {
    const { agentId, model, permission } = requestOf(this.#options, this.#cwd);
    const result = await runCommand(input, {
      pagurus,
      sessionKey: this.#sessionKey,
      agentId,
      cwd: this.#cwd,
      ...(this.screen.text.columns === undefined ? {} : { columns: this.screen.text.columns }),
      ...beside,
      note: (text) => this.#note(text),
      toolOutput: (number) => this.#outputs.open(number),
      checkModel: (ref) => this.#checkModel(ref),
      ...(model === undefined ? {} : { model }),
      ...(permission === undefined ? {} : { permission }),
    });
    if (result.text !== "") {
      const { text } = this.screen;
      printLine(text, text.isTTY === true ? terminalSafe(result.text) : result.text);
    }
    for (const effect of result.effects) await this.#apply(pagurus, effect);
    return result.effects.find((effect) => effect.type === "prompt");
  }

  /** Names for completion; none before the host is open. */
  async #commands(): Promise<string[]> {
    if (!this.#pagurus) return [];
    const { agentId } = requestOf(this.#options, this.#cwd);
    return commandNames({ pagurus: this.#pagurus, agentId, cwd: this.#cwd });
  }

  async #checkModel(ref: string): Promise<{ problem?: string; warning?: string }> {
    const { env } = this.#cli;
    const [{ loadConfig }, { resolveHome }, { checkModel }] = await Promise.all([
      import("@pagurus/core/config/load-config"),
      import("@pagurus/core/config/config-paths"),
      import("../config/config-models.ts"),
    ]);
    const { agentId } = requestOf(this.#options, this.#cwd);
    return checkModel(ref, loadConfig({ home: resolveHome(env) }).config, env, agentId);
  }

  async #apply(pagurus: Pagurus, effect: CommandEffect): Promise<void> {
    if (effect.type === "exit") this.#leaving = this.screen.interactive ? EXIT_DONE : this.#failed;
    if (effect.type === "session" && effect.sessionKey !== this.#sessionKey) {
      const { agentId } = requestOf(this.#options, this.#cwd);
      const next = await pagurus.claim({ sessionKey: effect.sessionKey, agentId, cwd: this.#cwd });
      this.release();
      this.#claim = next;
    }
    if (effect.type === "permission") {
      if (effect.mode === undefined) delete this.#options.permission;
      else this.#options.permission = effect.mode;
    }
    if (effect.type !== "model") return;
    if (effect.model === undefined) delete this.#options.model;
    else this.#options.model = effect.model;
  }

  /** Markdown on a terminal with colours; otherwise undefined, and text is shown raw. */
  async #renderer(): Promise<TextRenderer | undefined> {
    const { text } = this.screen;
    if (!this.screen.interactive || !hasColours(text, this.#cli.env)) return undefined;
    const { MarkdownStream } = await import("./markdown.ts");
    return new MarkdownStream(() => text.columns);
  }

  async #runTurn(
    pagurus: Pagurus,
    { prompt, model, isForeign, signal }: ExpandedCommand & { signal: AbortSignal },
  ): Promise<void> {
    // A file of a folder that is not trusted attaches none.
    const input =
      isForeign === true ? { prompt, parts: [] } : await attach(this.#cli, prompt, { cwd: this.#cwd });
    const { text, activity } = this.screen;
    const output = new TurnOutput(text, activity, this.#cli.env, {
      quiet: () => this.screen.busy,
      notifyCompactions: this.#notifyCompactions,
      render: await this.#renderer(),
      outputs: this.#outputs,
      spin: this.screen.interactive && this.#cli.env["TERM"] !== "dumb",
    });
    this.#context = readAdditionalContext(this.#cli, this.#options);
    const turn = pagurus.run({
      ...(model === undefined ? {} : { model }),
      ...requestOf(this.#options, this.#cwd),
      sessionKey: this.#sessionKey,
      ...input,
      ...this.#context,
      signal,
    });
    this.#turn = turn;
    try {
      const end = await followTurn(turn, (event) => output.show(event));
      output.show(end);
      output.endLine();
      if (signal.aborted) this.#note("aborted");
      else if (end.type === "turn.failed") {
        printFailure({ ...this.#cli, stderr: activity }, end.error);
        this.#failed = exitCodeFor(end.error.code);
      }
      if (end.type === "turn.completed") this.#gauge(end);
    } finally {
      this.#turn = undefined;
      output.close();
    }
  }
}

/** `pagurus chat`. */
export async function chat(cli: Cli, options: TurnOptions): Promise<number> {
  checkChoice(options);
  const session = new Chat(cli, options, workspace(cli, options.cwd, options.agent));
  // Wrong options are refused at once, not at the first input.
  readAdditionalContext(cli, options);
  const stop = cli.onInterrupt(() => session.interrupt());
  try {
    const talk = async (pagurus: Pagurus): Promise<number> => {
      try {
        await session.take(pagurus);
        return await session.talk(pagurus);
      } finally {
        session.release();
      }
    };
    const trusted = await trustForTurns(cli, options);
    return await withPagurus(cli, talk, { ...asking(session.permission()), ...trusted });
  } finally {
    stop();
    session.screen.close();
  }
}
