import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { HOOK_RULES } from "../../packages/contract/src/host/hook-rules.ts";

const source = readFileSync(new URL("../../packages/contract/src/host/hooks.ts", import.meta.url), "utf8");
const map = /export interface HookMap \{\n(.*?)^\}/ms.exec(source)?.[1] ?? "";
const hooks = [...map.matchAll(/^ {2}\/\*\*(.*?)\*\/\n {2}(\w+): \{/gms)].map(
  ([, comment = "", name = ""]) => ({
    name,
    comment: comment.replaceAll(/\s*\n\s*\*?\s*/g, " ").trim(),
  }),
);

describe("each hook", () => {
  it("has a rule, and each rule a hook", () => {
    const names = [...map.matchAll(/^ {2}(\w+): \{/gm)].map(([, name = ""]) => name);
    assert.deepEqual(names.toSorted(), Object.keys(HOOK_RULES).toSorted());
    assert.equal(hooks.length, names.length);
  });

  for (const { name, comment } of hooks) {
    it(`${name}: its comment ends with the contract sentence of its rule`, () => {
      const rule = HOOK_RULES[name as keyof typeof HOOK_RULES];
      const contract = /(?:May throw|A throw or the deadline)[^]*$/.exec(comment)?.[0] ?? "";
      assert.match(contract, /\.$/, comment);
      assert.ok(contract.includes("deadline"), comment);
      assert.ok(contract.includes(`${rule.deadlineMs / 1000} s`), comment);
      assert.equal(contract.includes("blocks"), rule.onFailure === "block", comment);
    });
  }
});
