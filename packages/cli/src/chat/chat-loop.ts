import type { SessionClaim } from "@pagurus/contract/session/claim";
import type { ExpandedCommand } from "@pagurus/contract/host/skill";
import type { Pagurus } from "@pagurus/contract/host/host";
import type { StatusReport } from "@pagurus/contract/host/status";
import { dataPart } from "@pagurus/contract/input-data";
import type { AskPermission, InputPart, TurnRun } from "@pagurus/contract/host/run";
import type { CommandContext, CommandEffect } from "@pagurus/host/command/command-types";
import { terminalSafe } from "@pagurus/host/command/layout";
import { isCommand, runCommand, runsAtOnce } from "@pagurus/host/command/host-command";
import { sessionChoices } from "@pagurus/host/command/session-choices";
import { statusConcerns } from "@pagurus/host/command/status-text";
import { factsOf, pastOf } from "./chat-facts.ts";
import type { ChatView, ViewEvents, ViewMaker } from "./chat-view.ts";
import { giveBack, InputQueue } from "./input-queue.ts";
import type { ModelChecks } from "./model-checks.ts";
import { ownCommandIn, runOwnCommand } from "./own-command.ts";
import { viewFor } from "./view-choice.ts";
import { readAdditionalContext } from "../run/additional-context.ts";
import { trustForTurns } from "../trust/turn-trust.ts";
import { printLine, styleFor, withPagurus, type Cli } from "../cli.ts";
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
import { ToolOutputs } from "./tool-outputs.ts";
import { ACCEPTED, TurnChoices } from "./turn-choices.ts";
import { asking, attach, requestOf, type TurnOptions } from "../run/turn-request.ts";
import { workspace } from "../cli-workspace.ts";
import { defined } from "@pagurus/core/data/defined";

/** Window for the second Ctrl-C at an empty line, ms. */
const LEAVE_MS = 3_000;

const NEW_ROW = { value: "", label: "A new conversation" };

