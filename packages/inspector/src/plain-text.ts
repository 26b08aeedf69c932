/** Numbers, times and foreign text for a person. Text is only ever set as text; marks that change how it reads are made visible. */

const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
/** Marks that turn or hide text around them. */
const BIDI = /[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u061c]/g;

function named(mark: string): string {
  return `⟦U+${(mark.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟧`;
}

/** The text with its control characters and direction marks written out. */
export function visible(text: string): string {
  return text
    .replace(/\r\n/g, "\n")
    .replace(CONTROLS, (mark) => {
      const code = mark.charCodeAt(0);
      return code < 0x20 ? String.fromCharCode(0x2400 + code) : named(mark);
    })
    .replace(BIDI, named);
}

export function oneLine(text: string): string {
  return visible(text).replace(/\s+/g, " ").trim();
}

export function bytes(value: number): string {
  if (value < 1_024) return `${value} B`;
  if (value < 1_048_576) return `${(value / 1_024).toFixed(1)} KiB`;
  if (value < 1_073_741_824) return `${(value / 1_048_576).toFixed(1)} MiB`;
  return `${(value / 1_073_741_824).toFixed(1)} GiB`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

function two(value: number): string {
  return String(value).padStart(2, "0");
}

/** In the browser's time zone, as in `26 Nov 2026, 11:14:16`; the text itself where it is no time. */
export function time(iso: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  const day = `${at.getDate()} ${MONTHS[at.getMonth()]} ${at.getFullYear()}`;
  return `${day}, ${[at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(":")}`;
}

const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

/** `2 hours` for a duration of that many ms; less than a minute is `a moment`. */
function roughly(ms: number): string {
  for (const [name, size] of UNITS)
    if (ms >= size) {
      const number = Math.floor(ms / size);
      return `${number} ${name}${number === 1 ? "" : "s"}`;
    }
  return "a moment";
}

/** How long ago a time was, as in `2 hours ago`; the text itself where it is no time. */
export function since(iso: string): string {
  const at = Date.parse(iso);
  return Number.isNaN(at) ? iso : `${roughly(Math.max(0, Date.now() - at))} ago`;
}

/** How far ahead a time is, as in `in 2 hours`; the text itself where it is no time. */
export function until(iso: string): string {
  const at = Date.parse(iso);
  return Number.isNaN(at) ? iso : `in ${roughly(Math.max(0, at - Date.now()))}`;
}
