/** A page as a screen reader has it: the accessibility tree of the browser, read by the protocol of its developer tools. */
import type { Page } from "playwright-core";

interface AxValue {
  value?: unknown;
}

interface AxNode {
  nodeId: string;
  parentId?: string;
  ignored: boolean;
  role?: AxValue;
  name?: AxValue;
  childIds?: string[];
  properties?: { name: string; value: AxValue }[];
}

export interface Spoken {
  role: string;
  name: string;
  /** `assertive` or `polite`; "" for what is not announced when it changes. */
  live: string;
  isFocused: boolean;
}

/** Roles of the layout and of plain text. */
const UNSPOKEN = new Set([
  "none",
  "generic",
  "InlineTextBox",
  "StaticText",
  "LineBreak",
  "paragraph",
  "RootWebArea",
]);

/** Roles of controls and of places to go to; each needs a name. A `group` needs none: each `<details>` is one. */
const NAMED = new Set([
  "button",
  "link",
  "textbox",
  "searchbox",
  "combobox",
  "checkbox",
  "radio",
  "slider",
  "listbox",
  "option",
  "menuitem",
  "tab",
  "DisclosureTriangle",
  "dialog",
  "log",
  "article",
  "complementary",
  "navigation",
  "heading",
  "image",
  "img",
]);

function wordOf(value: AxValue | undefined): string {
  return typeof value?.value === "string" ? value.value : "";
}

/** In the order of reading. */
export async function spokenOn(page: Page): Promise<Spoken[]> {
  const session = await page.context().newCDPSession(page);
  try {
    await session.send("Accessibility.enable");
    const { nodes } = (await session.send("Accessibility.getFullAXTree")) as { nodes: AxNode[] };
    const byId = new Map(nodes.map((node) => [node.nodeId, node]));
    const spoken: Spoken[] = [];
    const visit = (node: AxNode, around: string): void => {
      const role = wordOf(node.role);
      const properties = new Map(node.properties?.map(({ name, value }) => [name, value.value]));
      // The tree names it at the beginning of a region only.
      const own = properties.get("live");
      const live = typeof own === "string" ? own : around;
      if (!node.ignored && !UNSPOKEN.has(role))
        spoken.push({
          role,
          name: wordOf(node.name),
          live,
          isFocused: properties.get("focused") === true,
        });
      for (const id of node.childIds ?? []) {
        const child = byId.get(id);
        if (child) visit(child, live);
      }
    };
    for (const node of nodes) if (node.parentId === undefined) visit(node, "");
    return spoken;
  } finally {
    await session.detach();
  }
}

/** `button "Send"`. */
export function lineOf({ role, name }: Spoken): string {
  return `${role} ${JSON.stringify(name)}`;
}

/** Roles of those without a name: a screen reader says the role alone. */
export function unnamed(spoken: readonly Spoken[]): string[] {
  return spoken.filter(({ role, name }) => NAMED.has(role) && name.trim() === "").map(({ role }) => role);
}
