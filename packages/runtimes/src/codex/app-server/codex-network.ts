/**
 * Disables Codex's own downloads and reports for our child alone, on its command line, without writing to the user's
 * configuration. Plugins and apps call github.com and chatgpt.com at the start.
 */
export const QUIET_ARGUMENTS: readonly string[] = [
  "features.plugins=false",
  "features.apps=false",
  "analytics.enabled=false",
  "check_for_update_on_startup=false",
].flatMap((setting) => ["-c", setting]);
