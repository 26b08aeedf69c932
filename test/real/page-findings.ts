/** What is wrong with a page for people who use it otherwise: by axe, and by its width. */
import axe from "axe-core";
import type { Page } from "playwright-core";

interface Finding {
  id: string;
  impact: string | null;
  nodes: { html: string }[];
}

/** Serious and critical findings of axe, and a page that is wider than its window; a line for each. */
export async function pageFindings(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = (await page.evaluate("globalThis.axe.run()")) as { violations: Finding[] };
  const found = violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ""}`);
  const over = await page.evaluate(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  );
  return Number(over) > 0 ? [...found, `${String(over)} px wider than the window`] : found;
}
