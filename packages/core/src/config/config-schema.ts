/**
 * The configuration's schema; `config-types.ts` has the types that follow from it. The library is passed in, so that importing this
 * file costs nothing.
 */
import { createRequire } from "node:module";
import type * as zod from "zod";
import { schemaLibrary, type Zod } from "./load-schema-library.ts";
import { agentShape, compaction, contextPruning, limits, runtimePolicy, seconds } from "./agent-schema.ts";
import { AGENT_ID_PATTERN } from "./config-paths.ts";
import { connections, mcpServer } from "./connection-schema.ts";
import { key, requiredKey } from "./described-key.ts";
import { plugins } from "./plugin-schema.ts";
import type { SchemaNode } from "./schema-keys.ts";

/**
 * Identifies the schema in the marker of validated files, so that a new schema checks a file again. A test compares it with the
 * schema and prints the new value.
 */
export const SCHEMA_FINGERPRINT = "9aa1ef4e22e8dea6";

function provider(z: Zod) {
  const model = z.strictObject({
    id: requiredKey(z.string().min(1), "the model's id at the provider"),
    name: key(z.string(), "a name for people"),
    contextWindow: key(z.int().min(1), "tokens that input and output share", "catalog, else 128000"),
    maxTokens: key(z.int().min(1), "maximum output tokens of one call", "catalog, else 8192"),
    reasoning: key(z.boolean(), "whether it thinks before it answers", "catalog"),
    input: key(z.array(z.enum(["text", "image"])), "list of `text`, `image`", "catalog"),
    promptCache: key(
      z.enum(["none", "automatic", "marks"]),
      "`none`, `automatic`, `marks` (the request says what to cache)",
      "by provider",
    ),
    truncatesSilently: key(
      z.boolean(),
      "whether the server drops what exceeds its window without an error",
      "Ollama: true",
    ),
    cost: key(
      z.strictObject({
        input: z.number().min(0),
        output: z.number().min(0),
        cacheRead: z.number().min(0).optional(),
        cacheWrite: z.number().min(0).optional(),
      }),
      "`{input, output, cacheRead, cacheWrite}`, US dollars for a million tokens",
      "catalog",
    ),
    surfaces: key(
      z.array(z.enum(["embeddings", "images", "speech", "transcription"])),
      "list of `embeddings`, `images`, `speech`, `transcription`: the [surfaces](guides/surfaces.md) that the model serves instead of conversations",
      "OpenAI's own models: catalog",
    ),
    unitCost: key(
      z.strictObject({
        request: z.number().min(0).optional(),
        image: z.number().min(0).optional(),
        minute: z.number().min(0).optional(),
        millionCharacters: z.number().min(0).optional(),
      }),
      "`{request, image, minute, millionCharacters}`, US dollars: prices of its surfaces where `cost` has none",
      "none",
    ),
    agentRuntime: key(
      runtimePolicy(z),
      "`{id, agentId, fallback}` for this model, for all agents",
      "the provider's",
    ),
  });
  return z.strictObject({
    api: key(
      z.enum(["openai-responses", "openai-completions", "anthropic-messages", "google-generative-ai"]),
      "`openai-responses`, `openai-completions`, `anthropic-messages`, `google-generative-ai`",
      "the known provider's",
    ),
    baseUrl: key(z.url({ protocol: /^https?$/ }), "http or https address", "the known provider's"),
    apiKey: key(
      z.union([z.string(), z.strictObject({ file: z.string().min(1) })]),
      "a key, `${VARIABLE}`, or `{file: path}`",
      "the provider's variable",
    ),
    headers: key(z.record(z.string(), z.string()), "further request headers; `${VARIABLE}` works"),
    cacheDiagnostics: key(
      z.boolean(),
      "whether requests ask the provider why its prompt cache missed; `pagurus context show` prints the answer",
      "`true` at the addresses of Anthropic and OpenAI",
    ),
    models: key(z.array(model), "model metadata, see below", "the catalog"),
    agentRuntime: key(runtimePolicy(z), "`{id, agentId, fallback}` for all models of the provider", "`auto`"),
  });
}

