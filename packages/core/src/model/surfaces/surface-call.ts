/** One request to a direct surface whose answer is read whole, for the tools of an agent. */
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import { parseJson } from "../../data/record-fields.ts";
import { packageVersion } from "../../platform/package-version.ts";
import { withDeadline } from "../../platform/deadline.ts";
import { readError, readErrorText } from "../../protocols/answer-errors.ts";
import { postHttp, type HttpAnswer } from "../http-post.ts";
import { classify, RedirectRefused, ServerError } from "../model-failure.ts";
import type { ResolvedModel } from "../provider-types.ts";

export interface SurfaceRequest {
  /** After the base URL, for example `/images/generations`. */
  path: string;
  /** `content-type` of the body. */
  type: string;
  body: Buffer;
}

export interface SurfaceAnswer {
  /** `content-type` of the answer. */
  type: string;
  bytes: Buffer;
}

/** Longest answer, bytes. */
const MOST_BYTES = 64 * 2 ** 20;
/** Longest time of one request, ms: an image of the best quality takes minutes. */
const LONGEST_CALL_MS = 10 * 60_000;

/** Progress of a request, for its price if it fails. */
export interface SurfaceProgress {
  /** The system has the whole request. */
  isSent: boolean;
  /** HTTP status of the answer. Absent: no answer has begun. */
  status?: number;
}

/** Throws `model_*` errors, `turn_aborted`, `deadline_exceeded`. Makes no second attempt: each may be paid for. */
export async function callSurface(
  model: ResolvedModel,
  request: SurfaceRequest,
  signal: AbortSignal,
  progress: SurfaceProgress = { isSent: false },
): Promise<SurfaceAnswer> {
  const label = `The request to ${model.info.ref}`;
  try {
    return await withDeadline((until) => answered({ model, request, progress }, until), {
      ms: LONGEST_CALL_MS,
      label,
      signal,
    });
  } catch (error) {
    if (signal.aborted) throw new PagurusError("turn_aborted", "The request was aborted.", { cause: error });
    throw isPagurusError(error) ? error : classify(error, model, false).error;
  }
}

interface Asking {
  model: ResolvedModel;
  request: SurfaceRequest;
  progress: SurfaceProgress;
}

async function answered(
  { model, request: { path, type, body }, progress }: Asking,
  signal: AbortSignal,
): Promise<SurfaceAnswer> {
  const headers: Record<string, string> = {
    "content-type": type,
    "content-length": String(body.length),
    "user-agent": `pagurus/${packageVersion()}`,
  };
  const key = model.apiKey?.reveal();
  if (key !== undefined) headers["authorization"] = `Bearer ${key}`;
  for (const [name, value] of Object.entries(model.headers.reveal())) headers[name.toLowerCase()] = value;
  const answer = await postHttp({ url: `${model.baseUrl}${path}`, headers, body }, signal, () => {
    progress.isSent = true;
  });
  progress.status = answer.status;
  const bytes = await wholeBody(answer, model);
  if (answer.status >= 300 && answer.status < 400)
    throw new RedirectRefused(answer.status, URL.parse(answer.headers["location"] ?? "")?.origin);
  if (answer.status >= 400) throw serverError(answer, bytes);
  return { type: answer.headers["content-type"] ?? "", bytes };
}

async function wholeBody({ body }: HttpAnswer, { info }: ResolvedModel): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MOST_BYTES)
      throw new PagurusError(
        "model_bad_response",
        `The answer of ${info.ref} has more than ${MOST_BYTES} bytes; ask for less.`,
      );
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function serverError({ status, statusText, headers }: HttpAnswer, bytes: Buffer): ServerError {
  const text = bytes.toString("utf8");
  const body = parseJson(text);
  const error = body === undefined ? readErrorText(text, status) : readError(body, status);
  return new ServerError({ ...error, message: error.message || statusText, status }, headers);
}
