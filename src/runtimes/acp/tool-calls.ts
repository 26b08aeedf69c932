/** Tool calls of an agent as it tells them, in one update or many. */
import type { ImagePart, TextPart, ToolCallPart } from "../../contract/message.ts";
import type { ToolOutcome } from "../../contract/tool.ts";
import { fields, list, text, type Fields } from "./fields.ts";
import { SERVER_NAME } from "./sessions.ts";

/** What the calls of the host's tools are named by: `mcp__pagurus__note`, `mcp.pagurus.note`, `pagurus_note`, … */
const HOST_CALL = new RegExp(`^(?:mcp[._:/-]+)?${SERVER_NAME}[._:/ -]+(.+)$`);

export class NativeCall {
  readonly part: ToolCallPart;
  /** Name of the host's tool that it calls; undefined for the agent's own. */
  hostTool: string | undefined;
  kind = "other";
  title = "";
  isStarted = false;
  isEnded = false;
  /** Why it was not allowed. */
  refusal: string | undefined;
  /** Of a host's tool, as that answered. */
  outcome: ToolOutcome | undefined;
  /** The call of the host's tool has arrived. */
  isCalled = false;
  #hasInput = false;
  #content: readonly unknown[] = [];
  #output: unknown;
  #terminal = "";
  #exitCode: number | undefined;
  #locations: string[] = [];

  constructor(id: string) {
    this.part = { type: "toolCall", id, name: "tool", arguments: {} };
  }

  /** Takes in what an update says; answers what the tool has written since. `isTold`: the call stands in a message. */
  merge(update: Fields, hostTools: ReadonlySet<string>): string {
    const { kind, title, rawInput, rawOutput, content, locations, _meta } = update;
    if (typeof kind === "string") this.kind = kind;
    if (typeof title === "string") this.title = title;
    if (Array.isArray(locations)) this.#locations = locations.map((each) => text(fields(each)["path"]));
    if (rawOutput !== undefined && rawOutput !== null) this.#output = rawOutput;
    if (Array.isArray(content)) this.#content = content;
    this.#name(update, hostTools);
    this.#input(rawInput);
    const meta = fields(_meta);
    const exit = fields(meta["terminal_exit"])["exit_code"];
    if (typeof exit === "number") this.#exitCode = exit;
    const whole = text(fields(meta["terminal_output"])["data"]);
    const chunk = text(fields(meta["terminal_output_delta"])["data"]) || whole.slice(this.#terminal.length);
    this.#terminal += chunk;
    return chunk;
  }

  get hasInput(): boolean {
    return this.#hasInput;
  }

  /** Files that it is about. */
  get paths(): readonly string[] {
    const changed = this.#content.map((each) => text(fields(each)["path"])).filter((path) => path !== "");
    return changed.length > 0 ? [...new Set(changed)] : this.#locations;
  }

  /** What it makes of a file, as far as it tells. */
  newText(path: string): string {
    const diff = this.#content.map(fields).find((each) => each["path"] === path);
    return text(diff?.["newText"]);
  }

  failed(status: string): boolean {
    return (
      status === "failed" ||
      this.refusal !== undefined ||
      (this.#exitCode !== undefined && this.#exitCode !== 0)
    );
  }

  /** What its model was told, as far as the agent says so. */
  result(): (TextPart | ImagePart)[] {
    if (this.outcome) return this.outcome.content;
    if (this.refusal !== undefined) return [{ type: "text", text: this.refusal }];
    const output = this.#output;
    if (typeof output === "string") return [{ type: "text", text: output }];
    const mcp = fields(fields(output)["result"])["content"] ?? fields(output)["content"];
    const parts = partsOf(list(Array.isArray(output) ? output : mcp));
    if (parts.length > 0) return parts;
    const refusal = text(fields(fields(output)["error"])["message"]) || text(fields(output)["error"]);
    if (refusal !== "") return [{ type: "text", text: refusal }];
    if (this.#terminal !== "") return [{ type: "text", text: this.#terminal }];
    const shown = this.#content.flatMap((each) => shownContent(fields(each)));
    if (shown.length > 0) return shown;
    return [{ type: "text", text: output === undefined ? "" : JSON.stringify(output) }];
  }

  #name(update: Fields, hostTools: ReadonlySet<string>): void {
    const input = fields(update["rawInput"]);
    const meta = fields(update["_meta"]);
    const names = [update["name"], fields(meta["claudeCode"])["toolName"], update["title"]].map(text);
    // The title of a command is the command: `pagurus note` is none of ours.
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
    const given = fields(rawInput);
    const isWrapped = this.hostTool !== undefined && typeof given["server"] === "string";
    const input = isWrapped ? fields(given["arguments"]) : given;
    if (Object.keys(input).length > 0 || isWrapped) {
      this.#hasInput = true;
      this.part.arguments = { ...input };
    } else if (!this.#hasInput && this.hostTool === undefined) {
      // An agent that tells no input tells at least what it is about.
      this.part.arguments = {
        ...(this.title === "" ? {} : { title: this.title }),
        ...(this.#locations.length === 0 ? {} : { paths: this.#locations }),
      };
    }
  }
}

/** The host's tool that a call is of, by any of the ways in which agents say so. */
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
    const { type, text: words, data, mimeType } = fields(block);
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
  return [{ type: "text", text: `${text(path)}\n${lines("-", text(oldText))}${lines("+", text(newText))}` }];
}
