/** Tracks which messages of a turn are in the transcript, so that what a program repeats is not recorded twice. */
import type { AgentMessage, AssistantMessage, UserMessage } from "@pagurus/contract/message";
import { assistantWords, callIdsOf, isEmptyUser, plain, userKey } from "./request-messages.ts";

/** Number of occurrences of each key: some models reuse the ids of their calls, and a user may repeat a text. */
class Tally extends Map<string, number> {
  add(key: string): number {
    const times = (this.get(key) ?? 0) + 1;
    this.set(key, times);
    return times;
  }

  of(key: string): number {
    return this.get(key) ?? 0;
  }
}

export class Recorded {
  readonly #calls = new Tally();
  readonly #results = new Tally();
  readonly #users = new Tally();
  #answers = "";
  readonly #whole = new Set<string>();

  /** Calls without a recorded result. */
  get openCalls(): ReadonlySet<string> {
    return new Set([...this.#calls].flatMap(([id, times]) => (times > this.#results.of(id) ? [id] : [])));
  }

  note(message: AgentMessage): void {
    if (message.role === "toolResult") this.#results.add(message.toolCallId);
    else if (message.role === "user") this.#users.add(userKey(message));
    else {
      for (const id of callIdsOf(message)) this.#calls.add(id);
      const words = assistantWords(message);
      this.#answers += `\n${words}`;
      if (words !== "") this.#whole.add(words);
    }
  }

  hasUser(message: UserMessage): boolean {
    return this.#users.has(userKey(message));
  }

  /** Whether the turn contains some part of a message. */
  has(message: AgentMessage): boolean {
    if (message.role === "toolResult") return this.#results.has(message.toolCallId);
    if (message.role === "user") return this.hasUser(message);
    return this.#whole.has(assistantWords(message)) || callIdsOf(message).some((id) => this.#calls.has(id));
  }

  /** The new messages of the live turn, in order. */
  fresh(live: readonly AgentMessage[]): AgentMessage[] {
    const [calls, results, users] = [new Tally(), new Tally(), new Tally()];
    return live.flatMap((message): AgentMessage[] => {
      if (message.role === "assistant") return this.#freshAnswer(message, calls);
      if (message.role === "toolResult") {
        const id = message.toolCallId;
        return results.add(id) <= this.#results.of(id) ? [] : [message];
      }
      if (isEmptyUser(message)) return [];
      const key = userKey(message);
      return users.add(key) <= this.#users.of(key) ? [] : [message];
    });
  }

  /** The text of an answer is searched in all recorded answers: a program may split and trim it. */
  #freshAnswer(message: AssistantMessage, calls: Tally): AssistantMessage[] {
    const isFresh = (part: AssistantMessage["content"][number]): boolean => {
      if (part.type === "toolCall") return calls.add(part.id) > this.#calls.of(part.id);
      return part.type === "text" && plain(part.text) !== "" && !this.#answers.includes(plain(part.text));
    };
    const content = message.content.filter((part) => part.type !== "thinking" && isFresh(part));
    return content.length === 0 ? [] : [{ ...message, content }];
  }
}
