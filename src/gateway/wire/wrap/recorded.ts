/** What a turn has in the transcript already, so that nothing that a program says again is recorded twice. */
import type { AgentMessage, AssistantMessage, UserMessage } from "../../../contract/message.ts";
import { assistantWords, callIds, isEmptyUser, plain, userKey } from "./said.ts";

export class Recorded {
  readonly #calls = new Set<string>();
  readonly #results = new Set<string>();
  /** How often a user has said the same. */
  readonly #users = new Map<string, number>();
  #answers = "";
  readonly #whole = new Set<string>();

  /** Calls that no result is recorded of. */
  get openCalls(): ReadonlySet<string> {
    return new Set([...this.#calls].filter((id) => !this.#results.has(id)));
  }

  note(message: AgentMessage): void {
    if (message.role === "toolResult") this.#results.add(message.toolCallId);
    else if (message.role === "user") {
      const key = userKey(message);
      this.#users.set(key, (this.#users.get(key) ?? 0) + 1);
    } else {
      for (const id of callIds(message)) this.#calls.add(id);
      const words = assistantWords(message);
      this.#answers += `\n${words}`;
      if (words !== "") this.#whole.add(words);
    }
  }

  hasSaid(message: UserMessage): boolean {
    return this.#users.has(userKey(message));
  }

  /** Whether a message says anything that the turn does. */
  has(message: AgentMessage): boolean {
    if (message.role === "toolResult") return this.#results.has(message.toolCallId);
    if (message.role === "user") return this.hasSaid(message);
    return this.#whole.has(assistantWords(message)) || callIds(message).some((id) => this.#calls.has(id));
  }

  /** What is new of the live turn, in its order. */
  fresh(live: readonly AgentMessage[]): AgentMessage[] {
    const seen = new Map<string, number>();
    return live.flatMap((message): AgentMessage[] => {
      if (message.role === "toolResult") return this.#results.has(message.toolCallId) ? [] : [message];
      if (message.role === "assistant") return this.#freshAnswer(message);
      if (isEmptyUser(message)) return [];
      const key = userKey(message);
      const nth = (seen.get(key) ?? 0) + 1;
      seen.set(key, nth);
      return nth <= (this.#users.get(key) ?? 0) ? [] : [message];
    });
  }

  /** The words of an answer are looked for in all that was answered: a program may divide and trim them. */
  #freshAnswer(message: AssistantMessage): AssistantMessage[] {
    const isFresh = (part: AssistantMessage["content"][number]): boolean => {
      if (part.type === "toolCall") return !this.#calls.has(part.id);
      return part.type === "text" && plain(part.text) !== "" && !this.#answers.includes(plain(part.text));
    };
    const content = message.content.filter((part) => part.type !== "thinking" && isFresh(part));
    return content.length === 0 ? [] : [{ ...message, content }];
  }
}
