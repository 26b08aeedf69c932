/** Files that came with a message, as parts of a turn: images and texts within limits; the others are named. */
import { errorText } from "@pagurus/core/data/error-text";
import type { Attachment, IncomingMessage } from "@pagurus/contract/channel/channel";
import type { InputPart } from "@pagurus/contract/host/run";
import { dataPart } from "@pagurus/contract/input-data";
import { isBinary, textDecoderFor } from "@pagurus/host/tool/files/file-access";
import { imageKind, MOST_IMAGE_BYTES } from "@pagurus/host/tool/files/image-kind";
import { shownName } from "@pagurus/core/data/plain-text";

/** Files of one message that are looked at. */
const MOST_FILES = 10;
const MOST_TEXT_BYTES = 256 * 1024;
/** All files of one message that become parts, bytes. */
const MOST_BYTES = 12 * 1024 * 1024;
/** Time for files that have to be fetched, ms. */
const FETCH_MS = 60_000;
/** Origin of the host's own notes about files. */
const NOTES = "the channel";

/** The text of a file; undefined for what is no text. */
function textOf(bytes: Uint8Array, mimeType: string): string | undefined {
  if (isBinary(bytes)) return undefined;
  const decoder = textDecoderFor(bytes);
  const isDeclared = mimeType.toLowerCase().startsWith("text/");
  if (isDeclared || decoder.encoding !== "utf-8") return decoder.decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // Bytes of a format of its own, such as PDF.
    return undefined;
  }
}

/** The part, or why there is none. */
function attachmentPart({ mimeType, bytes }: Attachment, name: string, left: number): InputPart | string {
  const image = imageKind(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const most = Math.min(left, image === undefined ? MOST_TEXT_BYTES : MOST_IMAGE_BYTES);
  if (bytes.byteLength > most) return `it has ${bytes.byteLength} bytes, and ${most} is the most here`;
  if (image !== undefined)
    return { type: "image", data: Buffer.from(bytes).toString("base64"), mimeType: image };
  const text = textOf(bytes, mimeType);
  return text === undefined
    ? `it is neither text nor an image that models accept, and has ${bytes.byteLength} bytes`
    : dataPart({ path: name }, text);
}

async function fetched(
  message: IncomingMessage,
): Promise<{ files: readonly Attachment[]; failure?: string }> {
  try {
    return { files: (await message.fetchAttachments?.(AbortSignal.timeout(FETCH_MS))) ?? [] };
  } catch (error) {
    const failure = errorText(error);
    return { files: [], failure: `A file of this message could not be fetched: ${failure.slice(0, 300)}` };
  }
}

/** The parts of a message's files, and notes about those that are not shown. Never throws. */
export async function receivedFiles(message: IncomingMessage): Promise<InputPart[]> {
  const { files, failure } = await fetched(message);
  const all = [...(message.attachments ?? []), ...files];
  const parts: InputPart[] = [];
  const notes: string[] = failure === undefined ? [] : [failure];
  let left = MOST_BYTES;
  for (const file of all.slice(0, MOST_FILES)) {
    const name = shownName(file.name) || "file";
    const part = attachmentPart(file, name, left);
    if (typeof part === "string")
      notes.push(`The file ${JSON.stringify(name)} came with this message and is not shown: ${part}.`);
    else {
      parts.push(part);
      left -= file.bytes.byteLength;
    }
  }
  if (all.length > MOST_FILES) notes.push(`${all.length - MOST_FILES} further files are not shown.`);
  if (notes.length > 0) parts.push({ type: "text", text: `[${notes.join(" ")}]`, source: NOTES });
  return parts;
}
