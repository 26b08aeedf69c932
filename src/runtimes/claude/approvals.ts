/** Whether Claude Code's own tools may do what they are about to do, which the host's hooks and permission rules decide. */
import type { HarnessTurn } from "../../contract/harness.ts";
import { fields, text, type Fields } from "./fields.ts";

/** A call as the host's own tool of that kind would be called. */
function asHostCall(name: string, input: Fields): { name: string; arguments: Record<string, unknown> } {
  const path = text(input["file_path"]) || text(input["path"]) || text(input["notebook_path"]);
  switch (name) {
    case "Bash":
      return { name: "shell", arguments: { command: text(input["command"]) } };
    case "Read":
      return { name: "read", arguments: { path } };
    case "Write":
      return { name: "write", arguments: { path, content: text(input["content"]) } };
    case "Edit":
      // An edit without old words makes the file.
      return text(input["old_string"]) === ""
        ? { name: "write", arguments: { path, content: text(input["new_string"]) } }
        : {
            name: "edit",
            arguments: {
              path,
              old_text: text(input["old_string"]),
              new_text: text(input["new_string"]),
              ...(input["replace_all"] === true ? { replace_all: true } : {}),
            },
          };
    case "Glob":
      return {
        name: "glob",
        arguments: { pattern: text(input["pattern"]), ...(path === "" ? {} : { path }) },
      };
    case "Grep":
      return {
        name: "search",
        arguments: { pattern: text(input["pattern"]), ...(path === "" ? {} : { path }) },
      };
    default:
      return { name, arguments: { ...input } };
  }
}

/** Answers `can_use_tool`; whatever else is asked is refused. */
export async function answerRequest(turn: HarnessTurn, request: Fields): Promise<object> {
  if (request["subtype"] !== "can_use_tool")
    throw new Error(`Pagurus does not answer ${text(request["subtype"]) || "this request"}.`);
  const input = fields(request["input"]);
  const id = text(request["tool_use_id"]);
  const call = { type: "toolCall" as const, id, ...asHostCall(text(request["tool_name"]), input) };
  const refusal = await turn.tools.permits(call, turn.signal);
  if (turn.signal.aborted) return { behavior: "deny", message: "The turn was aborted.", interrupt: true };
  return refusal === undefined
    ? { behavior: "allow", updatedInput: input }
    : { behavior: "deny", message: refusal };
}
