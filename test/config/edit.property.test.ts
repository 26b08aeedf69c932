import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { parseJson5 } from "../../packages/core/src/config/json5.ts";
import { formatKeyPath, parseKeyPath } from "../../packages/core/src/config/key-path.ts";
import { renameInText, Revision, unsetInText } from "../../packages/core/src/config/revision.ts";
import { setInText } from "../../packages/core/src/config/text-splice.ts";
import { runs } from "../runner/short-form.ts";
import { unicodeText } from "../runner/unicode-text.ts";

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const key = fc.oneof(
  fc.constantFrom("agents", "defaults", "model", "a.b", "x/y", "default", "é", "$", "0", "", 'q"q'),
  fc.string({ maxLength: 4 }).filter((text) => text !== "__proto__"),
);
const leaf = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value)),
  unicodeText({ maxLength: 8 }),
);
const { value: anyValue } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(key, tie("value"), { maxKeys: 3, noNullPrototype: true }),
  ),
}));
const rootValue = fc.dictionary(key, anyValue, { maxKeys: 4, noNullPrototype: true });

/** The parser refuses raw line separators in a string, which JSON5 allows; files that hold them are refused with the place. */
function quoted(value: unknown): string {
  return JSON.stringify(value).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

/** Writes a value as JSON5 in a random hand: spaces, lines, comments, quotes, trailing commas. */
class Writer {
  readonly comments: string[] = [];
  readonly #choices: readonly number[];
  #next = 0;

  constructor(choices: readonly number[]) {
    this.#choices = choices;
  }

  #choose(count: number): number {
    const choice = this.#choices[this.#next % this.#choices.length] ?? 0;
    this.#next += 1;
    return choice % count;
  }

  space(): string {
    const at = this.#choose(9);
    if (at < 2) return "";
    if (at === 2) return " ";
    if (at === 3) return "\n  ";
    if (at === 4) return "\r\n\t";
    if (at === 5) return "\n\n";
    const comment = `c${this.comments.length}-😀`;
    this.comments.push(comment);
    if (at === 6) return ` /* ${comment}, } ] */ `;
    if (at === 7) return `\n  // ${comment}, { [ "\n`;
    return ` // ${comment}\n    `;
  }

  #key(text: string): string {
    if (/^[a-z]+$/.test(text) && !/^(null|true|false)$/.test(text) && this.#choose(2) === 0) return text;
    return this.#choose(3) === 0 && !/["'\\\u0000-\u001f\u2028\u2029]/.test(text)
      ? `'${text}'`
      : quoted(text);
  }

  write(value: Json): string {
    if (value === null || typeof value !== "object") return quoted(value);
    const entries = Array.isArray(value)
      ? value.map((each) => this.space() + this.write(each) + this.space())
      : Object.entries(value).map(
          ([name, each]) =>
            `${this.space()}${this.#key(name)}${this.space()}:${this.space()}${this.write(each)}${this.space()}`,
        );
    const trailing = entries.length > 0 && this.#choose(2) === 0 ? `,${this.space()}` : this.space();
    const body = entries.join(",") + trailing;
    return Array.isArray(value) ? `[${body}]` : `{${body}}`;
  }
}

/** Every path of a value that leads to something. */
function pathsOf(value: Json, path: (string | number)[] = []): (string | number)[][] {
  if (value === null || typeof value !== "object") return path.length > 0 ? [path] : [];
  const inner = Array.isArray(value)
    ? value.flatMap((each, index) => pathsOf(each, [...path, index]))
    : Object.entries(value).flatMap(([name, each]) => pathsOf(each, [...path, name]));
  return path.length > 0 ? [path, ...inner] : inner;
}

function containerAt(value: Json, path: readonly (string | number)[]): Json {
  return path.reduce<Json>((inner, step) => (inner as Record<string | number, Json>)[step] ?? null, value);
}

const document = fc.record({
  value: rootValue,
  choices: fc.array(fc.nat(1000), { minLength: 5, maxLength: 40 }),
});

