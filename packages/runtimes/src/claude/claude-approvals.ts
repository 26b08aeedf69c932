/** Permission for Claude Code's own tools, decided by the host's hooks and permission rules. */
import { PagurusError } from "@pagurus/contract/errors";
import type { HarnessTurn } from "@pagurus/contract/harness/harness";
import { type Fields, recordOf, stringOf } from "@pagurus/core/data/record-fields";

/** Converts a call into the equivalent call of the host's own tool. */
function asHostCall(name: string, input: Fields): { name: string; arguments: Record<string, unknown> } {
  const path = stringOf(input["file_path"]) || stringOf(input["path"]) || stringOf(input["notebook_path"]);
  switch (name) {
    case "Bash":
      return { name: "shell", arguments: { command: stringOf(input["command"]) } };
    case "Read":
      return { name: "read", arguments: { path } };
    case "Write":
      return { name: "write", arguments: { path, content: stringOf(input["content"]) } };
    case "Edit":
      // An edit without old text creates the file.
      return stringOf(input["old_string"]) === ""
        ? { name: "write", arguments: { path, content: stringOf(input["new_string"]) } }
        : {
            name: "edit",
            arguments: {
              path,
              old_text: stringOf(input["old_string"]),
              new_text: stringOf(input["new_string"]),
              ...(input["replace_all"] === true ? { replace_all: true } : {}),
            },
          };
    case "Glob":
      return {
        name: "glob",
        arguments: { pattern: stringOf(input["pattern"]), ...(path === "" ? {} : { path }) },
      };
    case "Grep":
      return {
        name: "search",
        arguments: { pattern: stringOf(input["pattern"]), ...(path === "" ? {} : { path }) },
      };
    default:
      return { name, arguments: { ...input } };
  }
}

/** Answers `can_use_tool`; refuses every other request. */
export async function answerRequest(turn: HarnessTurn, request: Fields): Promise<object> {
  if (request["subtype"] !== "can_use_tool")
    throw new PagurusError(
      "runtime_failed",
      `Pagurus does not answer ${stringOf(request["subtype"]) || "this request"}.`,
    );
  const input = recordOf(request["input"]);
  const id = stringOf(request["tool_use_id"]);
  const call = { type: "toolCall" as const, id, ...asHostCall(stringOf(request["tool_name"]), input) };
  const refusal = await turn.tools.permits(call, turn.signal);
  if (turn.signal.aborted) return { behavior: "deny", message: "The turn was aborted.", interrupt: true };
  return refusal === undefined
    ? { behavior: "allow", updatedInput: input }
    : { behavior: "deny", message: refusal };
}
