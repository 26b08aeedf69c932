import { stringArgument } from "../arguments.ts";
import { replaceFile } from "./file-access.ts";
import { isHarmlessPackage } from "./package-change.ts";
import { textOutcome, type HostTool } from "../host-tool.ts";
import { linesOf, writePreview } from "./change-preview.ts";
import { ToolError } from "../tool-error.ts";

export const writeTool: HostTool = {
  onlyReads: false,
  name: "write",
  description: "Create or overwrite a file as a whole; parent folders are made. Use edit for changes.",
  parameters: {
    type: "object",
    properties: { path: { type: "string" }, content: { type: "string" } },
    required: ["path", "content"],
    additionalProperties: false,
  },
  plan(params, workspace) {
    const at = workspace.locate(stringArgument(params, "path") ?? "");
    const content = stringArgument(params, "content") ?? "";
    if (at.path === workspace.root) throw new ToolError("The path names the workspace itself, not a file.");
    return {
      access: { kind: "write", path: at, harmless: isHarmlessPackage(at.path, () => content) },
      preview: () => writePreview(at, content),
      async run({ signal }) {
        signal.throwIfAborted();
        const bytes = Buffer.from(content, "utf8");
        const { existed } = await replaceFile(at, bytes);
        const lines = linesOf(content).length;
        const done = existed ? "Overwrote" : "Created";
        return textOutcome(`${done} "${at.shown}": ${lines} lines, ${bytes.length} bytes.`, {
          lines,
          bytes: bytes.length,
          created: !existed,
        });
      },
    };
  },
};
