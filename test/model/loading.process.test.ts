import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

/** Packages that a program resolves, by name, in the order of first use. */
function packagesOf(program: string): string[] {
  const script = `
    import { registerHooks } from "node:module";
    const seen = new Set();
    registerHooks({ resolve(specifier, context, next) {
      const found = next(specifier, context);
      const name = /node_modules\\/((?:@[^/]+\\/)?[^/]+)\\/(?!.*node_modules)/.exec(found.url);
      if (name) seen.add(name[1]);
      return found;
    } });
    ${program}
    console.log(JSON.stringify([...seen]));`;
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", script], {
    cwd: new URL("../..", import.meta.url),
    encoding: "utf8",
  });
  return JSON.parse(output) as string[];
}

test("resolving a model, streaming and discovery load no package until a call is made", () => {
  const loaded = packagesOf(`
    const { resolveModel } = await import("./packages/core/src/model/resolve.ts");
    await import("./packages/core/src/model/model-stream.ts");
    await import("./packages/core/src/model/complete.ts");
    await import("./packages/core/src/model/discover.ts");
    resolveModel("openai/gpt-5.5", {}, { OPENAI_API_KEY: "k" });`);
  assert.deepEqual(loaded, []);
});

test("a call loads no package", () => {
  const script = `
    const { resolveModel } = await import("./packages/core/src/model/resolve.ts");
    const { modelCall } = await import("./packages/core/src/model/model-call.ts");
    const request = { system: "", messages: [], tools: [], signal: new AbortController().signal };
    await import("./packages/core/src/model/provider-stream.ts");
    const call = modelCall(resolveModel("ollama/m", {}, {}), request);
    const { api } = await call.quirks.loadProtocol();
    const { readerOf } = await import("./packages/core/src/protocols/reader-of.ts");
    await readerOf(api, { status: 200, headers: {} });`;
  assert.deepEqual(packagesOf(script), []);
});
