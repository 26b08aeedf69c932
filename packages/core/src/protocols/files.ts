/** Files and sounds in the requests of clients: read from the form of any protocol, and written in that of another. */
import type { TextPart } from "@pagurus/contract/message";
import type { ModelApi } from "@pagurus/contract/model";
import { type Fields, recordOf, stringOf } from "../data/record-fields.ts";
import { dataUrlImage } from "./protocol-parts.ts";
import { defined } from "../data/defined.ts";

export interface FileData {
  /** Base64. */
  data: string;
  mimeType: string;
  name?: string;
}

/** A file between two protocols: a text for everyone that does not know files. Never stored. */
interface FilePart extends TextPart {
  file: FileData;
}

/** Kinds of sounds, by the names of OpenAI. */
const SOUNDS: Readonly<Record<string, string>> = { wav: "audio/wav", mp3: "audio/mpeg" };

function dataUrlFile(url: unknown, name: unknown): FileData | undefined {
  const read = dataUrlImage(stringOf(url));
  if (!read) return undefined;
  return { data: read.data, mimeType: read.mimeType, ...(stringOf(name) ? { name: stringOf(name) } : {}) };
}

/** The file or sound of a part; undefined for any other part, and for a file that is an address or an id. */
export function readFile(part: Fields): FileData | undefined {
  const sound = recordOf(part["input_audio"]);
  const file = recordOf(part["file"]);
  const source = recordOf(part["source"]);
  switch (part["type"]) {
    case "file":
      return dataUrlFile(file["file_data"], file["filename"]);
    case "input_file":
      return dataUrlFile(part["file_data"], part["filename"]);
    case "input_audio": {
      const mimeType = SOUNDS[stringOf(sound["format"])];
      return mimeType === undefined ? undefined : { data: stringOf(sound["data"]), mimeType };
    }
    case "document":
      if (source["type"] !== "base64") return undefined;
      return {
        data: stringOf(source["data"]),
        mimeType: stringOf(source["media_type"]),
        ...(stringOf(part["title"]) ? { name: stringOf(part["title"]) } : {}),
      };
    default:
      return undefined;
  }
}

export function filePart(file: FileData): TextPart {
  const part: FilePart = { type: "text", text: `[${file.name ?? file.mimeType} left out]`, file };
  return part;
}

export function fileOf(part: TextPart): FileData | undefined {
  return (part as Partial<FilePart>).file;
}

function soundOf({ mimeType }: FileData): string | undefined {
  return Object.keys(SOUNDS).find((format) => SOUNDS[format] === mimeType);
}

/** The part of a request of the protocol; undefined if it has none for such a file. */
export function fileFields(api: ModelApi, file: FileData): Fields | undefined {
  const { data, mimeType, name } = file;
  const isSound = mimeType.startsWith("audio/");
  const filename = name ?? (mimeType === "application/pdf" ? "file.pdf" : "file");
  const url = `data:${mimeType};base64,${data}`;
  switch (api) {
    case "google-generative-ai":
      return { inlineData: { mimeType, data } };
    case "anthropic-messages":
      if (mimeType !== "application/pdf") return undefined;
      return {
        type: "document",
        source: { type: "base64", media_type: mimeType, data },
        ...defined({ title: name }),
      };
    case "openai-completions": {
      const format = soundOf(file);
      if (format !== undefined) return { type: "input_audio", input_audio: { data, format } };
      return isSound ? undefined : { type: "file", file: { filename, file_data: url } };
    }
    case "openai-responses":
      return isSound ? undefined : { type: "input_file", filename, file_data: url };
    default:
      return undefined;
  }
}
