/** Decides which thinking of a request to the Messages API is sent, and notes the messages that the thinking of its answer is bound to. */
import type { AssistantMessage } from "@pagurus/contract/message";
import { quirksOf } from "@pagurus/core/model/quirks/quirk-table";
import type { WireRequest } from "../dialect/wire-dialect.ts";
import { withBoundThinking, type ThinkingBinds } from "../splice/bound-thinking.ts";
import { passing, type Spliced } from "../splice/splice-request.ts";

const THINKING = Buffer.from('"thinking"');

export class AnswerThinking {
  readonly #binds: ThinkingBinds;
  #digest: string | undefined;

  constructor(binds: ThinkingBinds) {
    this.#binds = binds;
  }

  /** The request without thinking that is not valid after the messages before it. Throws `JsonScanError`. */
  sendable(
    read: WireRequest,
    spliced: Spliced | undefined,
    addition: string | undefined,
  ): Spliced | undefined {
    this.#digest = undefined;
    if (read.api !== "anthropic-messages" || !read.body.includes(THINKING)) return spliced;
    const isReplaced = spliced?.isReplaced === true;
    const sent = isReplaced ? Buffer.concat(spliced.body) : Buffer.concat(passing(read));
    const bound = withBoundThinking(sent, {
      binds: this.#binds,
      own: isReplaced ? read.body : sent,
      addition: isReplaced ? (addition ?? "") : "",
      isStrict: quirksOf({ api: read.api, provider: "anthropic", id: read.model }).bindsThinking,
    });
    this.#digest = bound?.digest;
    if (!bound || bound.dropped === 0) return spliced;
    const counts = { keptItems: read.items.length - read.prefixCount, droppedItems: 0, encodedMessages: 0 };
    return { ...(spliced ?? counts), body: [bound.body], isReplaced: true };
  }

  /** Notes the messages that the thinking of the answer is bound to. */
  answered({ content }: AssistantMessage): void {
    const [first] = content.flatMap((part) => (part.type === "thinking" ? (part.signature ?? []) : []));
    if (first !== undefined && this.#digest !== undefined) this.#binds.note(first, this.#digest);
  }
}
