/**
 * Lets one bad element of a list cost that element alone. The library validates an answer as a whole, so the lists inside an
 * answer bypass it: this transport moves them, unread, into the answer's `_meta`, where our own readers take them.
 */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { isRecord } from "@pagurus/core/data/record-fields";
import { defined } from "@pagurus/core/data/defined";

/** Key of the moved answer in `_meta`. A server's own value under this key is always replaced. */
const MOVED = "pagurus/moved";
/** JSON-RPC's internal error, for an error without a code. */
const INTERNAL_ERROR = -32_603;

type Fields = Record<string, unknown>;

/** Replaces the fields of an answer that we read ourselves by values that the library accepts. */
const EMPTY: Readonly<Record<string, (result: Fields) => Fields>> = {
  "tools/list": ({ tools: _tools, nextCursor, ...rest }) => ({
    ...rest,
    tools: [],
    // Null is no cursor, as in servers that serialize absent fields.
    ...(typeof nextCursor === "string" ? { nextCursor } : {}),
  }),
  "tools/call": ({ content: _content, structuredContent: _structured, isError: _isError, ...rest }) => ({
    ...rest,
    content: [],
  }),
  initialize: ({ protocolVersion, capabilities, serverInfo, instructions }) => ({
    protocolVersion,
    capabilities: capabilitiesOf(capabilities),
    serverInfo: { name: textIn(serverInfo, "name"), version: textIn(serverInfo, "version") },
    ...(typeof instructions === "string" ? { instructions } : {}),
  }),
};

function textIn(value: unknown, key: string): string {
  const text = isRecord(value) ? value[key] : undefined;
  return typeof text === "string" ? text : "unknown";
}

/** Only tools are used; another capability of a wrong type must not prevent them. */
function capabilitiesOf(capabilities: unknown): Fields {
  const tools = isRecord(capabilities) ? capabilities["tools"] : undefined;
  if (tools === undefined || tools === null || tools === false) return {};
  return { tools: { listChanged: true } };
}

/** Fields of an answer as the server sent them. */
export function movedFields(answer: { _meta?: unknown }): Fields {
  const moved = isRecord(answer._meta) ? answer._meta[MOVED] : undefined;
  return isRecord(moved) ? moved : {};
}

function emptied(message: JSONRPCMessage, method: string): JSONRPCMessage {
  if (!("result" in message)) return message;
  const result: unknown = message.result;
  const empty = Object.hasOwn(EMPTY, method) ? EMPTY[method] : undefined;
  if (!empty || !isRecord(result)) return message;
  // An answer that asks for more input has no lists.
  if (result["resultType"] !== undefined && result["resultType"] !== "complete") return message;
  const { _meta: meta, ...fields } = result;
  const moved = { ...(isRecord(meta) ? meta : {}), [MOVED]: fields };
  return { ...message, result: { ...empty(fields), _meta: moved } } as JSONRPCMessage;
}

/** Keeps what renews a call's timeout, so that a malformed number or text does not drop the progress. */
function readableProgress(message: JSONRPCMessage): JSONRPCMessage {
  if (!("method" in message) || message.method !== "notifications/progress") return message;
  const params: unknown = message.params;
  if (!isRecord(params)) return message;
  const { progressToken, progress } = params;
  const readable = { progressToken, progress: Number.isFinite(progress) ? progress : 0 };
  return { ...message, params: readable } as JSONRPCMessage;
}

/**
 * Drops what some servers add to the envelope and the library refuses: null for an absent field, an error without a code or
 * text. A refused line would leave its call without an answer.
 */
export function readableEnvelope(message: unknown): unknown {
  if (!isRecord(message)) return message;
  const { error, result, params, ...rest } = message;
  const readable: Fields = { ...rest };
  if (params !== undefined && params !== null) readable["params"] = params;
  if (result !== undefined && result !== null) {
    const { _meta: meta, ...fields } = isRecord(result) ? result : {};
    readable["result"] = isRecord(result)
      ? { ...fields, ...(isRecord(meta) ? { _meta: meta } : {}) }
      : result;
  }
  if (error !== undefined && error !== null) {
    const { code, message: text, data } = isRecord(error) ? error : { message: error };
    readable["error"] = {
      code: Number.isInteger(code) ? code : INTERNAL_ERROR,
      message: typeof text === "string" ? text : "an error without a text",
      ...defined({ data }),
    };
  }
  return readable;
}

export class ElementTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport["onmessage"];
  readonly #inner: Transport;
  /** Methods of the requests without an answer, by id. */
  readonly #methods = new Map<string, string>();

  /** `toolsChanged` is called for each such notification, whatever its parameters are. */
  constructor(inner: Transport, toolsChanged: () => void) {
    this.#inner = inner;
    inner.onclose = () => this.onclose?.();
    inner.onerror = (error) => this.onerror?.(error);
    inner.onmessage = (message, extra) => {
      if (!("method" in message)) {
        const id = String(message.id);
        const method = this.#methods.get(id) ?? "";
        this.#methods.delete(id);
        this.onmessage?.(emptied(message, method), extra);
      } else if (message.method === "notifications/tools/list_changed") toolsChanged();
      else this.onmessage?.(readableProgress(message), extra);
    };
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  get hasPerRequestStream(): boolean {
    return this.#inner.hasPerRequestStream === true;
  }

  start(): Promise<void> {
    return this.#inner.start();
  }

  send(...[message, options]: Parameters<Transport["send"]>): Promise<void> {
    if ("method" in message && "id" in message) this.#methods.set(String(message.id), message.method);
    return this.#inner.send(message, options);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version);
  }

  setSupportedProtocolVersions(versions: string[]): void {
    this.#inner.setSupportedProtocolVersions?.(versions);
  }
}