describe("any change of any JSON5 text", () => {
  it("sets only the value at the path, and keeps comments elsewhere", () => {
    fc.assert(
      fc.property(
        document,
        anyValue,
        key,
        fc.nat(),
        fc.boolean(),
        ({ value, choices }, fresh, name, pick, adds) => {
          const writer = new Writer(choices);
          const text = writer.space() + writer.write(value) + writer.space();
          assert.deepEqual(parseJson5(text, "f"), value);
          const paths = [[], ...pathsOf(value)];
          let path = paths[pick % paths.length] ?? [];
          const container = containerAt(value, path);
          const replaces = path.length > 0 && (!adds || container === null || typeof container !== "object");
          if (!replaces) path = [...path, Array.isArray(container) ? container.length : name];
          const parent = path.slice(0, -1);
          const last = path.at(-1) ?? "";
          const expected = structuredClone(value);
          (containerAt(expected, parent) as Record<string | number, Json>)[last] = fresh;
          const after = setInText(text, "f", path, fresh);
          assert.deepEqual(parseJson5(after, "f"), expected);
          const replaced = containerAt(value, path);
          if (replaced === null || typeof replaced !== "object") {
            for (const comment of writer.comments) assert.ok(after.includes(comment), comment);
          }
        },
      ),
      { numRuns: runs(500) },
    );
  });

  it("removes only the value at the path, and keeps comments elsewhere", () => {
    fc.assert(
      fc.property(document, fc.nat(), ({ value, choices }, pick) => {
        const writer = new Writer(choices);
        const text = writer.space() + writer.write(value) + writer.space();
        const paths = pathsOf(value);
        fc.pre(paths.length > 0);
        const path = paths[pick % paths.length] ?? [];
        const parent = path.slice(0, -1);
        const last = path.at(-1) ?? "";
        const expected = structuredClone(value);
        const container = containerAt(expected, parent) as Record<string | number, Json>;
        if (Array.isArray(container)) container.splice(Number(last), 1);
        else Reflect.deleteProperty(container, last);
        const after = unsetInText(text, "f", path) ?? "";
        assert.deepEqual(parseJson5(after, "f"), expected);
        const removed = containerAt(value, path);
        const inside = removed === null || typeof removed !== "object" ? 2 : Number.POSITIVE_INFINITY;
        // A comment before or after the colon goes with its property.
        const gone = writer.comments.filter((comment) => !after.includes(comment));
        assert.ok(gone.length <= inside, gone.join(" "));
      }),
      { numRuns: runs(500) },
    );
  });

  it("makes many changes at once as it makes one after the other", () => {
    const change = fc.record({ kind: fc.constantFrom("remove", "rename", "set"), pick: fc.nat() });
    fc.assert(
      fc.property(document, fc.array(change, { maxLength: 12 }), ({ value, choices }, changes) => {
        const writer = new Writer(choices);
        let text = writer.space() + writer.write(value) + writer.space();
        const revision = new Revision(text, "f");
        for (const [index, { kind, pick }] of changes.entries()) {
          const paths = pathsOf(parseJson5(text, "f") as Json);
          const path = paths[pick % paths.length];
          if (!path) break;
          if (kind === "remove") {
            text = unsetInText(text, "f", path) ?? "";
            assert.ok(revision.remove(path));
          } else if (kind === "rename") {
            const fresh = `it's ${index}`.slice((pick % 3) * 2);
            const renamed = renameInText(text, "f", path, fresh);
            assert.equal(revision.rename(path, fresh), renamed !== undefined);
            text = renamed ?? text;
          } else {
            const fresh = [7, "a\nb", false][pick % 3] ?? 0;
            text = setInText(text, "f", path, fresh);
            assert.ok(revision.replace(path, fresh));
          }
          assert.equal(revision.text, text);
        }
      }),
      { numRuns: runs(500) },
    );
  });
});

describe("key paths", () => {
  it("are read as they were written", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(key, fc.nat(20)), { minLength: 1, maxLength: 5 }), (path) => {
        assert.deepEqual(parseKeyPath(formatKeyPath(path)), path);
      }),
    );
  });
});
