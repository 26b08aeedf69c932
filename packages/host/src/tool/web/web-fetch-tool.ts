import { numberArgument, stringArgument } from "../arguments.ts";
import { checkUrl } from "./fetch-url.ts";
import type { HostTool } from "../host-tool.ts";

export const webFetchTool: HostTool = {
  onlyReads: true,
  name: "web_fetch",
  description: "Fetch a web page or file by http(s) GET as readable text.",
  parameters: {
    type: "object",
    properties: {
      url: { type: "string" },
      offset: { type: "integer", minimum: 0, description: "First character" },
    },
    required: ["url"],
    additionalProperties: false,
  },
  plan(params) {
    const { url, local } = checkUrl(stringArgument(params, "url") ?? "");
    const offset = numberArgument(params, "offset") ?? 0;
    return {
      access: { kind: "fetch", url, local },
      async run({ signal }) {
        const { fetchPage } = await import("./web-page.ts");
        return await fetchPage({ url, local, offset, signal });
      },
    };
  },
};
