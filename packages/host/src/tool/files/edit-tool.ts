import type { ToolOutcome } from "@pagurus/contract/harness/tool";
import { flagArgument, stringArgument } from "../arguments.ts";
import { isBinary, replaceFile, withFile } from "./file-access.ts";
import { textOutcome, type HostTool } from "../host-tool.ts";
import { isHarmlessPackage } from "./package-change.ts";
import { nearMatches } from "./near-match.ts";
import { editPreview } from "./change-preview.ts";
import { ToolError } from "../tool-error.ts";
import type { WorkspacePath } from "../places/workspace-boundary.ts";

const MOST_BYTES = 16 * 1024 * 1024;
const BYTE_ORDER_MARK = "\uFEFF";

interface Edit {
  oldText: string;
  newText: string;
  all: boolean;
}

async function readWhole(at: WorkspacePath): Promise<string> {
  const bytes = await withFile(at, async (file, size) => {
    if (size > MOST_BYTES) {
      throw new ToolError(`"${at.shown}" has ${size} bytes; ${MOST_BYTES} is the most that edit changes.`);
    }
    return await file.readFile();
  });
  if (isBinary(bytes)) throw new ToolError(`"${at.shown}" is a binary file; edit changes text only.`);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ToolError(
      `"${at.shown}" is not UTF-8, so edit would damage it; change it with a shell command.`,
    );
  }
}

/** Every occurrence of `wanted`, without overlaps. */
function placesOf(text: string, wanted: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length))
    places.push(at);
  return places;
}

function lineAt(text: string, place: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < place; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

function usesCrlf(text: string): boolean {
  const crlf = placesOf(text, "\r\n").length;
  return crlf > 0 && crlf * 2 >= placesOf(text, "\n").length;
}

function withCrlf(text: string): string {
  return text.replaceAll(/\r?\n/g, "\r\n");
}

function notFound(text: string, edit: Edit, at: WorkspacePath): ToolError {
  const start = `"old_text" is not in "${at.shown}"`;
  if (edit.oldText.split("\n").every((line) => line === "" || /^\s*\d+\t/.test(line))) {
    return new ToolError(`${start}: leave out the line numbers that read puts before each line.`);
  }
  const near = nearMatches(text, edit.oldText);
  if (near.length === 0)
    return new ToolError(`${start}, and nothing there resembles it. Read the file again.`);
  const shown = near.map(({ line, text: found }) => `line ${line}:\n${found}`).join("\n");
  return new ToolError(`${start}. Every character counts, white space too. Closest:\n${shown}`);
}

/** The text after the edit, with the file's line ends. */
function applyEdit(text: string, edit: Edit, at: WorkspacePath): { text: string; lines: number[] } {
  const mark = text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : "";
  const body = text.slice(mark.length);
  const crlf = usesCrlf(body);
  let wanted = edit.oldText;
  let places = placesOf(body, wanted);
  if (places.length === 0 && wanted.includes("\n") && body.includes("\r\n")) {
    wanted = withCrlf(wanted);
    places = placesOf(body, wanted);
  }
  if (places.length === 0) throw notFound(body, edit, at);
  const lines = places.map((place) => lineAt(body, place));
  if (places.length > 1 && !edit.all) {
    const where = lines.slice(0, 10).join(", ") + (lines.length > 10 ? ", …" : "");
    throw new ToolError(
      `"old_text" is ${places.length} times in "${at.shown}" (lines ${where}); ` +
        `give more of the text around it, or set "replace_all".`,
    );
  }
  const replacement = crlf ? withCrlf(edit.newText) : edit.newText;
  return { text: mark + body.split(wanted).join(replacement), lines };
}

async function runEdit(at: WorkspacePath, edit: Edit): Promise<ToolOutcome> {
  const before = await readWhole(at);
  const after = applyEdit(before, edit, at);
  if (after.text === before) throw new ToolError("The edit changes nothing.");
  await replaceFile(at, Buffer.from(after.text, "utf8"));
  const count = after.lines.length;
  const where = count === 1 ? `line ${after.lines[0]}` : `${count} places`;
  return textOutcome(`Edited "${at.shown}" at ${where}.`, { replacements: count, line: after.lines[0] });
}

export const editTool: HostTool = {
  onlyReads: false,
  name: "edit",
  description: "Replace an exact piece of text in a file. It must occur once, unless replace_all is set.",
  parameters: {
    type: "object",
    properties: {
      path: { type: "string" },
      old_text: { type: "string", description: "As in the file, white space included" },
      new_text: { type: "string" },
      replace_all: { type: "boolean" },
    },
    required: ["path", "old_text", "new_text"],
    additionalProperties: false,
  },
  plan(params, workspace) {
    const at = workspace.locate(stringArgument(params, "path") ?? "");
    const edit = {
      oldText: stringArgument(params, "old_text") ?? "",
      newText: stringArgument(params, "new_text") ?? "",
      all: flagArgument(params, "replace_all"),
    };
    if (edit.oldText === "") throw new ToolError(`"old_text" is empty; use write to make a file.`);
    if (edit.oldText === edit.newText) throw new ToolError(`"old_text" and "new_text" are the same.`);
    return {
      access: {
        kind: "write",
        path: at,
        harmless: isHarmlessPackage(at.path, (before) => applyEdit(before, edit, at).text),
      },
      preview: () => editPreview(edit),
      run({ signal }) {
        signal.throwIfAborted();
        return runEdit(at, edit);
      },
    };
  },
};
