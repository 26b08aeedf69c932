/**
 * Files that an answer hands over: a line `MEDIA: path` names a file of the workspace. Read with the permission of the agent, so a path
 * outside of the workspace, a closed place or a key is refused.
 */
import { errorText } from "@pagurus/core/data/error-text";
import { basename, extname } from "node:path";
import { agentSettings } from "@pagurus/core/config/agent-settings";
import { closedFiles } from "@pagurus/core/config/closed-files";
import { resolveHome } from "@pagurus/core/config/config-paths";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import type { Attachment } from "@pagurus/contract/channel/channel";
import type { AdditionalContext } from "@pagurus/contract/fragment";
import { openInPlace } from "@pagurus/core/platform/open-in-place";
import { imageKind } from "@pagurus/host/tool/files/image-kind";
import { closedPlaces } from "@pagurus/host/tool/places/closed-places";
import { openWorkspace } from "@pagurus/host/tool/places/workspace-boundary";
import { ToolError } from "@pagurus/host/tool/tool-error";
import { createPermissions } from "@pagurus/host/tool/tool-permission";
import type { Work } from "@pagurus/inbox/work";
import { codeLines } from "@pagurus/core/data/code-lines";
import { shownName } from "@pagurus/core/data/plain-text";

/** Largest file that is handed over, bytes. */
export const MOST_FILE_BYTES = 10 * 1024 * 1024;
const MOST_FILES = 5;
const MEDIA = /^MEDIA:[ \t]*(\S.*?)[ \t]*$/;

/** The model's instruction; the same text in each turn, so that it is added to a conversation once. */
const MEDIA_HINT =
  "The answer is sent as a chat message. To send a file of the workspace with it, write a line of its own: MEDIA: relative/path";

/** Separates the lines that name files from the text. Lines in fenced blocks are text. */
export function withoutMedia(text: string): { text: string; paths: string[] } {
  if (!text.includes("MEDIA:")) return { text, paths: [] };
  const paths: string[] = [];
  const isCode = codeLines();
  const kept = text.split("\n").filter((line) => {
    const [, path] = isCode(line) ? [] : (MEDIA.exec(line) ?? []);
    if (path !== undefined) paths.push(path.replace(/^(["'`])(.+)\1$/, "$2"));
    return path === undefined;
  });
  return {
    text: kept
      .join("\n")
      .replaceAll(/\n{3,}/g, "\n\n")
      .trim(),
    paths,
  };
}

const MIME_TYPES: Readonly<Record<string, string>> = {
  ".csv": "text/csv",
  ".html": "text/html",
  ".json": "application/json",
  ".md": "text/markdown",
  ".pdf": "application/pdf",
  ".txt": "text/plain",
  ".zip": "application/zip",
};

export interface FilePlace {
  config: PagurusConfig;
  env: Readonly<Record<string, string | undefined>>;
  agentId: string;
  /** Folder of the turn. */
  cwd: string;
}

async function readFile(path: string, { config, env, agentId, cwd }: FilePlace): Promise<Attachment> {
  const workspace = openWorkspace(cwd);
  const { root } = workspace;
  const home = resolveHome(env);
  const { permission } = agentSettings(config, agentId);
  const files = closedFiles(config, home, env);
  const places = closedPlaces({ root, home, files, readable: [], unmask: permission.unmask ?? [], env });
  const at = workspace.locate(path);
  const permissions = createPermissions({
    permission: { ...permission, mode: "deny" },
    root,
    places: () => places,
  });
  const access = { kind: "read", path: at } as const;
  if (!at.inside) throw new ToolError("it is outside the workspace");
  const refusal = await permissions.refusal("read", { access }, AbortSignal.timeout(1_000));
  if (refusal !== undefined) throw new ToolError("it may not be read");
  const file = await openInPlace(at.path);
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw new ToolError("it is not a regular file");
    if (stat.size > MOST_FILE_BYTES)
      throw new ToolError(`it has ${stat.size} bytes, and ${MOST_FILE_BYTES} is the most`);
    const bytes = await file.readFile();
    const name = shownName(basename(at.path)) || "file";
    const mimeType =
      imageKind(bytes) ?? MIME_TYPES[extname(name).toLowerCase()] ?? "application/octet-stream";
    return { name, mimeType, bytes };
  } finally {
    await file.close();
  }
}

function reasonOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  if (code === "ENOENT" || code === "ENOTDIR") return "there is no such file";
  if (typeof code === "string") return `the system says ${code}`;
  return errorText(error);
}

/** The answer's text without its `MEDIA:` lines, and the files; one that cannot be sent is named in the text. Never throws. */
export async function handedFiles(
  answer: string,
  place: FilePlace,
): Promise<{ text: string; files: Attachment[] }> {
  const { text, paths } = withoutMedia(answer);
  const files: Attachment[] = [];
  const notes: string[] = [];
  for (const path of new Set(paths)) {
    try {
      if (files.length >= MOST_FILES) throw new ToolError(`an answer has at most ${MOST_FILES} files`);
      files.push(await readFile(path, place));
    } catch (error) {
      const reason = reasonOf(error).replace(/\.$/, "");
      notes.push(`(The file ${JSON.stringify(shownName(path))} was not sent: ${reason}.)`);
    }
  }
  return { text: [text, ...notes].filter((part) => part !== "").join("\n\n"), files };
}

/** Context of a turn whose answer may hand files over. */
export const HANDING_OVER: AdditionalContext = { channel: { value: MEDIA_HINT, kind: "application" } };

/** Whether the turn has that context. */
export function handsOver({ request }: Work): boolean {
  const context = "additionalContext" in request ? request.additionalContext : undefined;
  return context?.["channel"] !== undefined;
}

/** Folder of a turn that the inbox runs. */
export function folderOf({ request }: Work, otherwise: string): string {
  return "cwd" in request && request.cwd !== undefined ? request.cwd : otherwise;
}
