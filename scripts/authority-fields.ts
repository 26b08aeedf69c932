/** Fields of the API and methods of ACP without a row in the table of authority, and rows without a field: a sentence for each. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { apiRoutes } from "../packages/server/src/api/api-routes.ts";
import { openApiDocument } from "../packages/server/src/api/openapi.ts";
import { ACP_ROWS, API_ROWS, SURFACE_ROWS } from "../test/server/authority/field-rows.ts";

const TABLE = "test/server/authority/field-rows.ts";

interface Operation {
  parameters?: { name: string; in: string }[];
  /** By type. */
  requestBody?: { content: Record<string, { schema: { properties?: object } }> };
}

/** By operation, for example `POST /sessions/{key}/turns`, its fields, for example `body.cwd`. */
export function apiFields(): Map<string, string[]> {
  const { paths } = openApiDocument(apiRoutes, "") as { paths: Record<string, Record<string, Operation>> };
  return new Map(
    Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { parameters = [], requestBody }]): [string, string[]] => {
        const [content] = Object.values(requestBody?.content ?? {});
        const body = content?.schema.properties ?? {};
        return [
          `${method.toUpperCase()} ${path.replace(/^\/api\/v1/, "")}`,
          [
            ...parameters.map((each) => `${each.in}.${each.name}`),
            ...Object.keys(body).map((name) => `body.${name}`),
          ],
        ];
      }),
    ),
  );
}

export function checkAuthorityFields(root: string): string[] {
  const problems: string[] = [];
  const fields = apiFields();
  const rows = { ...API_ROWS, ...SURFACE_ROWS };
  for (const [operation, names] of fields) {
    const row = rows[operation];
    if (!row) problems.push(`${operation} has no row in ${TABLE}`);
    for (const name of row ? names : [])
      if (!Object.hasOwn(row ?? {}, name))
        problems.push(`${operation}: the field ${name} has no row in ${TABLE}`);
    for (const name of Object.keys(row ?? {}))
      if (!names.includes(name)) problems.push(`${TABLE}: ${operation} has no field ${name}`);
  }
  for (const operation of Object.keys(rows))
    if (!fields.has(operation)) problems.push(`${TABLE}: there is no operation ${operation}`);
  return [...problems, ...acpProblems(root)];
}

/** The methods that the agent registers are named in its source by the library's constants. */
function acpProblems(root: string): string[] {
  const source = readFileSync(join(root, "packages/acp-server/src/acp-agent.ts"), "utf8");
  const names = [...source.matchAll(/^\s+(?:methods\.agent|session)\.(\w+),$/gm)].map(([, name = ""]) =>
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  );
  const known = new Set(Object.keys(ACP_ROWS).map((method) => method.replace("session/", "")));
  if (names.length === 0) return ["packages/acp-server/src/acp-agent.ts: no method of ACP was found"];
  return names
    .filter((name) => !known.has(name))
    .map((name) => `the method ${name} of ACP has no row in ${TABLE}`);
}