/** Removes the escape: a prompt that begins with a slash is typed with two. */
function withoutEscape(text: string): string {
  return text.replace(/^\/\//, "/");
}

/** One conversation in the terminal: reads inputs one after the other and runs them as commands or turns. */
class Chat {
  readonly screen: ChatView;
  readonly #cli: Cli;
  readonly #choices: TurnChoices;
  readonly #cwd: string;
  readonly #inputs: InputQueue;
  readonly #outputs = new ToolOutputs();
  /** Outputs of the person's commands since the newest turn. */
  readonly #ownOutputs: InputPart[] = [];
  #claim: SessionClaim | undefined;
  #turn: TurnRun | undefined;
  #pagurus: Pagurus | undefined;
  /** Additional context sent with each input of the turn. */
  #context: ReturnType<typeof readAdditionalContext> = {};
  /** Abort controller of the running turn or command. */
  #working: AbortController | undefined;
  /** Set while a second Ctrl-C would leave. */
  #leaveAsked: NodeJS.Timeout | undefined;
  #leaving: number | undefined;
  /** Without a terminal, the exit code of the newest failure. */
  #failed = EXIT_DONE;

  constructor(cli: Cli, options: TurnOptions, { cwd, view }: { cwd: string; view: ViewMaker }) {
    this.#choices = new TurnChoices(options);
    this.#cwd = cwd;
    this.#inputs = new InputQueue((steering, queued) =>
      this.screen.waiting(steering, this.#working ? queued : []),
    );
    this.screen = view(this.#events(), {
      outputs: this.#outputs,
      pagurus: () => this.#pagurus,
      where: () => ({ ...requestOf(this.#options, this.#cwd), sessionKey: this.#sessionKey }),
    });
    // Everything that is shown goes through the view.
    this.#cli = { ...cli, stdout: this.screen.text, stderr: this.screen.activity };
  }

  #events(): ViewEvents {
    return {
      line: (text) => this.#line(text),
      later: (text) => this.#inputs.push(text),
      takeBack: () => this.#inputs.takeBack((text) => this.#turn?.takeBack?.(text) ?? false),
      interrupt: () => this.#ctrlC(),
      escape: () => {
        if (!this.#working) return false;
        // A second Esc does not leave, as a second Ctrl-C does.
        if (!this.#working.signal.aborted) this.interrupt();
        return true;
      },
      open: () => this.screen.above(terminalSafe(this.#outputs.open())),
      nextMode: () => {
        this.#choices.nextMode();
        this.screen.about({ permission: this.#choices.shownMode });
      },
      nextThinking: (by) => {
        this.#choices.nextThinking(by);
        this.screen.about({ thinking: this.#options.thinking });
      },
      rewind: () => this.#line("/rewind"),
      end: () => this.#inputs.end(),
    };
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
    const { records, lines } = choices(pagurus, options, this.#cwd, listWidth(this.screen.activity));
    if (records.length < 2) return options;
    if (this.screen.pick) {
      const rows = [...sessionChoices(records), NEW_ROW];
      const key = await this.screen.pick("Continue which conversation?", rows);
      return key === NEW_ROW.value ? { ...options, new: true } : { ...options, continue: key ?? true };
    }
    for (const line of lines) this.#note(line);
    this.#note("Number of the conversation to continue (Enter: 1), or n for a new one.");
    const answer = await this.#next();
    const picked = pickedBy(answer ?? "", records);
    if (picked) return { ...options, ...picked };
    // The answer is the first input.
    this.#inputs.pushFirst(answer ?? "");
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
          const words = withoutEscape(answer.deny);
          if (!own || this.#turn?.steer(words, this.#context) !== true) return { deny: words };
          this.#inputs.steer(words);
          return "deny";
        }
      })
    );
  }

  release(): void {
    this.#claim?.release();
    this.#claim = undefined;
  }

  get #options(): TurnOptions {
    return this.#choices.options;
  }

  get #sessionKey(): string {
    return this.#claim?.sessionKey ?? "";
  }

  /** The first input, before those that are typed. */
  begin(prompt: string): void {
    this.#inputs.pushFirst(prompt);
  }

  async talk(pagurus: Pagurus, suggestion?: string): Promise<number> {
    this.#pagurus = pagurus;
    if (this.#claim) await this.#greet(pagurus);
    if (suggestion !== undefined) this.screen.suggest(suggestion);
    while (this.#leaving === undefined && !this.#cli.outputLost()) {
      const input = await this.#next();
      if (input === undefined) break;
      if (input.trim() === "") continue;
      this.#working = new AbortController();
      this.screen.entered(withoutEscape(input));
      try {
        const { signal } = this.#working;
        const own = this.screen.interactive ? ownCommandIn(input) : undefined;
        if (own !== undefined) await this.#runOwn(own, signal);
        else if (!isCommand(input)) await this.#runTurn(pagurus, { prompt: withoutEscape(input), signal });
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
    this.#inputs.wake();
    return undefined;
  }

  #line(text: string): void {
    const turn = this.screen.interactive ? this.#turn : undefined;
    if (turn && text.trim() !== "") {
      if (isCommand(text) && runsAtOnce(text)) return void this.#atOnce(text);
      if (isCommand(text)) this.#note(`${text.split(/\s/)[0] ?? ""} runs when the turn has ended`);
      // A running turn takes words alone.
      else if ((this.screen.images?.(text).length ?? 0) > 0)
        this.#note("the picture is sent when the turn has ended");
      else if (turn.steer(withoutEscape(text), this.#context)) return this.#inputs.steer(withoutEscape(text));
    }
    return this.#inputs.push(text);
  }

  /** Runs a command during the turn; its error is shown and changes nothing. */
  async #atOnce(text: string): Promise<void> {
    const turn = this.#turn;
    const reach = turn && {
      steer: (said: string) => turn.steer(said, this.#context),
      abort: () => turn.abort(),
    };
    try {
      if (this.#pagurus) await this.#command(this.#pagurus, text, reach ? { turn: reach } : {});
    } catch (error) {
      reportFailure(this.#cli, error);
    }
  }

  async #next(): Promise<string | undefined> {
    const input = await this.#inputs.next(() => {
      this.screen.prompt();
      // An interrupt may have come while the previous command was ending.
      if (this.#leaving !== undefined) queueMicrotask(() => this.#inputs.wake());
    });
    return this.#leaving === undefined ? input : undefined;
  }

  #note(text: string): void {
    printLine(this.screen.activity, styleFor(this.#cli.stderr, this.#cli.env)("dim", text));
  }

  async #greet(pagurus: Pagurus): Promise<void> {
    const sessionKey = this.#sessionKey;
    if (this.#claim && this.screen.interactive) this.#note(claimLine(this.#claim, "/new begins another"));
    const report = await this.#report(pagurus);
    const { model } = report;
    const runtime = this.#options.runtime ?? report.Runtime.id;
    await this.#showPast(pagurus);
    this.#choices.configured = report.permission;
    this.screen.about(factsOf(report, this.#choices));
    this.#note(
      `session ${sessionKey} · model ${model.ref} · runtime ${runtime} · engine ${report.engine.effective}`,
    );
    for (const concern of statusConcerns(report)) this.#note(concern);
    if (this.screen.interactive) this.#note(this.screen.keys);
  }

  async #showFacts(pagurus: Pagurus): Promise<void> {
    this.screen.about(factsOf(await this.#report(pagurus), this.#choices));
  }

  /** The status of this chat's next turn. */
  #report(pagurus: Pagurus): Promise<StatusReport> {
    const { agentId, model, runtime } = requestOf(this.#options, this.#cwd);
    return pagurus.status({ sessionKey: this.#sessionKey, agentId, cwd: this.#cwd, model, runtime });
  }

  /** Shows the end of the conversation that is continued. */
  async #showPast(pagurus: Pagurus): Promise<void> {
    if (!this.screen.interactive) return;
    const { agentId } = requestOf(this.#options, this.#cwd);
    this.screen.past(await pastOf(pagurus.sessions(agentId), this.#sessionKey));
  }

  async #command(
    pagurus: Pagurus,
    input: string,
    beside: Pick<CommandContext, "signal" | "turn">,
  ): Promise<Extract<CommandEffect, { type: "prompt" }> | undefined> {
    const result = await runCommand(input, {
      pagurus,
      // The choices for the next turns are among them.
      ...requestOf(this.#options, this.#cwd),
      sessionKey: this.#sessionKey,
      ...defined({ columns: this.screen.text.columns }),
      ...beside,
      note: (text) => this.#note(text),
      toolOutput: (number) => this.#outputs.open(number),
      checkModel: async (ref) => (await this.#modelChecks()).check(ref),
      models: async () => (await this.#modelChecks()).usable(),
      ...(this.screen.pick ? { pick: this.screen.pick.bind(this.screen) } : {}),
      ...(this.screen.showChanges ? { showChanges: this.screen.showChanges.bind(this.screen) } : {}),
      isPlanning: this.#choices.isPlanning,
    });
    // A conversation that is shown now comes before the words about it.
    for (const effect of result.effects) await this.#apply(pagurus, effect);
    if (result.text !== "") {
      const { text } = this.screen;
      printLine(text, text.isTTY === true ? terminalSafe(result.text) : result.text);
    }
    return result.effects.find((effect) => effect.type === "prompt");
  }

  /** The configuration is read when it is asked for: a chat can last for days. */
  async #modelChecks(): Promise<ModelChecks> {
    const { modelChecks } = await import("./model-checks.ts");
    return modelChecks(this.#cli.env, requestOf(this.#options, this.#cwd).agentId);
  }

  async #apply(pagurus: Pagurus, effect: CommandEffect): Promise<void> {
    if (effect.type === "exit") this.#leaving = this.screen.interactive ? EXIT_DONE : this.#failed;
    if (effect.type === "session" && effect.sessionKey !== this.#sessionKey) {
      const { agentId } = requestOf(this.#options, this.#cwd);
      const next = await pagurus.claim({ sessionKey: effect.sessionKey, agentId, cwd: this.#cwd });
      this.release();
      this.#claim = next;
      await this.#showPast(pagurus);
    }
    this.#choices.apply(effect);
    if (effect.type === "accepted") this.#inputs.pushFirst(ACCEPTED);
    if (effect.type === "copy") this.screen.copy(effect.text);
    if (effect.type === "rewound" && effect.text !== undefined) this.screen.restore([effect.text]);
    else if (effect.type === "rewound") await this.#showPast(pagurus);
    if (effect.type !== "exit" && effect.type !== "prompt") await this.#showFacts(pagurus);
  }

  /** Runs the person's own command; the model sees its output with the next input. */
  async #runOwn(command: string, signal: AbortSignal): Promise<void> {
    const view = this.screen.command(command);
    const { env } = this.#cli;
    const onOutput = (chunk: string): void => view.push(chunk);
    const result = await runOwnCommand({ command, cwd: this.#cwd, env, signal, onOutput });
    view.end(result);
    const end = result.code === 0 ? "" : `\n(exit ${result.code ?? "by a signal"})`;
    this.#ownOutputs.push(dataPart({ command }, `${result.output}${end}`));
  }

  async #runTurn(
    pagurus: Pagurus,
    { prompt, model, isForeign, signal }: ExpandedCommand & { signal: AbortSignal },
  ): Promise<void> {
    // A file of a folder that is not trusted attaches none.
    const input =
      isForeign === true
        ? { prompt, parts: [] }
        : await attach(this.#cli, prompt, { cwd: this.#cwd, images: this.screen.images?.(prompt) });
    const parts = [...this.#ownOutputs.splice(0), ...input.parts];
    const output = await this.screen.turn();
    const planned = this.#choices.planning(readAdditionalContext(this.#cli, this.#options));
    const { permission: _, ...context } = planned;
    this.#context = context;
    const turn = pagurus.run({
      ...defined({ model }),
      ...requestOf(this.#options, this.#cwd),
      sessionKey: this.#sessionKey,
      ...input,
      parts,
      ...planned,
      signal,
    });
    this.#turn = turn;
    let isAnswered = false;
    try {
      const end = await followTurn(turn, (event) => {
        output.show(event);
        const joined = event.type === "steered" ? this.#inputs.joined() : undefined;
        if (joined !== undefined) this.screen.entered(joined);
      });
      output.show(end);
      output.endLine();
      if (signal.aborted) this.#note("aborted");
      else if (end.type === "turn.failed") {
        printFailure(this.#cli, end.error);
        this.#failed = exitCodeFor(end.error.code);
      }
      if (end.type === "turn.completed") this.screen.about({ summary: end });
      isAnswered = end.type === "turn.completed" && !signal.aborted;
    } finally {
      this.#turn = undefined;
      output.close();
      await giveBack(this.#inputs.left(), turn, this.screen);
    }
    if (isAnswered) await this.#afterPlan();
  }

  /** Asks whether the plan of the turn is carried out. */
  async #afterPlan(): Promise<void> {
    if (!this.#choices.isPlanning || this.#inputs.isWaiting) return;
    if (!this.screen.pick) return this.#note("/plan accept carries the plan out; words change it.");
    const picked = await this.screen.pick("Carry out this plan?", this.#choices.planAnswers);
    if (picked !== undefined && this.#choices.takePlan(picked)) this.#inputs.pushFirst(ACCEPTED);
    this.screen.about({ permission: this.#choices.shownMode });
  }
}

/** `pagurus chat`; `prompt`: the first input, `suggestion`: one that the person can change and send. */
export async function chat(
  cli: Cli,
  options: TurnOptions,
  { prompt, suggestion }: { prompt?: string | undefined; suggestion?: string } = {},
): Promise<number> {
  checkChoice(options);
  // Wrong options are refused at once, not at the first input.
  readAdditionalContext(cli, options);
  const cwd = workspace(cli, options.cwd, options.agent);
  // Its question comes before the view takes the terminal.
  const trusted = await trustForTurns(cli, options);
  const session = new Chat(cli, options, { cwd, view: await viewFor(cli, { cwd, plain: options.plain }) });
  const stop = cli.onInterrupt(() => session.interrupt());
  try {
    const talk = async (pagurus: Pagurus): Promise<number> => {
      try {
        await session.take(pagurus);
        if (prompt !== undefined) session.begin(prompt);
        return await session.talk(pagurus, suggestion);
      } finally {
        session.release();
      }
    };
    return await withPagurus(cli, talk, { ...asking(session.permission()), ...trusted });
  } finally {
    stop();
    session.screen.close();
  }
}
