/** Asks plugins whether the model has to answer again before a turn ends (`before_agent_finalize`), at most three times a turn. */
import type { HarnessTurnResult } from "@pagurus/contract/harness/harness";
import type { HookMap } from "@pagurus/contract/host/hooks";
import type { AgentMessage, UserMessage } from "@pagurus/contract/message";
import { stringOf } from "@pagurus/core/data/record-fields";
import { runHooks } from "../guard/turn-hooks.ts";
import type { TurnState } from "../state/turn-state.ts";

type Answer = NonNullable<HookMap["before_agent_finalize"]["result"]>;

/** Revisions of one turn, over all plugins. */
const MOST_REVISIONS = 3;
const INTRODUCTION = "A plugin of this host asks for another answer before the turn ends:";

export class AnswerRevisions {
  readonly #run: TurnState;
  /** Revisions by their key. */
  readonly #counts = new Map<string, number>();
  #total = 0;

  constructor(run: TurnState) {
    this.#run = run;
  }

  /** The instruction for another answer, which no transcript records; undefined: the turn may end. Throws `turn_aborted` only. */
  async next({ stopReason }: HarnessTurnResult): Promise<UserMessage | undefined> {
    const { host, sessionKey, sessionId, turnId, signal, guard, model, cwd, recorder, writer } = this.#run;
    const text = stopReason === "stop" ? lastAnswer(recorder.messages) : "";
    if (text === "" || host.hooks.hooks("before_agent_finalize").length === 0) return undefined;
    const payload = {
      provider: model.provider,
      model: model.id,
      cwd,
      stopHookActive: this.#total > 0,
      lastAssistantMessage: text,
      messages: structuredClone([...recorder.messages]),
    };
    const context = { sessionKey, sessionId, agentId: host.agentId, turnId };
    const onFailure = (reason: string): void => guard.degrade("hook", reason);
    const options = { signal, logger: host.logger, onFailure };
    const { answers } = await runHooks(host.hooks, "before_agent_finalize", payload, context, options);
    const wanted = answers.map(({ result }) => result);
    if (wanted.some(({ action }) => action === "finalize")) return undefined;
    const reasons = wanted.flatMap((answer) => this.#reasonOf(answer) ?? []);
    if (reasons.length === 0) return undefined;
    if (this.#total >= MOST_REVISIONS) {
      onFailure(`before_agent_finalize asked for a revision beyond the ${MOST_REVISIONS} of a turn`);
      return undefined;
    }
    this.#total += 1;
    const content = [INTRODUCTION, ...reasons].join("\n\n").toWellFormed();
    const message: UserMessage = { role: "user", content: [{ type: "text", text: content }] };
    this.#run.results.messages.push({ message, after: writer.leafId ?? undefined });
    return message;
  }

  /** The text of a revision that has attempts left; a `retry` has one by default. */
  #reasonOf({ action, reason = "", retry }: Answer): string | undefined {
    if (action !== "revise") return undefined;
    const instruction = textOf(retry?.instruction);
    const why = textOf(reason);
    if (instruction === "") return why === "" ? undefined : why;
    const key = textOf(retry?.idempotencyKey) || instruction;
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    const most = retry?.maxAttempts;
    if (count > (Number.isFinite(most) ? Math.max(1, Math.floor(most ?? 1)) : 1)) return undefined;
    return why === "" || why.includes(instruction) ? why || instruction : `${why}\n\n${instruction}`;
  }
}

/** A plugin's answer is not checked: its fields may have any type. */
function textOf(value: unknown): string {
  return stringOf(value).trim();
}

function lastAnswer(messages: readonly AgentMessage[]): string {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return "";
  return last.content
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("")
    .trim();
}
