import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { meantTool } from "../../packages/core/src/data/tool-names.ts";

const OFFERED = ["probe", "read_file", "Write", "mcp__db__query"];

describe("the tool that a model means", () => {
  for (const name of [
    "functions.probe",
    "function.probe",
    "functions.probe:0",
    "functions:probe",
    "default_api.probe",
    "default_api:probe",
    "tools/probe",
    " probe ",
    "probe\n",
    '"probe"',
    "`probe`",
    "probe()",
    'probe({"k":"a"})',
    "probe<|channel|>commentary",
    "probe<|message|>",
    "Probe",
    "PROBE",
  ])
    it(`is probe for ${JSON.stringify(name)}`, () => assert.equal(meantTool(name, OFFERED), "probe"));

  it("is the one of its exact name, whatever that looks like", () => {
    for (const name of [...OFFERED, "functions.x", " x "])
      assert.equal(meantTool(name, [...OFFERED, "functions.x", " x ", "x"]), name);
  });

  it("is none for another name, for nothing, and if two could be meant", () => {
    for (const name of ["prob", "probe2", "my.probe", "read", "", " ", "functions.", "<|call|>", "()"])
      assert.equal(meantTool(name, OFFERED), undefined);
    assert.equal(meantTool("functions.Probe", ["probe", "PROBE"]), undefined);
    assert.equal(meantTool("functions.probe", ["probe", "PROBE"]), "probe");
  });
});
