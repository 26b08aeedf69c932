import type {
  LoadSessionResponse,
  McpServer,
  PromptRequest,
  PromptResponse,
  SessionConfigOption,
} from "@agentclientprotocol/sdk";
import { expandLine, runCommand, runsAtOnce } from "@pagurus/host/command/host-command";
import { beyond, narrowerMode } from "@pagurus/core/authority/authority";
import { toPagurusError } from "@pagurus/contract/errors";
import type { TurnEvent } from "@pagurus/contract/host/events";
import type { AdditionalContext } from "@pagurus/contract/fragment";
import type { Authority } from "@pagurus/contract/host/authority";
import { PERMISSION_MODES, type PermissionMode } from "@pagurus/contract/host/permission-modes";
import type { Pagurus } from "@pagurus/contract/host/host";
import type { AskPermission, RunRequest, TurnRun } from "@pagurus/contract/host/run";
import { orAborted } from "@pagurus/core/platform/deadline";
import type { Logger } from "@pagurus/core/platform/log";
import type { Client } from "./acp-client.ts";
import { availableCommands as listCommands, commandLine, commandText } from "./acp-commands.ts";
import { notOpen, turnRequestError, unknownSession } from "./acp-errors.ts";
import { serverConfigs, type MakeTools, type SessionTools } from "./client-mcp-servers.ts";
import type { ModelList } from "./acp-models.ts";
import {
  choose,
  CONFIGURED,
  configOptions,
  isMode,
  modeState,
  readFacts,
  type Chosen,
  type Facts,
} from "./acp-options.ts";
import { askInEditor } from "./permission-request.ts";
import { readPrompt, type PromptInput } from "./prompt-request.ts";
import { newestSummary, replay, titleFrom } from "./history-replay.ts";
import { CallIds } from "./tool-call-updates.ts";
import { stopReasonOf, TurnUpdates } from "./turn-updates.ts";
import { defined } from "@pagurus/core/data/defined";

/** Settings that all sessions of a connection share. */
export interface Setting {
  pagurus: Pagurus;
  client: Client;
  logger: Logger;
  /** What the client may do. */
  authority: Pick<Authority, "mayStartPrograms" | "mayRemember">;
  /** The most permissive mode that it may choose. */
  mode(): PermissionMode;
  models: ModelList;
  mcpTools: MakeTools;
  agentId: string;
  /** Options of the command line; the user can change them for each session. */
  preferred: { mode?: string | undefined; model?: string | undefined; runtime?: string | undefined };
  maxCost?: number | undefined;
  notifyCompactions: boolean;
}

/** `model`: for this turn, if the user has chosen none. */
type Input = PromptInput & { model?: string };
type TurnEnd = Extract<TurnEvent, { type: "turn.completed" | "turn.failed" }>;

/** One conversation that is open in the editor. Its id there is its session key. */
export class AcpSession {
  readonly id: string;
  readonly cwd: string;
  readonly #setting: Setting;
  #chosen: Chosen;
  #facts: Facts;
  #titled: boolean;
  /** Prompts without an answer so far, in order. */
  readonly #prompts = new Set<AbortController>();
  #last: Promise<void> = Promise.resolve();
  /** Queue of option changes: each applies on top of the one before. */
  #choosing: Promise<unknown> = Promise.resolve();
  /** Updates of a turn wait for this, so that they follow the conversation that is being loaded. */
  #replayed: Promise<void> = Promise.resolve();
  readonly #callIds = new CallIds();
  #closed = false;
  #turn: { run: TurnRun; updates: TurnUpdates } | undefined;
  #questions = 0;
  /** Tools of the client's MCP servers, and the server list they were made from. */
  #tools: { made: SessionTools; from: string } | undefined;

  private constructor(
    setting: Setting,
    place: { key: string; cwd: string; titled: boolean },
    facts: Facts,
    chosen: Chosen,
  ) {
    this.#setting = setting;
    this.id = place.key;
    this.cwd = place.cwd;
    this.#titled = place.titled;
    this.#facts = facts;
    this.#chosen = chosen;
  }

