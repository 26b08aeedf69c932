/** The OpenAPI 3.1 document of our API, made from the schemas that validate its requests. */
import * as z from "zod";
import type { DirectSurface } from "@pagurus/contract/model";
import { SURFACE_ROUTES, type SurfaceRoute } from "../model-api/surfaces/surface-routes.ts";
import * as answers from "@pagurus/api/answers";
import type { ApiRoute } from "./route.ts";
import { defined } from "@pagurus/core/data/defined";

function schemaOf(schema: z.ZodType, io: "input" | "output"): object {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return rest;
}

function parametersOf(object: z.ZodObject, place: "path" | "query"): object[] {
  return Object.entries(object.shape).map(([name, schema]) => {
    const { description, ...rest } = schemaOf(schema as z.ZodType, "input") as { description?: string };
    return {
      name,
      in: place,
      required: place === "path" || !(schema as z.ZodType).safeParse(undefined).success,
      ...defined({ description }),
      schema: rest,
    };
  });
}

function operationOf(route: ApiRoute): object {
  const { method, path, summary, scope, body, answer, answerType = "application/json", status } = route;
  const parameters = [...parametersOf(route.params, "path"), ...parametersOf(route.query, "query")];
  if (method === "post" && path.endsWith("/turns"))
    parameters.push({
      name: "Idempotency-Key",
      in: "header",
      required: false,
      description: "The same key with the same body is the same work, however often it is posted.",
      schema: { type: "string", maxLength: 200 },
    });
  return {
    operationId: operationId(method, path),
    summary,
    description: `Needs a token of scope \`${scope}\`.`,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: !body.safeParse(undefined).success,
            content: { "application/json": { schema: schemaOf(body, "input") } },
          },
        }),
    responses: {
      [status]: { description: summary, content: { [answerType]: { schema: schemaOf(answer, "output") } } },
      default: {
        description: "The request failed.",
        content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
      },
    },
  };
}

/** `POST /sessions/{key}/turns` is `postSessionsByKeyTurns`. */
function operationId(method: string, path: string): string {
  const words = path
    .replaceAll(/\{(\w+)\}/g, "by-$1")
    .split(/[/-]/)
    .filter(Boolean);
  return method + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}

/** Fields that the server reads; all others are the provider's. */
const SURFACE_BODY = {
  type: "object",
  required: ["model"],
  properties: {
    model: { type: "string", description: "A model that serves the surface, as provider/model." },
  },
  additionalProperties: true,
};
const BODY_TYPES = { json: "application/json", form: "multipart/form-data" } as const;
const ANSWERS: Readonly<Record<DirectSurface, string>> = {
  embeddings: "application/json",
  images: "application/json",
  speech: "audio/*",
  transcription: "application/json",
};

function surfaceOperation(path: string, { surface, bodies }: SurfaceRoute): object {
  const summary = `Passes a request for ${surface} to the model's provider`;
  return {
    operationId: operationId("post", path),
    summary,
    description: "Needs a token of scope `chat`.",
    parameters: [
      {
        name: "X-Pagurus-Session",
        in: "header",
        required: false,
        description: "The session whose cost limit counts.",
        schema: { type: "string" },
      },
    ],
    requestBody: {
      required: true,
      content: Object.fromEntries(bodies.map((kind) => [BODY_TYPES[kind], { schema: SURFACE_BODY }])),
    },
    responses: {
      200: { description: "The provider's answer.", content: { [ANSWERS[surface]]: {} } },
      default: {
        description: "The request failed, here or at the provider, in the form of OpenAI's errors.",
        content: { "application/json": {} },
      },
    },
  };
}

/** JSON value of the document. */
export function openApiDocument(routes: readonly ApiRoute[], version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const each of routes) {
    const path = `/api/v1${each.path}`;
    (paths[path] ??= {})[each.method] = operationOf(each);
  }
  for (const [after, route] of Object.entries(SURFACE_ROUTES)) {
    const path = `/v1${after}`;
    paths[path] = { post: surfaceOperation(path, route) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Pagurus",
      version,
      description: "Sessions, turns, events and permission questions of one Pagurus server.",
    },
    security: [{ token: [] }],
    paths,
    components: {
      schemas: {
        Error: schemaOf(answers.error, "output"),
        ModelFallback: schemaOf(answers.modelFallback, "output"),
      },
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
    },
  };
}
