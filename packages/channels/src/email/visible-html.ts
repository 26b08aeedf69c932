/**
 * The part of a mail's HTML that its reader sees: without elements that a style or an attribute hides. A sender does not say what no
 * reader sees, but a model would read it. What is not surely closed stays hidden. Linear time.
 */

/** Elements whose content is no text of the page. */
const NO_TEXT = new Set([
  "title",
  "template",
  "noscript",
  "object",
  "iframe",
  "svg",
  "math",
  "canvas",
  "datalist",
]);
/** Elements without content. */
const VOID = new Set("area base br col embed hr img input link meta param source track wbr".split(" "));
/** Characters of one tag that are looked at, and of all style sheets. */
const MOST_TAG = 8_192;
const MOST_STYLES = 100_000;
/** Elements in each other: more are not converted to text at all. */
const MOST_HTML_DEPTH = 1_000;
/** Smallest font that people read, px. */
const LEAST_FONT = 3;

const UNITS: Readonly<Record<string, number>> = { px: 1, pt: 1.33, em: 16, rem: 16, "%": 0.16, "": 1 };

interface Tag {
  name: string;
  attributes: ReadonlyMap<string, string>;
  isEnd: boolean;
  /** Index after it. */
  end: number;
}

function decoded(text: string): string {
  return text
    .replaceAll(
      /&#(?:x([\da-f]{1,6})|(\d{1,7}));?/gi,
      (whole, hex: string | undefined, dec: string | undefined) => {
        const code = hex === undefined ? Number(dec) : Number.parseInt(hex, 16);
        return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
      },
    )
    .replaceAll(
      /&(colon|semi|nbsp|Tab|NewLine);/g,
      (_, name) => ({ colon: ":", semi: ";" })[String(name)] ?? " ",
    );
}

