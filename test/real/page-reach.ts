/** Controls of a page that a person cannot press: something lies over their middle, or they are out of every scrolled view. */
import type { Page } from "playwright-core";

/** Runs in the page. A control is reached when the element at its middle, once it is scrolled to, is the control or a part of it. */
const UNREACHED = `(() => {
  const controls = document.querySelectorAll("a[href], button, input, select, textarea, summary, [role=listbox], [role=slider]");
  const missed = [];
  for (const control of controls) {
    if (control.disabled || !control.checkVisibility({ visibilityProperty: true }) || control.closest("[inert]")) continue;
    control.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    // A link that is wrapped has a box for each of its lines.
    const { left, top, width, height } = control.getClientRects()[0] ?? control.getBoundingClientRect();
    if (width === 0 || height === 0) continue;
    const x = Math.min(Math.max(left + width / 2, 1), innerWidth - 1);
    const y = Math.min(Math.max(top + height / 2, 1), innerHeight - 1);
    const hit = document.elementFromPoint(x, y);
    const isHit = hit !== null && (control === hit || control.contains(hit) || hit.contains(control) && hit.tagName === "LABEL");
    if (!isHit) missed.push((control.ariaLabel || control.textContent || control.tagName).trim().slice(0, 60) + " is under " + (hit ? hit.tagName + "." + hit.className : "nothing"));
  }
  return missed;
})()`;

/** A line for each. */
export async function unreached(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(UNREACHED);
}

/** Sizes of windows that a page has to work in: phones, both ways round, split screens, desks. */
export const WINDOWS = [
  [320, 568],
  [360, 640],
  [360, 740],
  [390, 844],
  [568, 320],
  [768, 1024],
  [900, 700],
  [1024, 600],
  [1280, 600],
  [1280, 800],
  [1920, 1080],
  [2560, 1440],
] as const;
