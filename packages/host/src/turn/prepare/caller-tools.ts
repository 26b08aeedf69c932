/** Reads the tools that a caller of `run` adds to one turn. */
import { isBundledTool } from "@pagurus/core/config/bundled";
import { PagurusError } from "@pagurus/contract/errors";
import type { CallerTools, RunRequest } from "@pagurus/contract/host/run";
import { isRecord } from "@pagurus/core/data/record-fields";
import { documentPath } from "@pagurus/core/platform/document";

type Offer = Awaited<ReturnType<CallerTools["forTurn"]>>;

/** Names that every provider accepts. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const SHAPE =
  'run({ tools }) takes a list of tools ({ name, description, parameters, execute }) or an object with "forTurn"';

function invalid(what: string): PagurusError {
  return new PagurusError("usage_invalid", `${SHAPE}; ${what}. See ${documentPath("guides/library.md")}.`);
}

/** Throws `usage_invalid` for what is no tool, before a model is called. */
function checkTool(tool: unknown, index: number): void {
  if (!isRecord(tool)) throw invalid(`tools[${index}] is no object`);
  const { name, description, parameters, execute } = tool;
  if (typeof name !== "string" || !NAME.test(name))
    throw invalid(`the name of tools[${index}] is not 1 to 64 letters, digits, "-" and "_"`);
  if (typeof description !== "string") throw invalid(`the tool ${name} has no description`);
  if (!isRecord(parameters)) throw invalid(`the parameters of the tool ${name} are no JSON Schema`);
  if (typeof execute !== "function") throw invalid(`execute of the tool ${name} is no function`);
}

/** Leaves out tools whose name one of the host's tools or an earlier one has; such a name would fail the turn. */
function withoutTaken({ tools, problems }: Offer): Offer {
  const seen = new Set<string>();
  const left: string[] = [];
  const kept = tools.filter(({ name }) => {
    const isTaken = isBundledTool(name) || seen.has(name);
    seen.add(name);
    if (isTaken) left.push(name);
    return !isTaken;
  });
  if (left.length === 0) return { tools, problems };
  const sentence = `Left out of the caller's tools, since the name is taken: ${left.join(", ")}.`;
  return { tools: kept, problems: [...problems, sentence] };
}

/** Undefined without any. Throws `usage_invalid` for tools of another shape. */
export async function offerOfCaller(
  tools: RunRequest["tools"],
  signal: AbortSignal,
): Promise<Offer | undefined> {
  if (tools === undefined || tools === null) return undefined;
  if (Array.isArray(tools)) {
    tools.forEach(checkTool);
    return withoutTaken({ tools, problems: [] });
  }
  if (typeof (tools as Partial<CallerTools>).forTurn !== "function")
    throw invalid(`these are ${typeof tools === "object" ? "an object without it" : `a ${typeof tools}`}`);
  return withoutTaken(await (tools as CallerTools).forTurn(signal));
}
