import type { TurnSummary } from "../contract/events.ts";
import type { Pagurus } from "../contract/host.ts";
import type { TurnRun } from "../contract/run.ts";
import type { CommandContext, CommandEffect } from "../command/types.ts";
import { turnGauge } from "../command/gauge.ts";
import { terminalSafe } from "../command/layout.ts";
import { commandNames, isCommand, runCommand, runsAtOnce } from "../command/run-command.ts";
import { statusConcerns } from "../command/status-text.ts";
import { ChatScreen } from "./chat-screen.ts";
import { readAdditionalContext } from "./additional-context.ts";
import { printLine, styleFor, withPagurus, type Cli } from "./cli.ts";
import { EXIT_DONE, EXIT_INTERRUPTED, exitCodeFor, printFailure, reportFailure } from "./failure.ts";
import { followTurn } from "./run.ts";
import { turnSettings } from "./settings.ts";
import { TurnOutput } from "./turn-output.ts";
import { asking, attach, requestOf, workspace, type TurnOptions } from "./turn-request.ts";

/** A prompt that begins with a slash is written with two. */
function unescaped(text: string): string {
  return text.replace(/^\/\//, "/");
}

/** One conversation in the terminal: reads inputs one after the other, runs them as commands or turns. */
class Chat {
  readonly screen: ChatScreen;
  readonly #cli: Cli;
  readonly #options: TurnOptions;
  readonly #cwd: string;
  readonly #notifyCompactions: boolean;
  readonly #inputs: string[] = [];
  #wake: (() => void) | undefined;
  #turn: TurnRun | undefined;
  #pagurus: Pagurus | undefined;
  /** What goes along with each input of the turn. */
  #context: ReturnType<typeof readAdditionalContext> = {};
  /** Of the turn or command that is under way. */
  #working: AbortController | undefined;
  #ended = false;
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
      interrupt: () => this.interrupt(),
      end: () => {
        this.#ended = true;
        this.#wake?.();
      },
      commands: () => this.#commands(),
    });
  }

  async talk(pagurus: Pagurus): Promise<number> {
    this.#pagurus = pagurus;
    await this.#greet(pagurus);
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

  /** Ctrl-C: aborts what runs; a second one, or one with nothing running, leaves. */
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

  /** A command beside the turn; what it throws is told and changes nothing. */
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
        // An interrupt may have come while the command before was ending.
        if (this.#leaving !== undefined) resolve();
      });
      this.#wake = undefined;
    }
    return this.#leaving === undefined ? this.#inputs.shift() : undefined;
  }

  #note(text: string): void {
    printLine(this.screen.activity, styleFor(this.#cli.stderr, this.#cli.env)("dim", text));
  }

  /** How full the context is and what the turn cost, for a person who reads along. */
  #gauge(summary: TurnSummary): void {
    const { activity } = this.screen;
    if (activity.isTTY !== true) return;
    const line = turnGauge(summary, activity.columns);
    if (line !== undefined) this.#note(line);
  }

  async #greet(pagurus: Pagurus): Promise<void> {
    const { sessionKey, agentId } = requestOf(this.#options, this.#cwd);
    const report = await pagurus.status({ sessionKey, agentId, cwd: this.#cwd });
    const model = this.#options.model ?? report.model.ref;
    const runtime = this.#options.runtime ?? report.Runtime.id;
    this.#note(
      `session ${sessionKey} · model ${model} · runtime ${runtime} · engine ${report.engine.effective}`,
    );
    for (const concern of statusConcerns(report)) this.#note(concern);
    if (this.screen.interactive) this.#note("/help lists the commands; Ctrl-C aborts a turn, then leaves.");
  }

  async #command(
    pagurus: Pagurus,
    input: string,
    beside: Pick<CommandContext, "signal" | "turn">,
  ): Promise<Extract<CommandEffect, { type: "prompt" }> | undefined> {
    const { sessionKey, agentId, model } = requestOf(this.#options, this.#cwd);
    const result = await runCommand(input, {
      pagurus,
      sessionKey,
      agentId,
      cwd: this.#cwd,
      ...beside,
      note: (text) => this.#note(text),
      checkModel: (ref) => this.#checkModel(ref),
      ...(model === undefined ? {} : { model }),
    });
    if (result.text !== "") {
      const { text } = this.screen;
      printLine(text, text.isTTY === true ? terminalSafe(result.text) : result.text);
    }
    for (const effect of result.effects) this.#apply(effect);
    return result.effects.find((effect) => effect.type === "prompt");
  }

  /** Names to complete; none before the host is there. */
  async #commands(): Promise<string[]> {
    if (!this.#pagurus) return [];
    const { agentId } = requestOf(this.#options, this.#cwd);
    return commandNames({ pagurus: this.#pagurus, agentId, cwd: this.#cwd });
  }

  async #checkModel(ref: string): Promise<{ problem?: string; warning?: string }> {
    const { env } = this.#cli;
    const [{ loadConfig }, { resolveHome }, { checkModel }] = await Promise.all([
      import("../config/load.ts"),
      import("../config/paths.ts"),
      import("./config-models.ts"),
    ]);
    return checkModel(ref, loadConfig({ home: resolveHome(env) }).config, env);
  }

  #apply(effect: CommandEffect): void {
    if (effect.type === "exit") this.#leaving = this.screen.interactive ? EXIT_DONE : this.#failed;
    if (effect.type === "session") this.#options.session = effect.sessionKey;
    if (effect.type !== "model") return;
    if (effect.model === undefined) delete this.#options.model;
    else this.#options.model = effect.model;
  }

  async #runTurn(
    pagurus: Pagurus,
    { prompt, model, signal }: { prompt: string; model?: string; signal: AbortSignal },
  ): Promise<void> {
    const input = await attach(this.#cli, prompt, { cwd: this.#cwd });
    const { text, activity } = this.screen;
    const output = new TurnOutput(text, activity, this.#cli.env, {
      quiet: () => this.screen.busy,
      notifyCompactions: this.#notifyCompactions,
    });
    this.#context = readAdditionalContext(this.#cli, this.#options);
    const turn = pagurus.run({
      ...(model === undefined ? {} : { model }),
      ...requestOf(this.#options, this.#cwd),
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
  const session = new Chat(cli, options, workspace(cli, options.cwd));
  // Wrong options are refused at the door, not at the first input.
  readAdditionalContext(cli, options);
  const stop = cli.onInterrupt(() => session.interrupt());
  try {
    return await withPagurus(cli, (pagurus) => session.talk(pagurus), asking(session.screen.permission()));
  } finally {
    stop();
    session.screen.close();
  }
}
