/** Files and images attached to a prompt: `@path` mentions and `--image`. */
import { constants, statSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { resolve } from "node:path";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import { dataPart } from "@pagurus/contract/input-data";
import type { InputPart } from "@pagurus/contract/host/run";
import { closedFiles } from "@pagurus/core/config/closed-files";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { closedPlaces, type ClosedPlaces } from "../places/closed-places.ts";
import { openInPlace } from "@pagurus/core/platform/open-in-place";
import { isBinary, textDecoderFor } from "./file-access.ts";
import { imageKind, MOST_IMAGE_BYTES } from "./image-kind.ts";
import { systemCode, ToolError } from "../tool-error.ts";
import { openWorkspace, type Workspace, type WorkspacePath } from "../places/workspace-boundary.ts";
import { currentEnv } from "@pagurus/core/platform/surroundings";

const MOST_TEXT_BYTES = 256 * 1024;
/** `@path` or `@"path with spaces"` at the start of a word. */
const MENTION = /(?<![^\s("'`[{<,;])@(?:"([^"\n]{1,1000})"|([^\s"'`<>]{1,1000}))/g;
/** A word that is probably meant as a path: with a slash, or a file extension. */
const LIKE_A_PATH = /[/\\]|[^.]\.[A-Za-z][A-Za-z0-9]{0,9}$/;
const LINES = /^([^:]+):([1-9]\d{0,8})(?:-([1-9]\d{0,8}))?$/;
const TRAILING = /[.,;:!?)\]}]$/;

function invalid(name: string, reason: string): PagurusError {
  return new PagurusError(
    "attachment_invalid",
    `The file "${name}" cannot be attached: ${reason}; name another file.`,
    {
      details: { path: name },
    },
  );
}

function isErrorWithoutFile(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "ENAMETOOLONG", "ELOOP", "EISDIR", "EMOVED"].includes(systemCode(error) ?? "");
}

/** Opens a regular file with `opening`; undefined if there is none (or a folder). */
async function openFile(opening: Promise<FileHandle>, name: string): Promise<FileHandle | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await opening;
    const stat = await file.stat();
    if (stat.isFile()) return file;
    await file.close();
    if (stat.isDirectory()) return undefined;
    throw invalid(name, "it is not a regular file");
  } catch (error) {
    if (isPagurusError(error)) throw error;
    if (isErrorWithoutFile(error)) return undefined;
    throw invalid(name, `the system says ${systemCode(error) ?? "nothing"}`);
  }
}

function linesOf(text: string, name: string, { first, last }: Range): string {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  if (first > last) throw invalid(name, `its lines ${first}-${last} are the wrong way round`);
  if (first > lines.length) throw invalid(name, `it has ${lines.length} lines, and ${first} is after them`);
  return `${lines.slice(first - 1, last).join("\n")}\n`;
}

async function readPart(
  file: FileHandle,
  name: string,
  want: "any" | "image",
  range?: Range,
): Promise<InputPart> {
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
    if (!range) return dataPart({ path: name }, text);
    const { first, last } = range;
    const path = `${name}:${first === last ? first : `${first}-${last}`}`;
    return dataPart({ path }, linesOf(text, name, range));
  } finally {
    await file.close();
  }
}

/** Spellings of a mention, stripped of more and more trailing punctuation. */
function spellings(written: string): string[] {
  const found = [written];
  for (let name = written; TRAILING.test(name);) {
    name = name.slice(0, -1);
    if (name !== "") found.push(name);
  }
  return found;
}

function locateAttachment(workspace: Workspace, name: string): WorkspacePath | undefined {
  try {
    return workspace.locate(name);
  } catch (error) {
    if (error instanceof ToolError) return undefined;
    throw error;
  }
}

/** Range of lines, 1-based, inclusive. */
interface Range {
  first: number;
  last: number;
}

type Mentioned = { file: FileHandle; at: WorkspacePath; range?: Range | undefined } | { missing: string };

/** `path:12` or `path:3-9` without its lines; undefined for a name without any. */
function withoutLines(name: string): { path: string; range: Range } | undefined {
  const [, path = "", first, last = first] = LINES.exec(name) ?? [];
  return path === "" ? undefined : { path, range: { first: Number(first), last: Number(last) } };
}

interface Searched {
  workspace: Workspace;
  places: ClosedPlaces;
}

/** The file inside the workspace that a spelling names, or why there is none. */
async function openMention(searched: Searched, name: string): Promise<Mentioned> {
  const { workspace, places } = searched;
  const at = locateAttachment(workspace, name);
  if (!at) return { missing: "the path cannot be resolved" };
  if (!at.inside) return { missing: "it is outside the workspace" };
  if (places.refusal("read", at.path) !== undefined || places.isSecret(at.path))
    return { missing: "keys are kept there" };
  const file = await openFile(openInPlace(at.path), at.shown);
  if (file) return { file, at };
  const lines = withoutLines(name);
  if (lines) {
    const found = await openMention(searched, lines.path);
    return "missing" in found ? found : { ...found, range: lines.range };
  }
  const folder = statSync(at.path, { throwIfNoEntry: false })?.isDirectory() === true;
  return { missing: folder ? "it is a folder" : "there is no such file in the workspace" };
}

function searchedIn(cwd: string, env: Record<string, string | undefined>): Searched {
  const workspace = openWorkspace(cwd);
  const home = resolveHome(env);
  const files = closedFiles({}, home, env);
  const places = closedPlaces({
    root: workspace.root,
    home,
    files,
    readable: [],
    unmask: [],
    env,
  });
  return { workspace, places };
}

/**
 * Reads the mentions of a prompt and the passed images. A mention counts when it names a file inside `cwd`; anything else
 * (`@user`, a file elsewhere, a folder) stays plain text, since a prompt may quote others. `path:3-9` attaches these lines.
 * `images` may be anywhere. The prompt itself is returned unchanged. `notices` are sentences about words that look like paths
 * and were not attached. Throws `attachment_invalid`.
 */
export async function readAttachments(
  prompt: string,
  options: {
    cwd: string;
    images?: readonly string[] | undefined;
    env?: Record<string, string | undefined>;
  },
): Promise<{ prompt: string; parts: InputPart[]; notices: string[] }> {
  const searched = searchedIn(options.cwd, options.env ?? currentEnv());
  const parts: InputPart[] = [];
  const notices = new Set<string>();
  const seen = new Set<string>();
  for (const match of prompt.matchAll(MENTION)) {
    let notice: string | undefined;
    for (const name of match[1] === undefined ? spellings(match[2] ?? "") : [match[1]]) {
      const mentioned = await openMention(searched, name);
      if ("missing" in mentioned) {
        // The last spelling has no trailing punctuation.
        const path = withoutLines(name)?.path ?? name;
        notice = LIKE_A_PATH.test(path) ? `"@${name}" is not attached: ${mentioned.missing}.` : undefined;
        continue;
      }
      notice = undefined;
      const { file, at, range } = mentioned;
      const key = range ? `${at.path}:${range.first}-${range.last}` : at.path;
      if (seen.has(key)) await file.close();
      else parts.push(await readPart(file, at.shown, "any", range));
      seen.add(key);
      break;
    }
    if (notice !== undefined) notices.add(notice);
  }
  for (const image of options.images ?? []) {
    // The user named it, so links are followed.
    const path = resolve(options.cwd, image);
    const file = await openFile(open(path, constants.O_RDONLY | constants.O_NONBLOCK), image);
    if (!file) throw invalid(image, "there is no such file");
    parts.push(await readPart(file, image, "image"));
  }
  return { prompt, parts, notices: [...notices] };
}
