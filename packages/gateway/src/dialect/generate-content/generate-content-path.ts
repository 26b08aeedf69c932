/** The path of a request, which names the model and the method: `/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse`. */

export interface ModelPath {
  /** Without `models/`. */
  model: string;
  method: string;
  /** A stream comes as events, and not as one JSON list. */
  hasEvents: boolean;
}

const MODEL_PATH = /^(?:\/v1(?:alpha|beta)?)?\/(models|tunedModels)\/([^/:]+):([A-Za-z]+)$/;

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not encoded; used as it is.
    return text;
  }
}

/** `path` without the base, with its query. Undefined for a path without a method of a model. */
export function modelPath(path: string): ModelPath | undefined {
  const mark = path.indexOf("?");
  const [, kind = "", name = "", method = ""] = MODEL_PATH.exec(mark < 0 ? path : path.slice(0, mark)) ?? [];
  if (method === "") return undefined;
  const query = mark < 0 ? "" : path.slice(mark + 1);
  const model = decoded(name);
  return {
    model: kind === "models" ? model : `${kind}/${model}`,
    method,
    hasEvents: new URLSearchParams(query).get("alt") === "sse",
  };
}
