/** Files and pictures that a user drops, pastes or picks, as parts of the next message. */
import type { Turn } from "@pagurus/api/types";
import { bytes } from "../plain-text.ts";

export type Part = NonNullable<Turn["parts"]>[number];

export interface Attachment {
  id: number;
  name: string;
  part: Part;
}

/** Largest file that is sent with a message, bytes. */
const MOST_TEXT = 256 * 1024;
const MOST_IMAGE = 8 * 1024 * 1024;
const PICTURES = /^image\/(?:png|jpeg|gif|webp)$/;

/** In the form of files that the command line attaches. */
function fileText(name: string, text: string): string {
  const tag = text.includes("</file>") ? "file-1" : "file";
  return `<${tag} path="${name.replaceAll(/["\n]/g, " ")}">\n${text}\n</${tag}>`;
}

let made = 0;

function base64(data: Uint8Array): string {
  let text = "";
  for (let at = 0; at < data.length; at += 0x8000)
    text += String.fromCharCode(...data.subarray(at, at + 0x8000));
  return btoa(text);
}

/** Throws with a sentence for a file that cannot be sent. */
export async function attachmentOf(file: File): Promise<Attachment> {
  const name = file.name === "" ? "picture" : file.name;
  made += 1;
  const id = made;
  if (PICTURES.test(file.type)) {
    if (file.size > MOST_IMAGE)
      throw new Error(`${name} has ${bytes(file.size)}; a picture may have ${bytes(MOST_IMAGE)}.`);
    const data = base64(new Uint8Array(await file.arrayBuffer()));
    return { id, name, part: { type: "image", data, mimeType: file.type } };
  }
  if (file.size > MOST_TEXT)
    throw new Error(`${name} has ${bytes(file.size)}; put it into the folder and name it with @.`);
  const text = await file.text();
  if (text.includes("\u0000") || text.includes("\ufffd"))
    throw new Error(`${name} is neither text nor a picture; put it into the folder and name it with @.`);
  return { id, name, part: { type: "text", text: fileText(name, text), source: `file ${name}` } };
}
