/** The part of OpenCode's plugin interface (1.18) that the adapter uses. A test with the real program checks the adapter against it. */

export interface OpenCodePart {
  type: string;
  text?: string;
  /** Not the person's or the model's own words. */
  synthetic?: boolean;
  ignored?: boolean;
  /** Of a tool call. */
  callID?: string;
  tool?: string;
  state?: { status: string; input?: Record<string, unknown>; output?: string; error?: string };
}

export interface OpenCodeMessage {
  info: { id: string; sessionID: string; role: "user" | "assistant"; summary?: unknown };
  parts: OpenCodePart[];
}

export interface OpenCodeConfig {
  mcp?: Record<string, object>;
}

/** Input of a plugin. */
export interface OpenCodeInput {
  directory: string;
  client: {
    session: { messages(request: { path: { id: string } }): Promise<{ data?: OpenCodeMessage[] }> };
  };
}

interface OfSession {
  sessionID: string;
}

export interface OpenCodeHooks {
  config(config: OpenCodeConfig): Promise<void>;
  event(input: { event: { type: string; properties?: { sessionID?: string } } }): Promise<void>;
  "chat.params"(input: OfSession & { agent: string | { name?: string } }): Promise<void>;
  "tool.execute.after"(
    input: OfSession & { tool: string; callID: string },
    output: { output: string },
  ): Promise<void>;
  "experimental.session.compacting"(input: OfSession, output: { prompt?: string }): Promise<void>;
  "experimental.chat.messages.transform"(
    input: object,
    output: { messages: OpenCodeMessage[] },
  ): Promise<void>;
  "experimental.text.complete"(input: OfSession, output: { text: string }): Promise<void>;
}
