/**
 * What the writer of a mail wrote in it: without quoted mails, the lines that announce them, and signatures. Quotes that the writer
 * answers point by point stay, since the answers mean nothing without them.
 */
import { plainText } from "@pagurus/core/data/plain-text";

const QUOTED_LINE = /^\s?>/;
/** "On Mon, 3 Nov 2026, Ann wrote:" in the usual languages, on one line or two. */
const ANNOUNCES =
  /^(?:on|am|le|el|il|op|den|em)\s[^\n]{3,300}(?:wrote|schrieb|a écrit|escribió|ha scritto|schreef|skrev|escreveu)[^\n]{0,200}:$/i;
/** Outlook's line before a whole older mail, which ends the own words. */
const ORIGINAL =
  /^\s*(?:-{2,}\s*(?:original message|forwarded message|ursprüngliche nachricht|message d'origine|mensaje original)\s*-{2,}|_{20,})\s*$/i;
const OLD_HEADER = /^\*?(?:from|von|de|van|da)\*?:\*?\s.*[@<]/i;
const OLD_DATE = /^\*?(?:sent|date|gesendet|datum|envoyé|enviado|inviato|to|an)\*?:/i;
const PHONE = /^(?:sent from my |von meinem |envoyé de mon |get outlook for |gesendet mit der )/i;

interface Line {
  text: string;
  kind: "own" | "quote" | "blank";
}

/** Index of the first line of an older mail that is not marked as quoted, or of the signature. */
function endOfOwn(lines: readonly string[]): number {
  const lastOwn = lines.findLastIndex((line) => line.trim() !== "" && !QUOTED_LINE.test(line));
  for (const [index, line] of lines.entries()) {
    if (line === "-- " || line === "--") return index;
    if (ORIGINAL.test(line)) return index;
    if (OLD_HEADER.test(line) && lines.slice(index + 1, index + 4).some((next) => OLD_DATE.test(next)))
      return index;
    if (PHONE.test(line) && index >= lastOwn) return index;
  }
  return lines.length;
}

/** Lines that announce a quote; the announcement may be broken over two lines. */
function announcements(lines: readonly string[]): Set<number> {
  const found = new Set<number>();
  // Backwards, with the first line after it that is not blank; none at the end.
  let next = ">";
  for (let index = lines.length - 1; index >= 0; index -= 1) {
    const [one = "", two = ""] = [lines[index]?.trim(), lines[index + 1]?.trim()];
    if (ANNOUNCES.test(one) && QUOTED_LINE.test(next)) found.add(index);
    else if (one !== "" && !one.endsWith(":") && ANNOUNCES.test(`${one} ${two}`)) {
      if (QUOTED_LINE.test(lines[index + 2] || ">")) found.add(index).add(index + 1);
    }
    if (one !== "") next = lines[index] ?? "";
  }
  return found;
}

function classified(text: string): Line[] {
  const all = text.split("\n");
  const announced = announcements(all);
  const lines = all.slice(0, endOfOwn(all));
  return lines.map((line, index) => {
    if (announced.has(index) || QUOTED_LINE.test(line)) return { text: line, kind: "quote" };
    return { text: line, kind: line.trim() === "" ? "blank" : "own" };
  });
}

/** The own words of a mail's text; empty where it has none. */
export function ownWords(text: string): string {
  const lines = classified(plainText(text));
  const lastOwn = lines.findLastIndex(({ kind }) => kind === "own");
  const upTo = lines.slice(0, lastOwn + 1);
  let answered = 0;
  let previous: Line["kind"] = "own";
  for (const { kind } of upTo) {
    if (kind === "own" && previous === "quote") answered += 1;
    if (kind !== "blank") previous = kind;
  }
  const kept = answered > 1 ? upTo : upTo.filter(({ kind }) => kind !== "quote");
  return kept
    .map((line) => line.text.trimEnd())
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
}
