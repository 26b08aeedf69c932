/** Reads the model from a request's body, and the members that set its price. Replaces the model's name and nothing else. */
import type { DirectSurface } from "@pagurus/contract/model";
import { listOf } from "@pagurus/core/data/record-fields";
import { WireCallError } from "@pagurus/gateway/server/faults";
import type { SurfaceAsk } from "@pagurus/core/model/surfaces/surface-cost";
import type { JsonBounds } from "@pagurus/core/platform/json/json-bounds";
import type { JsonThread } from "@pagurus/core/platform/json/json-thread";
import { longJson } from "@pagurus/core/platform/json/long-json";
import { requestObject } from "../request-object.ts";
import { boundaryOf, formParts, type FormPart } from "./multipart.ts";

export interface SurfaceBody {
  /** Name of the model in the request. */
  model: string;
  ask: SurfaceAsk;
  /** The body with another name of the model. */
  withModel(id: string): Promise<Buffer[]>;
}

/** 2,048 inputs of embeddings, as tokens too. */
const BOUNDS: JsonBounds = { maxItems: 400_000, maxDepth: 20, maxMembers: 2_000 };
/** Most images of one request, as OpenAI allows. */
const MOST_IMAGES = 10;

/** Throws `WireCallError`. */
export async function jsonBody(
  bytes: Buffer,
  surface: DirectSurface,
  thread: JsonThread,
): Promise<SurfaceBody> {
  const asked = await requestObject(bytes, BOUNDS, thread);
  const model = asked["model"];
  if (typeof model !== "string" || model === "") throw noModel();
  const texts = [asked["prompt"], asked["instructions"], ...inputs(asked["input"])].filter(
    (each) => typeof each === "string",
  );
  const images = surface === "images" ? { images: imageCount(asked["n"]) } : {};
  const ask: SurfaceAsk = {
    surface,
    texts,
    tokens: tokensOf(asked["input"]),
    ...images,
    sentImages: listOf(asked["images"]).length,
  };
  return {
    model,
    ask,
    // Written again and not spliced: a name may be there twice, and servers differ in which one counts.
    withModel: async (id) => [await longJson({ ...asked, model: id })],
  };
}

function noModel(): WireCallError {
  return new WireCallError("bad_request", 'Name the model as "provider/model" in the field "model".');
}

function inputs(input: unknown): readonly unknown[] {
  return Array.isArray(input) ? (input as unknown[]) : [input];
}

/** Tokens of an input that is a list of tokens, or a list of such lists. */
function tokensOf(input: unknown): number {
  return listOf(input).reduce<number>(
    (sum, each) => sum + (typeof each === "number" ? 1 : Array.isArray(each) ? each.length : 0),
    0,
  );
}

function imageCount(n: unknown): number {
  const count = n === undefined || n === null || n === "" ? 1 : Number(n);
  if (Number.isInteger(count) && count >= 1 && count <= MOST_IMAGES) return count;
  throw new WireCallError("bad_request", `The number of images ("n") has to be 1 to ${MOST_IMAGES}.`);
}

/** Like `jsonBody`, for a form. Throws `WireCallError`. */
export function formBody(bytes: Buffer, surface: DirectSurface, type: string): SurfaceBody {
  const boundary = boundaryOf(type);
  if (boundary === undefined)
    throw new WireCallError("bad_request", "Send the request as a form (multipart/form-data).");
  const parts = formParts(bytes, boundary);
  const textOf = (name: string): string =>
    parts
      .filter((part) => part.name === name && !part.isFile)
      .map(({ start, end }) => bytes.toString("utf8", start, end))
      .join("");
  const [place, ...more] = parts.filter(({ name }) => name === "model");
  const model = textOf("model");
  // Servers differ in which one of two counts.
  if (!place || more.length > 0 || model === "") throw noModel();
  const files = parts.filter(({ isFile }) => isFile);
  return {
    model,
    ask: {
      surface,
      texts: [textOf("prompt")],
      ...(surface === "images" ? { images: imageCount(textOf("n")), sentImages: files.length } : {}),
      ...(surface === "transcription" ? { sound: soundOf(bytes, files) } : {}),
    },
    withModel: (id) =>
      Promise.resolve([bytes.subarray(0, place.start), Buffer.from(id), bytes.subarray(place.end)]),
  };
}

function soundOf(bytes: Buffer, files: readonly FormPart[]): { bytes: number; start: Buffer } {
  const [file] = files;
  if (!file) throw new WireCallError("bad_request", 'Send the sound as the field "file".');
  return {
    bytes: files.reduce((sum, { start, end }) => sum + end - start, 0),
    start: bytes.subarray(file.start, file.end),
  };
}
