import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkSurfaces } from "../../packages/doctor/src/surfaces-check.ts";
import { makeSetting } from "../turn/setting.ts";

function findings(config: object): string[] {
  const setting = makeSetting(config);
  try {
    return checkSurfaces(setting.home, {}).map(({ level, detail }) => `${level}: ${detail}`);
  } finally {
    setting.remove();
  }
}

const PROVIDERS = {
  lab: {
    api: "openai-completions",
    baseUrl: "http://127.0.0.1:9/v1",
    models: [
      { id: "paints", surfaces: ["images"], unitCost: { image: 0.04 } },
      { id: "unpriced", surfaces: ["images"] },
    ],
  },
};

describe("the check of the models for images and sound", () => {
  it("finds nothing if each model serves its surface, or no model is configured", () => {
    const surfaces = { images: "lab/paints" };
    assert.deepEqual(findings({ models: { providers: PROVIDERS }, agents: { defaults: { surfaces } } }), []);
    assert.deepEqual(findings({}), []);
  });

  it("names a model whose cost is not known", () => {
    const surfaces = { images: "lab/unpriced" };
    const found = findings({ models: { providers: PROVIDERS }, agents: { defaults: { surfaces } } });
    assert.deepEqual(found, [
      "info: The cost of lab/unpriced, the model for images, is not known: set cost or unitCost in its entry of models.providers.lab.models.",
    ]);
  });

  it("names once a model that serves another surface, and one without a key", () => {
    const surfaces = { speech: "lab/paints", transcription: "openai/whisper-1" };
    const list = [{ id: "helper", surfaces: { images: "lab/talks" } }];
    const found = findings({
      models: { providers: PROVIDERS },
      agents: { defaults: { surfaces }, list },
    });
    assert.equal(found.length, 3);
    assert.match(found[0] ?? "", /^warn: The model "lab\/paints" serves images, not speech/);
    assert.match(found[1] ?? "", /^warn: The provider "openai" needs a key.*subscription does not serve/);
    assert.match(found[2] ?? "", /^warn: The model "lab\/talks" is not known to serve images/);
  });
});
