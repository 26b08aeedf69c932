/** Rules by which `pagurus wire` recognises the kinds of a program's requests that its protocol does not mark. */

/** A request as the rules of a program see it. Computed when read. */
export interface WrapRequestView {
  /** Without the base, such as `/chat/completions`. */
  readonly path: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly model: string;
  /** Text of the system prompt and of leading system and developer messages. */
  readonly system: string;
  readonly hasTools: boolean;
  /** Text of the newest user message. */
  readonly question: string;
}

/**
 * Recognises a kind of request that its protocol does not mark. A rule is exact: a request that deviates from the recorded one is
 * no match.
 */
export interface WrapRequestRule {
  /**
   * `side`: a title, a suggestion, a classification; `subagent`: another agent's conversation; `compaction`: the program asks for
   * a summary of the conversation.
   */
  readonly kind: "side" | "subagent" | "compaction";
  /** Version of the program that a matching request was recorded from. */
  readonly version: string;
  /** Called for each request of the conversation. A throw fails the request, so it should never throw. */
  matches(request: WrapRequestView): boolean;
}
