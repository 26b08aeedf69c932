/**
 * Converts a client's prompt to the input of a turn. Text and links keep their order; embedded content follows as a part of its own,
 * like an attached file.
 */
import { fileURLToPath } from "node:url";
import type { ContentBlock, EmbeddedResourceResource } from "@agentclientprotocol/sdk";
import { PagurusError } from "@pagurus/contract/errors";
import { dataPart } from "@pagurus/contract/input-data";
import type { InputPart } from "@pagurus/contract/host/run";

/** Image types that models accept; any other would be refused in every later request too, since it stays in the conversation. */
const IMAGES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
/** Characters that base64 in lines does not have. */
const NO_BASE64 = /[^A-Za-z0-9+/=\s]|=\s*[^=\s]|={3}/;
const MOST_IMAGE_BYTES = 5 * 1024 * 1024;

export interface PromptInput {
  prompt: string;
  parts: InputPart[];
}

function refused(what: string): PagurusError {
  return new PagurusError("attachment_invalid", `${what} cannot be part of a prompt; send text or images.`);
}

/** The path of a file URI, else the URI unchanged. */
function placeOf(uri: string): string {
  if (!uri.startsWith("file:")) return uri;
  try {
    return fileURLToPath(uri);
  } catch {
    // Another host's file, or no path at all: the client's text is more useful than nothing.
    return uri;
  }
}

/** A mention in the running text. The model reads the file by its path, with its own tools. */
function mention(uri: string, name?: string): string {
  const place = placeOf(uri);
  return name === undefined || place.endsWith(name) ? `@${place}` : `@${place} (${name})`;
}

function imagePart(encoded: string, type: string): InputPart {
  const mimeType = type.toLowerCase().replace(/^image\/jpg$/, "image/jpeg");
  if (!IMAGES.has(mimeType)) throw refused(`An image of the type "${mimeType.slice(0, 100)}"`);
  const isBase64 = !NO_BASE64.test(encoded);
  // Not by removing the blanks: with a million of them that takes a hundred times as long.
  const data = isBase64 && /\s/.test(encoded) ? Buffer.from(encoded, "base64").toString("base64") : encoded;
  if (!isBase64 || data === "") throw refused("An image that is not in base64");
  const bytes = Math.floor((data.length * 3) / 4);
  if (bytes > MOST_IMAGE_BYTES) throw refused(`An image of ${bytes} bytes, more than ${MOST_IMAGE_BYTES},`);
  return { type: "image", data, mimeType };
}

function embedded(resource: EmbeddedResourceResource): InputPart {
  const { uri } = resource;
  if ("text" in resource) {
    return dataPart({ path: placeOf(uri) }, resource.text);
  }
  const { mimeType, blob } = resource;
  if (mimeType?.startsWith("image/")) return imagePart(blob, mimeType);
  throw refused(`The resource "${uri.slice(0, 200)}", which is neither text nor an image,`);
}

/** Separates a mention from the surrounding text with spaces, and two texts with a blank line. */
function joined(before: string, piece: string, apart: string): string {
  const isApart = before === "" || /\s/.test(before.at(-1) ?? "") || /^\s/.test(piece);
  return isApart ? before + piece : before + apart + piece;
}

/** Throws `attachment_invalid` for content that models do not accept, `usage_invalid` for an empty prompt. */
export function readPrompt(blocks: readonly ContentBlock[]): PromptInput {
  let prompt = "";
  let apart = "";
  const parts: InputPart[] = [];
  const mentioned = (words: string): void => {
    prompt = joined(prompt, words, " ");
    apart = " ";
  };
  for (const block of blocks) {
    switch (block.type) {
      case "text":
        prompt = joined(prompt, block.text, apart);
        apart = "\n\n";
        break;
      case "resource_link":
        mentioned(mention(block.uri, block.name));
        break;
      case "resource":
        if ("text" in block.resource) mentioned(mention(block.resource.uri));
        parts.push(embedded(block.resource));
        break;
      case "image":
        parts.push(imagePart(block.data, block.mimeType));
        break;
      default:
        throw refused(`Content of the type "${block.type}"`);
    }
  }
  if (prompt.trim() === "" && parts.length === 0)
    throw new PagurusError("usage_invalid", "The prompt is empty; send text or an image.");
  return { prompt, parts };
}
