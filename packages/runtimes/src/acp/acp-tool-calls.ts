/** Tool calls of an agent, collected from one or more updates. */
import type { ImagePart, TextPart, ToolCallPart } from "@pagurus/contract/message";
import type { ToolOutcome } from "@pagurus/contract/harness/tool";
import { SERVER_NAME } from "./acp-sessions.ts";
import { type Fields, listOf, recordOf, stringOf } from "@pagurus/core/data/record-fields";

/** Names of the host's tools in an agent's calls: `mcp__pagurus__note`, `mcp.pagurus.note`, `pagurus_note`, … */
const HOST_CALL = new RegExp(`^(?:mcp[._:/-]+)?${SERVER_NAME}[._:/ -]+(.+)$`);

/** Result of a call whose agent reports that it ended, and nothing of what came of it. */
export const NOT_REPORTED = "The agent did not report this result.";

export class NativeCall {
  readonly part: ToolCallPart;
  /** It belongs after the words of its answer, some of which may be reported after it. */
  readonly isLast: boolean;
  /** Name of the called host tool; undefined for the agent's own. */
  hostTool: string | undefined;
  kind = "other";
  title = "";
  isStarted = false;
  isEnded = false;
  /** Why it was rejected. */
  refusal: string | undefined;
  /** Outcome of a host tool. */
  outcome: ToolOutcome | undefined;
  /** The call of the host's tool has arrived. */
  isCalled = false;
  #hasInput = false;
  #content: readonly unknown[] = [];
  /** The content came with the call or its permission request: its text describes the call. */
  #isBefore = false;
  #output: unknown;
  #terminal = "";
  #exitCode: number | undefined;
  #locations: string[] = [];

  constructor(id: string, isLast = false) {
    this.isLast = isLast;
    this.part = { type: "toolCall", id, name: "tool", arguments: {} };
  }

