import assert from "node:assert/strict";
import { test } from "node:test";
import { formContent, formLines, readFormLine } from "../../packages/core/src/data/form-text.ts";

function formOf(properties: object, required: string[] = []): Record<string, unknown> {
  return { type: "object", properties, required };
}

test("choices are shown with their titles, in each of the forms that servers write", () => {
  const form = formOf({
    a: { type: "string", enum: ["x", "y"], enumNames: ["Ex", "y"] },
    b: { type: "string", oneOf: [{ const: "p", title: "Pe" }] },
    c: { type: "array", items: { anyOf: [{ const: "m", title: "Em" }, { const: "n" }] }, default: ["m"] },
    d: { type: "number", description: "How much" },
  });
  assert.deepEqual(formLines(form), [
    "a: one of x (Ex), y",
    "b: one of p (Pe)",
    'c: some of m (Em), n, ["m"] if left out',
    "d (How much): a number",
  ]);
});

test("values have the types of the form, or are named as a problem", () => {
  const form = formOf(
    {
      yes: { type: "boolean" },
      some: { type: "array", items: { enum: ["m", "n"] } },
      n: { type: "integer", minimum: 1, maximum: 5 },
    },
    ["yes"],
  );
  assert.deepEqual(formContent(form, { yes: "No", some: "m, n", n: "5" }), {
    content: { yes: false, some: ["m", "n"], n: 5 },
  });
  for (const [values, problem] of [
    [{}, "yes is required"],
    [{ yes: "maybe" }, "yes is yes or no"],
    [{ yes: true, some: ["m", "q"] }, "some is some of m, n"],
    [{ yes: true, some: [1] }, "some is some of m, n"],
    [{ yes: true, n: 6 }, "n is a whole number"],
    [{ yes: true, n: 1.5 }, "n is a whole number"],
    [{ yes: true, other: 1 }, 'there is no value "other"'],
  ] as const)
    assert.deepEqual(formContent(form, values), { problem });
});

test("a line is read as named values, or as the only value", () => {
  const two = formOf({ a: {}, "b.c": {} });
  assert.deepEqual(readFormLine(two, "a=1, 2; b.c = x=y"), { a: "1, 2", "b.c": "x=y" });
  assert.equal(readFormLine(two, "neither"), undefined);
  assert.equal(readFormLine(two, "other=1"), undefined);
  const one = formOf({ a: {} });
  assert.deepEqual(readFormLine(one, " plain words "), { a: "plain words" });
  assert.deepEqual(readFormLine(one, "a=b"), { a: "b" });
});

test("a form of strangers that is no form has no fields", () => {
  assert.deepEqual(formLines({ properties: null }), []);
  assert.deepEqual(formContent({ properties: { a: null }, required: "a" }, {}), { content: {} });
});
