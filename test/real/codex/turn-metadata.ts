import type { RecordedRequest } from "../../servers/server.ts";

const NAME = "x-codex-turn-metadata";

/**
 * Codex's metadata of its own request, as JSON; empty for a request that Codex has not made. It is in a header, and in the
 * body, which alone reaches a provider of ours.
 */
export function turnMetadata({ headers, body }: Pick<RecordedRequest, "headers" | "body">): string {
  const inBody = (body["client_metadata"] as Record<string, unknown> | undefined)?.[NAME];
  const found = headers[NAME] ?? inBody;
  return typeof found === "string" ? found : "";
}
