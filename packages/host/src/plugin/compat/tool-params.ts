/** Helpers of OpenClaw tools for reading arguments and building answers. */

/** A tool answer from a value: as JSON for the model, raw in `details`. */
export function jsonResult(payload: unknown): {
  content: { type: "text"; text: string }[];
  details: unknown;
} {
  return { content: [{ type: "text", text: JSON.stringify(payload, null, 2) ?? "null" }], details: payload };
}

interface ReadOptions {
  required?: boolean;
  /** Replaces the key in the error's sentence. */
  label?: string;
}

/** A trimmed text argument; undefined if it is absent or empty. Throws if required. */
export function readStringParam(
  params: Record<string, unknown>,
  key: string,
  options: ReadOptions & { trim?: boolean; allowEmpty?: boolean } = {},
): string | undefined {
  const raw = params[key];
  const text = typeof raw === "string" ? (options.trim === false ? raw : raw.trim()) : undefined;
  if (text !== undefined && (text !== "" || options.allowEmpty === true)) return text;
  if (options.required === true) throw new TypeError(`${options.label ?? key} required`);
  return undefined;
}

/** A number argument, also from text; undefined if it is not a number. Throws if required. */
export function readNumberParam(
  params: Record<string, unknown>,
  key: string,
  options: ReadOptions & { integer?: boolean } = {},
): number | undefined {
  const raw = params[key];
  const value =
    typeof raw === "number" ? raw : typeof raw === "string" && raw.trim() !== "" ? Number(raw) : Number.NaN;
  if (Number.isFinite(value)) return options.integer === true ? Math.trunc(value) : value;
  if (options.required === true) throw new TypeError(`${options.label ?? key} required`);
  return undefined;
}
