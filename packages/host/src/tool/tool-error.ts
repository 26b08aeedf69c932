/** A failure that is reported to the model, with a remedy. Never leaves the tool layer. */
export class ToolError extends Error {
  override readonly name = "ToolError";
}

/** The system's error code (`ENOENT`, …) of a thrown value, if any. */
export function systemCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
