/** A failure that the model is told, in words that it can act on. Never leaves this room. */
export class ToolError extends Error {
  override readonly name = "ToolError";
}

/** The system's error code (`ENOENT`, …) of a thrown value, where it has one. */
export function systemCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
