/** Names of the recall tools; a runtime may prefix them, as in `mcp__pagurus__context_search`. */
export function isRecall(toolName: string): boolean {
  return /(?:^|_)context_(?:search|describe|expand|pin)$/.test(toolName);
}