  /** Merges an update; returns the tool's new output. `isEmitted`: the call is part of an emitted message. */
  merge(update: Fields, hostTools: ReadonlySet<string>): string {
    const { kind, title, rawInput, rawOutput, content, locations, _meta } = update;
    if (typeof kind === "string") this.kind = kind;
    if (typeof title === "string") this.title = title;
    if (Array.isArray(locations)) this.#locations = locations.map((each) => stringOf(recordOf(each)["path"]));
    if (rawOutput !== undefined && rawOutput !== null) this.#output = rawOutput;
    if (Array.isArray(content)) {
      this.#content = content;
      this.#isBefore = update["status"] === "pending";
    }
    this.#name(update, hostTools);
    this.#input(rawInput);
    const meta = recordOf(_meta);
    const exit = recordOf(meta["terminal_exit"])["exit_code"];
    if (typeof exit === "number") this.#exitCode = exit;
    const whole = stringOf(recordOf(meta["terminal_output"])["data"]);
    const chunk =
      stringOf(recordOf(meta["terminal_output_delta"])["data"]) || whole.slice(this.#terminal.length);
    this.#terminal += chunk;
    return chunk;
  }

  get hasInput(): boolean {
    return this.#hasInput;
  }

  /** Files that it touches. */
  get paths(): readonly string[] {
    const changed = this.#content
      .map((each) => stringOf(recordOf(each)["path"]))
      .filter((path) => path !== "");
    return changed.length > 0 ? [...new Set(changed)] : this.#locations;
  }

  /** New content of a file, as far as it is reported. */
  newText(path: string): string {
    const diff = this.#content.map(recordOf).find((each) => each["path"] === path);
    return stringOf(diff?.["newText"]);
  }

  failed(status: string): boolean {
    return (
      status === "failed" ||
      this.refusal !== undefined ||
      (this.#exitCode !== undefined && this.#exitCode !== 0)
    );
  }

  /** The result that its model got, as far as the agent reports it; an unreported one says so. */
  result(): (TextPart | ImagePart)[] {
    if (this.outcome) return this.outcome.content;
    if (this.refusal !== undefined) return [{ type: "text", text: this.refusal }];
    const output = this.#output;
    if (typeof output === "string") return [{ type: "text", text: output }];
    const mcp = recordOf(recordOf(output)["result"])["content"] ?? recordOf(output)["content"];
    const parts = partsOf(listOf(Array.isArray(output) ? output : mcp));
    if (parts.length > 0) return parts;
    const refusal =
      stringOf(recordOf(recordOf(output)["error"])["message"]) || stringOf(recordOf(output)["error"]);
    if (refusal !== "") return [{ type: "text", text: refusal }];
    if (this.#terminal !== "") return [{ type: "text", text: this.#terminal }];
    const shown = this.#content
      .map(recordOf)
      .filter(({ type }) => type === "diff" || !this.#isBefore)
      .flatMap(shownContent);
    if (shown.length > 0) return shown;
    if (output !== undefined) return [{ type: "text", text: JSON.stringify(output) }];
    return [{ type: "text", text: this.#exitCode === undefined ? NOT_REPORTED : "" }];
  }

  #name(update: Fields, hostTools: ReadonlySet<string>): void {
    const input = recordOf(update["rawInput"]);
    const meta = recordOf(update["_meta"]);
    const names = [update["name"], recordOf(meta["claudeCode"])["toolName"], update["title"]].map(stringOf);
    // The title of a command is the command: `pagurus note` is not a call of ours.
    const isCommand = this.kind === "execute" && "command" in input;
    const host = hostToolOf(isCommand ? names.slice(0, 2) : names, input, hostTools);
    if (host !== undefined) {
      this.hostTool = host;
      this.part.name = host;
      return;
    }
    if (this.hostTool !== undefined) return;
    const named = names.slice(0, 2).find((name) => name !== "");
    if (named !== undefined) this.part.name = named;
    else if (this.part.name === "tool" || this.part.name === "other")
      this.part.name = this.kind === "other" ? "tool" : this.kind;
  }

  #input(rawInput: unknown): void {
    const raw = recordOf(rawInput);
    const isWrapped = this.hostTool !== undefined && typeof raw["server"] === "string";
    const input = isWrapped ? recordOf(raw["arguments"]) : raw;
    if (Object.keys(input).length > 0 || isWrapped) {
      this.#hasInput = true;
      this.part.arguments = { ...input };
    } else if (!this.#hasInput && this.hostTool === undefined) {
      // An agent that reports no input reports at least the title.
      this.part.arguments = {
        ...(this.title === "" ? {} : { title: this.title }),
        ...(this.#locations.length === 0 ? {} : { paths: this.#locations }),
      };
    }
  }
}

/** The host's tool of a call, in any of the agents' notations. */
function hostToolOf(names: readonly string[], input: Fields, tools: ReadonlySet<string>): string | undefined {
  const { server, tool } = input;
  if (server === SERVER_NAME && typeof tool === "string" && tools.has(tool)) return tool;
  for (const name of names) {
    const found = HOST_CALL.exec(name)?.[1];
    if (found !== undefined && tools.has(found)) return found;
  }
  return undefined;
}

function partsOf(blocks: readonly unknown[]): (TextPart | ImagePart)[] {
  return blocks.flatMap((block): (TextPart | ImagePart)[] => {
    const { type, text: words, data, mimeType } = recordOf(block);
    if (type === "text" && typeof words === "string") return [{ type, text: words }];
    if (type === "image" && typeof data === "string" && typeof mimeType === "string")
      return [{ type, data, mimeType }];
    return [];
  });
}

function shownContent(content: Fields): (TextPart | ImagePart)[] {
  if (content["type"] === "content") return partsOf([content["content"]]);
  if (content["type"] !== "diff") return [];
  const lines = (sign: string, words: string): string =>
    words === "" ? "" : words.replace(/\n$/, "").replaceAll(/^/gm, sign) + "\n";
  const { path, oldText, newText } = content;
  return [
    {
      type: "text",
      text: `${stringOf(path)}\n${lines("-", stringOf(oldText))}${lines("+", stringOf(newText))}`,
    },
  ];
}
