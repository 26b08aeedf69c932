/** Files and images that a user gives with a prompt: `@path` mentions and `--image`. */
import { constants, statSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { resolve } from "node:path";
import { PagurusError } from "../contract/errors.ts";
import type { InputPart } from "../contract/run.ts";
import { isBinary, textDecoderFor } from "./file-access.ts";
import { imageKind, MOST_IMAGE_BYTES } from "./image-kind.ts";
import { systemCode, ToolError } from "./tool-error.ts";
import { openWorkspace, type Workspace, type WorkspacePath } from "./workspace.ts";

const MOST_TEXT_BYTES = 256 * 1024;
/** `@path` or `@"path with spaces"` at the start of a word. */
const MENTION = /(?<![^\s("'`[{<,;])@(?:"([^"\n]{1,1000})"|([^\s"'`<>]{1,1000}))/g;
/** A word that somebody means as a path: with a slash, or an ending like that of a file. */
const LIKE_A_PATH = /[/\\]|[^.]\.[A-Za-z][A-Za-z0-9]{0,9}$/;
const TRAILING = /[.,;:!?)\]}]$/;

function invalid(name: string, reason: string): PagurusError {
  return new PagurusError("attachment_invalid", `The file "${name}" cannot be attached: ${reason}.`, {
    details: { path: name },
  });
}

function isErrorWithoutFile(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "ENAMETOOLONG", "ELOOP", "EISDIR"].includes(systemCode(error) ?? "");
}

/** Opens a regular file; undefined where there is none (or a folder). */
async function openFile(path: string, name: string): Promise<FileHandle | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = await file.stat();
    if (stat.isFile()) return file;
    await file.close();
    if (stat.isDirectory()) return undefined;
    throw invalid(name, "it is not a regular file");
  } catch (error) {
    if (error instanceof PagurusError) throw error;
    if (isErrorWithoutFile(error)) return undefined;
    throw invalid(name, `the system says ${systemCode(error) ?? "nothing"}`);
  }
}

async function readPart(file: FileHandle, name: string, want: "any" | "image"): Promise<InputPart> {
  try {
    const { size } = await file.stat();
    const start = Buffer.alloc(16);
    const { bytesRead } = await file.read(start, 0, start.length, 0);
    const mimeType = imageKind(start.subarray(0, bytesRead));
    const most = mimeType ? MOST_IMAGE_BYTES : MOST_TEXT_BYTES;
    if (want === "image" && !mimeType) throw invalid(name, "it is not a PNG, JPEG, GIF or WebP image");
    if (size > most) throw invalid(name, `it has ${size} bytes and ${most} is the most`);
    const bytes = Buffer.alloc(size);
    const read = await file.read(bytes, 0, size, 0);
    const content = bytes.subarray(0, read.bytesRead);
    if (mimeType) return { type: "image", data: content.toString("base64"), mimeType };
    if (isBinary(content)) throw invalid(name, "it is neither text nor an image");
    const text = textDecoderFor(content).decode(content);
    const quoted = name.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
    return {
      type: "text",
      text: `<file path="${quoted}">\n${text}${text.endsWith("\n") ? "" : "\n"}</file>`,
    };
  } finally {
    await file.close();
  }
}

/** The spellings of a mention, with less and less of the punctuation that may end its sentence. */
function spellings(written: string): string[] {
  const found = [written];
  for (let name = written; TRAILING.test(name);) {
    name = name.slice(0, -1);
    if (name !== "") found.push(name);
  }
  return found;
}

function locate(workspace: Workspace, name: string): WorkspacePath | undefined {
  try {
    return workspace.locate(name);
  } catch (error) {
    if (error instanceof ToolError) return undefined;
    throw error;
  }
}

type Mentioned = { file: FileHandle; at: WorkspacePath } | { missing: string };

/** The file that one spelling of a mention names inside the workspace, or why there is none. */
async function openMention(workspace: Workspace, name: string): Promise<Mentioned> {
  const at = locate(workspace, name);
  if (!at) return { missing: "the path cannot be resolved" };
  if (!at.inside) return { missing: "it is outside the workspace" };
  const file = await openFile(at.path, at.shown);
  if (file) return { file, at };
  const folder = statSync(at.path, { throwIfNoEntry: false })?.isDirectory() === true;
  return { missing: folder ? "it is a folder" : "there is no such file in the workspace" };
}

/**
 * Reads what a prompt mentions and the given images. A mention counts when it names a file inside `cwd`; anything
 * else (`@user`, a file elsewhere, a folder) stays plain text, since a prompt may quote words of others. `images`
 * may lie anywhere. The prompt itself is returned unchanged. `notices` are sentences about words that look like
 * paths and were not attached. Throws `attachment_invalid`.
 */
export async function readAttachments(
  prompt: string,
  options: { cwd: string; images?: readonly string[] | undefined },
): Promise<{ prompt: string; parts: InputPart[]; notices: string[] }> {
  const workspace = openWorkspace(options.cwd);
  const parts: InputPart[] = [];
  const notices = new Set<string>();
  const seen = new Set<string>();
  for (const match of prompt.matchAll(MENTION)) {
    let notice: string | undefined;
    for (const name of match[1] === undefined ? spellings(match[2] ?? "") : [match[1]]) {
      const mentioned = await openMention(workspace, name);
      if ("missing" in mentioned) {
        // The last spelling is the one without the punctuation of the sentence.
        notice = LIKE_A_PATH.test(name) ? `"@${name}" is not attached: ${mentioned.missing}.` : undefined;
        continue;
      }
      notice = undefined;
      const { file, at } = mentioned;
      if (seen.has(at.path)) await file.close();
      else parts.push(await readPart(file, at.shown, "any"));
      seen.add(at.path);
      break;
    }
    if (notice !== undefined) notices.add(notice);
  }
  for (const image of options.images ?? []) {
    const file = await openFile(resolve(options.cwd, image), image);
    if (!file) throw invalid(image, "there is no such file");
    parts.push(await readPart(file, image, "image"));
  }
  return { prompt, parts, notices: [...notices] };
}