  /** Opens a session of the store. `concerns`: sentences about problems that a turn will have. */
  static async open(
    setting: Setting,
    place: { key: string; cwd: string },
  ): Promise<{ session: AcpSession; concerns: string[] }> {
    const { pagurus, agentId, preferred } = setting;
    const status = await pagurus.status({ sessionKey: place.key, agentId, cwd: place.cwd });
    const facts = await readFacts(pagurus, status, agentId, preferred.model);
    const mode = [preferred.mode, status.permission].find((one) => one !== undefined && isMode(one));
    const chosen: Chosen = {
      mode: narrowerMode(mode !== undefined && isMode(mode) ? mode : "ask", setting.mode()),
      model: preferred.model,
      runtime: preferred.runtime,
    };
    const titled = (status.session?.entryCount ?? 0) > 0;
    const concerns = [...status.problems.map(({ message }) => message), ...status.configWarnings];
    return { session: new AcpSession(setting, { ...place, titled }, facts, chosen), concerns };
  }

  state(): Required<Pick<LoadSessionResponse, "modes" | "configOptions">> {
    return { modes: modeState(this.#chosen, this.#modes()), configOptions: this.#options() };
  }

  /** Sends the client the commands and the concerns, once it knows the session. */
  async announce(concerns: readonly string[]): Promise<void> {
    const { client, pagurus, agentId } = this.#setting;
    try {
      const availableCommands = await listCommands({ pagurus, agentId, cwd: this.cwd });
      await client.update(this.id, { sessionUpdate: "available_commands_update", availableCommands });
    } catch (error) {
      // While the host is closing, no client waits for commands. Any other failure is reported.
      await client.notice(
        this.id,
        "warning",
        `The commands cannot be listed: ${toPagurusError(error).message}`,
      );
    }
    for (const concern of concerns) await client.notice(this.id, "warning", concern);
  }

  /** Sends the whole conversation. Output of a turn that runs meanwhile follows it, and a prompt waits for it. */
  async replay(): Promise<void> {
    const { pagurus, client, agentId } = this.#setting;
    const { done } = this.#enqueue();
    const over = Promise.withResolvers<void>();
    this.#replayed = over.promise;
    const reader = pagurus.sessions(agentId).openReader(this.id);
    try {
      this.#callIds.restart();
      const running = this.#turn?.updates.turnId;
      const { id: sessionId, cwd } = this;
      await replay(reader.cursor, { client, sessionId, cwd, running, callIds: this.#callIds });
    } finally {
      reader.close();
      over.resolve();
      done();
    }
  }

  /**
   * Runs a turn or a command. A prompt's updates end with its answer, so a second prompt waits for the first; a command for the
   * running turn does not.
   */
  async prompt({ prompt, _meta }: PromptRequest, asked: AbortSignal): Promise<PromptResponse> {
    if (this.#closed) throw notOpen(this.id);
    const input = readPrompt(prompt);
    const context = contextOf(_meta);
    const line = commandLine(input.prompt, input.parts.length);
    if (line !== undefined && this.#turn && runsAtOnce(line)) return this.#command(line, context, asked);
    const controller = new AbortController();
    const signal = AbortSignal.any([controller.signal, asked]);
    const { before, done } = this.#enqueue();
    this.#prompts.add(controller);
    try {
      await orAborted(before, signal);
      if (line !== undefined) return await this.#command(line, context, signal);
      return await this.#run(await this.#expanded(input), context, signal);
    } catch (error) {
      if (signal.aborted && toPagurusError(error).code === "turn_aborted") return { stopReason: "cancelled" };
      throw error;
    } finally {
      this.#prompts.delete(controller);
      done();
    }
  }

  /** Takes a place in the queue, after all that runs and waits; later ones wait for `done`. */
  #enqueue(): { before: Promise<void>; done: () => void } {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = before.then(() => promise);
    return { before, done: resolve };
  }

  /** The turn's input: the expanded command file of the user with the attachments, else the prompt's own text. */
  async #expanded(input: PromptInput): Promise<Input> {
    const { pagurus, agentId } = this.#setting;
    const expanded = await expandLine(input.prompt, { pagurus, agentId, cwd: this.cwd });
    if (expanded) {
      const { prompt, model } = expanded;
      return { ...input, prompt, ...defined({ model }) };
    }
    // A prompt that starts with a slash is escaped with a second one.
    return { ...input, prompt: input.prompt.replace(/^\/\//, "/") };
  }

  /** Aborts the running prompt and the waiting ones; partial output stays. */
  cancel(): void {
    for (const controller of this.#prompts) controller.abort();
  }

  /** Cancels, refuses new prompts, and resolves when nothing runs any more. */
  async close(): Promise<void> {
    this.#closed = true;
    this.cancel();
    await this.#last;
    await this.#tools?.made.close();
    this.#tools = undefined;
  }

  /**
   * Sets the client's MCP servers. An unchanged list keeps running; the old servers are stopped once nothing runs. Throws
   * `token_invalid` for a client that may not name any: the host would start the program, or send requests to the address.
   */
  useServers(servers: readonly McpServer[]): void {
    if (servers.length > 0 && !this.#setting.authority.mayStartPrograms)
      throw beyond(
        "name MCP servers",
        "only its owner and an unlimited token of scope admin may; send an empty list",
      );
    const from = JSON.stringify(servers);
    const before = this.#tools;
    if (before?.from === from) return;
    this.#tools =
      servers.length === 0
        ? undefined
        : { made: this.#setting.mcpTools(serverConfigs(servers, this.cwd)), from };
    void this.#last.then(() => before?.made.close());
  }

  async setMode(value: string): Promise<void> {
    await this.#choose("mode", value);
    await this.#sendOptions();
  }

  async setOption(id: string, value: string): Promise<SessionConfigOption[]> {
    await this.#choose(id, value);
    if (id === "mode") {
      const { mode: currentModeId } = this.#chosen;
      await this.#setting.client.update(this.id, { sessionUpdate: "current_mode_update", currentModeId });
    }
    return this.#options();
  }

  /** Asks about a permission of the session's turn, or of one of its subagents. */
  readonly ask: AskPermission = async (question) => {
    this.#questions += 1;
    const toolCallId = question.toolCallId ?? `question:${this.#questions}`;
    const own = question.sessionKey === this.id;
    const updates = own ? this.#turn?.updates : undefined;
    const announced = await updates?.announced(toolCallId);
    // A subagent's call is shown only with its question.
    const shownId = announced?.shownId ?? (own ? toolCallId : this.#callIds.next(toolCallId));
    const shown = { ...question, toolCallId: shownId };
    const { client, authority } = this.#setting;
    const answer = await askInEditor(client, this.id, shown, { call: announced, authority });
    if (answer !== "deny" && announced) await updates?.allowed(announced.shownId);
    return answer;
  };

  /** Modes that the client may choose, from the narrowest. */
  #modes(): readonly PermissionMode[] {
    return PERMISSION_MODES.slice(0, PERMISSION_MODES.indexOf(this.#setting.mode()) + 1);
  }

  #options(): SessionConfigOption[] {
    const { models } = this.#setting;
    return configOptions(this.#chosen, { facts: this.#facts, models, modes: this.#modes() });
  }

  async #sendOptions(): Promise<void> {
    const update = { sessionUpdate: "config_option_update" as const, configOptions: this.#options() };
    await this.#setting.client.update(this.id, update);
  }

  #choose(id: string, value: string): Promise<void> {
    const done = this.#choosing.then(() => this.#change(id, value));
    this.#choosing = done.catch(() => undefined);
    return done;
  }

  /** Applies the change as a whole; if it fails, nothing changes. */
  async #change(id: string, value: string): Promise<void> {
    const { pagurus, models, agentId } = this.#setting;
    let facts = this.#facts;
    const known = { facts, models, pagurus, agentId, modes: this.#modes() };
    const chosen = await choose(this.#chosen, { id, value }, known);
    if (id === "model") {
      const status = await pagurus.status({ sessionKey: this.id, agentId, cwd: this.cwd });
      facts = await readFacts(pagurus, status, agentId, chosen.model);
    }
    this.#chosen = chosen;
    this.#facts = facts;
  }

  async #command(
    line: string,
    context: AdditionalContext | undefined,
    signal: AbortSignal,
  ): Promise<PromptResponse> {
    const { pagurus, client, models, agentId } = this.#setting;
    const { model } = this.#chosen;
    const run = this.#turn?.run;
    const result = await runCommand(line, {
      pagurus,
      sessionKey: this.id,
      agentId,
      cwd: this.cwd,
      signal,
      checkModel: (ref) => Promise.resolve(models.check(ref)),
      permission: this.#chosen.mode,
      ...defined({ model }),
      ...(run ? { turn: { steer: (text: string) => run.steer(text), abort: () => run.abort() } } : {}),
    });
    const text = commandText(result);
    if (text !== "") {
      const content = { type: "text" as const, text };
      await client.update(this.id, { sessionUpdate: "agent_message_chunk", content });
    }
    for (const effect of result.effects) {
      if (effect.type === "prompt") return this.#run({ ...effect, parts: [] }, context, signal);
      if (effect.type === "permission") {
        await this.#choose("mode", effect.mode ?? "ask");
        await this.#sendOptions();
      }
      if (effect.type !== "model") continue;
      await this.#choose("model", effect.model ?? CONFIGURED);
      await this.#sendOptions();
    }
    return { stopReason: signal.aborted ? "cancelled" : "end_turn" };
  }

  #request(input: Input, context: AdditionalContext | undefined, signal: AbortSignal): RunRequest {
    const { agentId, maxCost } = this.#setting;
    const { mode, model = input.model, runtime, thinking } = this.#chosen;
    return {
      prompt: input.prompt,
      parts: input.parts,
      sessionKey: this.id,
      agentId,
      cwd: this.cwd,
      permission: mode,
      signal,
      ...defined({ tools: this.#tools?.made, model, runtime, thinking, maxCost, additionalContext: context }),
    };
  }

  async #run(
    input: Input,
    context: AdditionalContext | undefined,
    signal: AbortSignal,
  ): Promise<PromptResponse> {
    this.#checkExists();
    const run = this.#setting.pagurus.run(this.#request(input, context, signal));
    const updates = this.#updates();
    this.#turn = { run, updates };
    let end: TurnEnd | undefined;
    try {
      for await (const event of run) {
        if (event.type === "turn.started") await this.#title(input.prompt);
        if (event.type === "turn.completed" || event.type === "turn.failed") end = event;
        await this.#replayed;
        await updates.take(event);
      }
      await updates.end();
    } finally {
      this.#turn = undefined;
    }
    if (end?.type === "turn.completed") {
      const { type: _type, ...summary } = end;
      return { stopReason: stopReasonOf(end), _meta: { pagurus: summary } };
    }
    const error = end?.error ?? { code: "internal", message: "The turn ended without a result." };
    if (signal.aborted || error.code === "turn_aborted") return { stopReason: "cancelled" };
    if (error.code !== "model_refused") throw turnRequestError(error);
    await this.#setting.client.notice(this.id, "warning", error.message);
    return { stopReason: "refusal" };
  }

  /** Throws if the session was deleted elsewhere and had messages, so that their loss is noticed; an empty session is created again. */
  #checkExists(): void {
    const { pagurus, agentId } = this.#setting;
    if (!this.#titled || pagurus.sessions(agentId).find(this.id)) return;
    throw unknownSession(this.id, "any more, it was deleted elsewhere; open another one.");
  }

  #updates(): TurnUpdates {
    const { client, models, notifyCompactions, pagurus, agentId } = this.#setting;
    return new TurnUpdates({
      client,
      sessionId: this.id,
      cwd: this.cwd,
      callIds: this.#callIds,
      notifyCompactions,
      windowOf: (ref) => models.window(ref),
      summary: async () => {
        const reader = pagurus.sessions(agentId).openReader(this.id);
        try {
          return await newestSummary(reader.cursor);
        } finally {
          reader.close();
        }
      },
    });
  }

  /** Sets the title from the first prompt, as in the list of sessions. */
  async #title(prompt: string): Promise<void> {
    if (this.#titled) return;
    this.#titled = true;
    const title = titleFrom(prompt);
    if (title === "") return;
    const updatedAt = new Date().toISOString();
    await this.#setting.client.update(this.id, { sessionUpdate: "session_info_update", title, updatedAt });
  }
}

/** The client's hidden context for this prompt, in the form of `RunRequest`; the host checks it. */
function contextOf(meta: PromptRequest["_meta"]): AdditionalContext | undefined {
  const own = meta?.["pagurus"] as { additionalContext?: AdditionalContext } | null | undefined;
  return typeof own === "object" ? own?.additionalContext : undefined;
}
