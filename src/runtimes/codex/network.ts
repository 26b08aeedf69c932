/**
 * What Codex would fetch or report by itself, turned off for our child alone, on its command line: nothing is written
 * to the user's configuration. Plugins and apps are what asks github.com and chatgpt.com at the start.
 */
export const QUIET_ARGUMENTS: readonly string[] = [
  "features.plugins=false",
  "features.apps=false",
  "analytics.enabled=false",
  "check_for_update_on_startup=false",
].flatMap((setting) => ["-c", setting]);
