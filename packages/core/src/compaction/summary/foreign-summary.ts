/**
 * Summaries of other programs, as facts: they end with requests and next steps that were open when they were made, and with orders to the
 * next agent. The requests stay as what was asked then; the orders are left out.
 */

/** Headings of what was to be done, for example `7. Pending Tasks:`. */
const TO_DO =
  /\b(?:goals?|requests?|open asks?|open items?|pending|next steps?|to-?dos?|tasks?|current work|in progress|remaining|unfinished|open)\b/i;
const HEADING =
  /^(\s*(?:(?:#{1,6}|\d{1,3}[.)])\s+)?(?:\*\*|__)?)([^\n*_:]{2,60}?)((?:\*\*|__)?\s*:?\s*(?:\*\*|__)?\s*)$/;
/** What programs write for the agent that reads their summary. */
const ORDER =
  /^(?:[-*]\s+)?(?:please )?(?:continue|resume|proceed|pick up|carry on)\b.{0,80}\b(?:conversation|task|work|from where|last task|left off)|without asking the user any further|\bif you need specific details\b.{0,200}\btranscript\b|^another language model started to solve this problem|^use this to build on the work/i;
const THEN = "as of then";

/** A summary's text without orders, its open requests marked as of its time. */
export function factsOnly(summary: string): string {
  return summary
    .split("\n")
    .filter((line) => !ORDER.test(line.trim()))
    .map((line) => {
      const [, before, name, after] = HEADING.exec(line) ?? [];
      const isHeading =
        before !== undefined && name !== undefined && /[#\d*_]|:/.test(`${before}${after ?? ""}`);
      if (!isHeading || !TO_DO.test(name) || name.includes(THEN)) return line;
      return `${before}${name.trim()} (${THEN})${after ?? ""}`;
    })
    .join("\n");
}
