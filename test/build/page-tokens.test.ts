/** The colours of the page: each text colour is readable on each ground that it is used on, in both themes. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";

const TOKENS = new URL("../../packages/inspector/src/tokens.css", import.meta.url);
const THEMES = ["light", "dark"] as const;

type Theme = (typeof THEMES)[number];

function colours(theme: Theme): ReadonlyMap<string, string> {
  const css = readFileSync(TOKENS, "utf8");
  const pairs = [...css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);/g)];
  return new Map(
    pairs.map(([, name = "", light = "", dark = ""]) => [name, theme === "light" ? light : dark]),
  );
}

/** Relative luminance of WCAG 2.2. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

const GROUNDS = ["ground", "raised", "sunk", "chosen", "hover"];
const TEXTS = ["text", "quiet", "accent", "good", "warn", "bad"];
const CODES = ["code-word", "code-text", "code-number", "code-name", "code-note"];

/** Each text colour with the grounds under it, and the contrast that it needs. */
const PAIRS: readonly (readonly [text: string, ground: string, least: number])[] = [
  ...TEXTS.flatMap((text) => GROUNDS.map((ground) => [text, ground, 4.5] as const)),
  ...CODES.flatMap((text) => ["raised", "sunk", "ground"].map((ground) => [text, ground, 4.5] as const)),
  ...["good", "warn", "bad"].map((name) => [name, `${name}-soft`, 4.5] as const),
  ...["good-soft", "warn-soft", "bad-soft", "added", "removed"].map(
    (ground) => ["text", ground, 4.5] as const,
  ),
  ["on-accent", "accent", 4.5],
  ["on-bad", "bad", 4.5],
  // Borders of controls.
  ...["ground", "raised", "sunk"].map((ground) => ["edge", ground, 3] as const),
];

describe("the page's colours", () => {
  for (const theme of THEMES)
    it(`have enough contrast in the ${theme} theme`, () => {
      const known = colours(theme);
      const low = PAIRS.map(([text, ground, least]) => {
        const [one, other] = [known.get(text), known.get(ground)];
        assert.ok(one !== undefined && other !== undefined, `${text} on ${ground} has no colours`);
        return { name: `${text} on ${ground}`, found: contrast(one, other), least };
      })
        .filter(({ found, least }) => found < least)
        .map(({ name, found }) => `${name}: ${found.toFixed(2)}`);
      assert.deepEqual(low, []);
    });

  it("are all measured", () => {
    const measured = new Set(PAIRS.flatMap(([text, ground]) => [text, ground]));
    const others = [...colours("light").keys()].filter((name) => !measured.has(name));
    assert.deepEqual(others, ["line"]);
  });
});
