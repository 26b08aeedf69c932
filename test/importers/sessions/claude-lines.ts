import type { Row } from "./support.ts";

export const SESSION = "0b7c1a52-3f7d-4f0e-9a59-6f5f9a0d7c11";
const START = Date.parse("2026-02-11T20:30:00.000Z");

/** Writes lines as Claude Code does: each names the one before it. */
export class ClaudeLines {
  readonly rows: Row[] = [];
  last: string | null = null;
  #made = 0;

  /** Returns the line's uuid. */
  line(type: string, fields: Row, parent: string | null = this.last): string {
    this.#made += 1;
    const uuid = `uuid-${this.#made}`;
    this.rows.push({
      parentUuid: parent,
      isSidechain: false,
      cwd: "/project",
      sessionId: SESSION,
      version: "2.1.39",
      type,
      uuid,
      timestamp: this.time(),
      ...fields,
    });
    if (fields["isSidechain"] !== true) this.last = uuid;
    return uuid;
  }

  time(): string {
    return new Date(START + this.#made * 1000).toISOString();
  }

  /** A line outside the chain. */
  bare(fields: Row): void {
    this.#made += 1;
    this.rows.push(fields);
  }

  user(text: string, fields: Row = {}, parent?: string | null): string {
    return this.line("user", { message: { role: "user", content: text }, ...fields }, parent);
  }

  /** One part of an answer: a line of its own. */
  part(messageId: string, part: Row, fields: Row = {}, parent?: string | null): string {
    const message = {
      id: messageId,
      role: "assistant",
      model: "claude-opus-4-6",
      content: [part],
      stop_reason: null,
      usage: {
        input_tokens: 3,
        cache_creation_input_tokens: 10,
        cache_read_input_tokens: 100,
        output_tokens: this.#made,
      },
    };
    return this.line("assistant", { message, requestId: "req", ...fields }, parent);
  }

  call(messageId: string, id: string, fields: Row = {}): string {
    return this.part(
      messageId,
      { type: "tool_use", id, name: "Bash", input: { command: `run ${id}` } },
      fields,
    );
  }

  result(id: string, content: unknown, parent?: string | null, fields: Row = {}): string {
    const part = { type: "tool_result", tool_use_id: id, content };
    return this.line(
      "user",
      { message: { role: "user", content: [part] }, toolUseResult: { stdout: "" }, ...fields },
      parent,
    );
  }

  progress(): string {
    return this.line("progress", { data: { type: "hook_progress" } });
  }
}