/** Declarations of a style, in lower case. */
function declarations(style: string): Map<string, string> {
  const plain = style
    .replaceAll(/\/\*[^]*?(?:\*\/|$)/g, "")
    .replaceAll(/\\([\da-f]{1,6})\s?/gi, (whole, hex: string) => {
      const code = Number.parseInt(hex, 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    })
    .replaceAll("\\", "")
    .toLowerCase();
  const found = new Map<string, string>();
  for (const one of plain.split(";")) {
    const colon = one.indexOf(":");
    if (colon > 0)
      found.set(
        one.slice(0, colon).trim(),
        one
          .slice(colon + 1)
          .replace(/!\s*important/, "")
          .trim(),
      );
  }
  return found;
}

function pixels(value: string | undefined): number | undefined {
  const [, number, unit = ""] = /^(-?\d*\.?\d+)(px|pt|em|rem|%)?/.exec(value ?? "") ?? [];
  return number === undefined ? undefined : Number(number) * (UNITS[unit] ?? 1);
}

function isWhite(color: string | undefined): boolean {
  const plain = (color ?? "").replaceAll(/\s/g, "");
  return /^(?:white|#f[a-f]f[a-f]f[a-f]|#fff|rgba?\(25\d,25\d,25\d[^)]*\))$/.test(plain);
}

function isTransparent(color: string | undefined): boolean {
  const plain = (color ?? "").replaceAll(/\s/g, "");
  return (
    plain === "transparent" ||
    /^(?:rgba|hsla)\([^)]*,0(?:\.0\d*)?\)$/.test(plain) ||
    /^#(?:[\da-f]{3}0|[\da-f]{6}0\d)$/.test(plain)
  );
}

function hides(style: ReadonlyMap<string, string>): boolean {
  const has = (name: string, value: RegExp): boolean => value.test(style.get(name) ?? "");
  const isNothing = (name: string): boolean => {
    const size = pixels(style.get(name));
    return size !== undefined && Math.abs(size) < 1;
  };
  const isFar = (name: string): boolean => Math.abs(pixels(style.get(name)) ?? 0) >= 500;
  if (has("display", /^none/) || has("mso-hide", /^all/) || has("content-visibility", /^hidden/)) return true;
  const opacity = Number.parseFloat(style.get("opacity") ?? "1");
  if (opacity < 0.1 || has("filter", /opacity\(0/)) return true;
  if (["max-height", "max-width", "height", "width", "line-height", "zoom"].some(isNothing)) return true;
  if (has("clip", /rect\((?:0|1px)/) || has("clip-path", /inset\((?:50|100)%|circle\(0|polygon\(0/))
    return true;
  if (has("transform", /scale[xy3d]*\(0/) || isFar("text-indent")) return true;
  return ["left", "top", "right", "bottom", "margin-left", "margin-top"].some(
    (name) => (style.get(name) ?? "").startsWith("-") && isFar(name),
  );
}

function tagAt(html: string, open: number): Tag | undefined {
  const [head, slash, name = ""] = /^<(\/?)([a-zA-Z][^\s/>]{0,60})/.exec(html.slice(open, open + 64)) ?? [];
  if (head === undefined) return undefined;
  const attributes = new Map<string, string>();
  const part = /[\s/]*(?:(>)|([^\s=>/"'][^\s=>/]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]*)))?|["'=])/y;
  const tag = html.slice(open, open + MOST_TAG);
  part.lastIndex = head.length;
  for (let found = part.exec(tag); found; found = part.exec(tag)) {
    const [, isOver, key, double, single, bare = ""] = found;
    if (isOver !== undefined)
      return { name: name.toLowerCase(), attributes, isEnd: slash === "/", end: open + part.lastIndex };
    const lower = key?.toLowerCase();
    if (lower !== undefined && !attributes.has(lower))
      attributes.set(lower, decoded(double ?? single ?? bare));
  }
  const end = html.indexOf(">", open + head.length);
  return { name: name.toLowerCase(), attributes, isEnd: slash === "/", end: end < 0 ? html.length : end + 1 };
}

/** Names of elements (`div`), classes (`.x`) and ids (`#x`) that a style sheet hides, each with all that it needs. */
function hiddenSelectors(html: string): string[][] {
  const sheets = [...html.matchAll(/<style\b[^>]*>([^]*?)(?:<\/style|$)/gi)].map(([, sheet = ""]) => sheet);
  const text = sheets
    .join("\n")
    .slice(0, MOST_STYLES)
    .replaceAll(/\/\*[^]*?\*\/|<!--|-->/g, "");
  const found: string[][] = [];
  for (const [, selectors = "", style = ""] of text.matchAll(/([^{}@;]+)\{([^{}]*)\}/g)) {
    const declared = declarations(style);
    const look = lookOf(PLAIN_TAG, declared, ORDINARY);
    if (!hides(declared) && !look.isTiny && !look.isInvisible && !look.isTransparent) continue;
    for (const selector of selectors.split(",")) {
      const last =
        selector
          .trim()
          .split(/[\s>+~]+/)
          .at(-1) ?? "";
      const names = last.toLowerCase().match(/[.#]?[\w-]+/g);
      if (names && !/[:[*]/.test(last)) found.push(names);
    }
  }
  return found;
}

/** What an element inherits and its own style can change. */
interface Look {
  isTiny: boolean;
  isInvisible: boolean;
  isWhite: boolean;
  isTransparent: boolean;
  hasBackground: boolean;
}

interface Open extends Look {
  name: string;
  /** With all that is in it. */
  isHidden: boolean;
}

const PLAIN_TAG: Tag = { name: "div", attributes: new Map(), isEnd: false, end: 0 };
const ORDINARY: Look = {
  isTiny: false,
  isInvisible: false,
  isWhite: false,
  isTransparent: false,
  hasBackground: false,
};

function isTinyFont(style: ReadonlyMap<string, string>, parent: boolean): boolean {
  const size =
    style.get("font-size") ?? /(?:^|\s)(-?[\d.]+(?:px|pt|em|rem|%))/.exec(style.get("font") ?? "")?.[1];
  const font = pixels(size);
  if (font === undefined) return parent && !/^(?:(?:x+-)?(?:small|large)|medium)/.test(size ?? "");
  return font < LEAST_FONT || (parent && /(?:\dem|%)$/.test(size ?? ""));
}

function lookOf({ name, attributes }: Tag, style: ReadonlyMap<string, string>, parent: Look): Look {
  const color = style.get("color") ?? (name === "font" ? attributes.get("color")?.toLowerCase() : undefined);
  const visibility = style.get("visibility");
  const isColored = ["background", "background-color", "background-image"].some(
    (key) => style.has(key) && !isWhite(style.get(key)),
  );
  return {
    isTiny: isTinyFont(style, parent.isTiny),
    isInvisible: visibility === undefined ? parent.isInvisible : !visibility.startsWith("visible"),
    isWhite: color === undefined ? parent.isWhite : isWhite(color),
    isTransparent: color === undefined ? parent.isTransparent : isTransparent(color),
    hasBackground:
      parent.hasBackground || isColored || attributes.has("bgcolor") || attributes.has("background"),
  };
}

class Page {
  readonly #open: Open[] = [];
  readonly #hidden: string[][];

  constructor(html: string) {
    this.#hidden = hiddenSelectors(html);
  }

  get isHidden(): boolean {
    return this.#open.at(-1)?.isHidden === true;
  }

  /** Whether a text at this place is seen. */
  get isSeen(): boolean {
    const { isTiny, isInvisible, isTransparent: isClear, ...look } = this.#open.at(-1) ?? ORDINARY;
    return !this.isHidden && !isTiny && !isInvisible && !isClear && (!look.isWhite || look.hasBackground);
  }

  take(tag: Tag): void {
    const { name, attributes, isEnd } = tag;
    if (isEnd) {
      const at = this.#open.findLastIndex((open) => open.name === name);
      if (at >= 0) this.#open.length = at;
      return;
    }
    if (VOID.has(name) || this.#open.length > MOST_HTML_DEPTH) return;
    const style = declarations(attributes.get("style") ?? "");
    const parent = this.#open.at(-1);
    const isHidden =
      parent?.isHidden === true ||
      NO_TEXT.has(name) ||
      attributes.has("hidden") ||
      hides(style) ||
      this.#isStyledAway(name, attributes);
    this.#open.push({ name, isHidden, ...lookOf(tag, style, parent ?? ORDINARY) });
  }

  #isStyledAway(name: string, attributes: ReadonlyMap<string, string>): boolean {
    if (this.#hidden.length === 0) return false;
    const classes = (attributes.get("class") ?? "").toLowerCase().split(/\s+/);
    const own = new Set([
      name,
      ...classes.map((each) => `.${each}`),
      `#${(attributes.get("id") ?? "").toLowerCase()}`,
    ]);
    return this.#hidden.some((names) => names.every((each) => own.has(each)));
  }
}

/** Index of the end tag of an element without elements in it. */
function endOf(html: string, { name, end }: Tag): number {
  const close = new RegExp(`</${name}`, "gi");
  close.lastIndex = end;
  return close.exec(html)?.index ?? html.length;
}

/** The HTML without what is hidden. */
export function visibleHtml(html: string): string {
  const page = new Page(html);
  const kept: string[] = [];
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf("<", at);
    const end = open < 0 ? html.length : open;
    if (page.isSeen) kept.push(html.slice(at, end));
    if (open < 0) break;
    if (html.startsWith("<!--", open)) {
      const close = html.indexOf("-->", open + 4);
      at = close < 0 ? html.length : close + 3;
      continue;
    }
    const tag = tagAt(html, open);
    if (tag?.name === "style" || tag?.name === "script") {
      at = tag.isEnd ? tag.end : endOf(html, tag);
      continue;
    }
    const wasHidden = page.isHidden;
    if (tag) page.take(tag);
    at = tag?.end ?? open + 1;
    if (!wasHidden && !page.isHidden) kept.push(html.slice(open, at));
  }
  return kept.join("");
}