function agents(z: Zod) {
  return z.strictObject({
    defaults: z
      .strictObject({
        ...agentShape(z),
        compaction: key(compaction(z), "see below"),
        toolResultMaxChars: key(
          z.int().min(1),
          "characters of one tool result that are sent to the model; the transcript keeps all",
          "48000; for a window below 48,000 tokens as many characters as the window has tokens",
        ),
        contextPruning: key(contextPruning(z), "see below"),
        engineDeadlines: key(
          z.strictObject({
            factory: seconds(z).optional(),
            bootstrap: seconds(z).optional(),
            assemble: seconds(z).optional(),
            compact: seconds(z).optional(),
            settle: seconds(z).optional(),
            maintain: seconds(z).optional(),
            dispose: seconds(z).optional(),
          }),
          "timeout of an engine at each stage, seconds: `{factory, bootstrap, assemble, compact, settle, maintain, dispose}`",
          "30, 60, 15, 180, 30, 60, 10",
        ),
        ...limits(z),
      })
      .optional(),
    list: z
      .array(
        z.strictObject({
          id: requiredKey(z.string().regex(AGENT_ID_PATTERN), "1 to 64 letters, digits, `-`, `_`"),
          ...agentShape(z),
        }),
      )
      .optional(),
  });
}

function buildSchema(z: Zod) {
  return z.strictObject({
    agents: agents(z).optional(),
    models: z.strictObject({ providers: z.record(z.string(), provider(z)).optional() }).optional(),
    plugins: plugins(z).optional(),
    memory: z
      .strictObject({
        citations: key(
          z.enum(["auto", "on", "off"]),
          "whether the agent names the file and line of what it remembers: `auto`, `on`, `off`",
          "`auto`",
        ),
      })
      .optional(),
    mcp: z.strictObject({ servers: z.record(z.string().min(1), mcpServer(z)).optional() }).optional(),
    skills: z
      .strictObject({
        paths: key(
          z.array(z.string().min(1)),
          "further folders of skills, or of one skill; relative ones start at `~/.pagurus`",
        ),
        entries: z
          .record(
            z.string(),
            z.strictObject({ enabled: key(z.boolean(), "whether the skill is used", "`true`") }),
          )
          .optional(),
      })
      .optional(),
    ...connections(z),
    session: z
      .strictObject({
        scope: key(
          z.enum(["folder", "main", "per-sender", "global"]),
          "default conversation of a command: `folder` is that of the workspace, `main` is one conversation, `main`, for all folders",
          "`folder`",
        ),
      })
      .optional(),
    chat: z
      .strictObject({
        plain: key(
          z.boolean(),
          "whether `pagurus chat` prints lines and moves no cursor, as with `--plain`, for example for a screen reader",
          "`false`",
        ),
      })
      .optional(),
    logging: z
      .strictObject({
        level: key(
          z.enum(["debug", "info", "warn", "error", "silent"]),
          "`debug`, `info`, `warn`, `error`, `silent`; the log is `~/.pagurus/logs/pagurus.log` and never holds prompts, contents or keys",
          "`info`",
        ),
      })
      .optional(),
  });
}

let built: ReturnType<typeof buildSchema> | undefined;

/** The schema, ready to parse with. Loads the schema library, once. Keys it does not know are issues. */
export function configSchema(): ReturnType<typeof buildSchema> {
  return (built ??= buildSchema(schemaLibrary()));
}

/** JSON Schema (draft 2020-12) of the configuration file, for editors and `pagurus config schema`. */
export function configJsonSchema(): Record<string, unknown> {
  return {
    title: "Pagurus configuration",
    ...describedSchema((node) => {
      // Unknown keys only cause a warning: an editor must not mark them as errors either.
      if (node["additionalProperties"] === false) delete node["additionalProperties"];
      const { description, fallback } = node as { description?: string; fallback?: string };
      if (description !== undefined && fallback !== undefined)
        node["description"] = `${description} (default: ${fallback})`;
      delete node["fallback"];
    }),
  };
}

/** The schema as JSON Schema whose nodes have the meaning of a key as `description` and its default, in words, as `fallback`. */
export function describedSchema(override?: (node: SchemaNode) => void): SchemaNode {
  const z = createRequire(import.meta.url)("zod") as typeof zod;
  return z.toJSONSchema(buildSchema(z), {
    io: "input",
    ...(override && { override: ({ jsonSchema }) => override(jsonSchema as SchemaNode) }),
  });
}
