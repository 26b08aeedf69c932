/** Writes bodies of requests to direct surfaces, and reads the image or text of their answers. */
import { randomUUID } from "node:crypto";
import { PagurusError } from "@pagurus/contract/errors";
import { parseJson, recordOf, recordsOf, stringOf } from "../../data/record-fields.ts";
import type { ResolvedModel } from "../provider-types.ts";
import type { SurfaceAnswer, SurfaceRequest } from "./surface-call.ts";

/** Undefined members are left out. */
export function jsonRequest(
  path: string,
  body: Readonly<Record<string, string | number | undefined>>,
): SurfaceRequest {
  return { path, type: "application/json", body: Buffer.from(JSON.stringify(body)) };
}

/** A form with one file. */
export function formRequest(
  path: string,
  { fields, file }: { fields: Readonly<Record<string, string>>; file: { name: string; bytes: Buffer } },
): SurfaceRequest {
  const boundary = `pagurus-${randomUUID()}`;
  // A name with quotes or line breaks would end the header.
  const name = file.name.replaceAll(/["\r\n\\]/g, "_");
  const pieces = [
    ...Object.entries(fields).map(
      ([field, value]) =>
        `--${boundary}\r\ncontent-disposition: form-data; name="${field}"\r\n\r\n${value}\r\n`,
    ),
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\ncontent-type: application/octet-stream\r\n\r\n`,
    file.bytes,
    `\r\n--${boundary}--\r\n`,
  ];
  const body = Buffer.concat(pieces.map((piece) => (typeof piece === "string" ? Buffer.from(piece) : piece)));
  return { path, type: `multipart/form-data; boundary=${boundary}`, body };
}

/** Throws `model_bad_response` for an answer without an image as data. */
export function imageIn({ bytes }: SurfaceAnswer, { info }: Pick<ResolvedModel, "info">): Buffer {
  const [first = {}] = recordsOf(recordOf(parseJson(bytes.toString("utf8")))["data"]);
  const data = Buffer.from(stringOf(first["b64_json"]), "base64");
  if (data.length > 0) return data;
  throw new PagurusError(
    "model_bad_response",
    `The answer of ${info.ref} has no image as data; choose a model that returns b64_json.`,
  );
}

/** Throws `model_bad_response` for an answer of another form. */
export function transcriptIn({ bytes }: SurfaceAnswer, { info }: Pick<ResolvedModel, "info">): string {
  const { text } = recordOf(parseJson(bytes.toString("utf8")));
  if (typeof text === "string") return text.trim();
  throw new PagurusError(
    "model_bad_response",
    `The answer of ${info.ref} has no text; check that its provider has OpenAI's API.`,
  );
}
