/** The views of the page that look into sessions and at the host: their places, and when each is there. */
import type { Page } from "playwright-core";
import type { PageHome } from "./page-setting.ts";

export interface View {
  name: string;
  hash: string;
  ready(page: Page): Promise<void>;
}

function list(name: string): View["ready"] {
  return (page) => page.getByRole("listbox", { name }).getByRole("option").first().waitFor();
}

/** Of the session `harbour` of a filled home. */
export async function viewsOf({ client, turn }: PageHome): Promise<View[]> {
  const { requests } = await client.inspect.requests("harbour", { turn });
  const request = encodeURIComponent(requests.at(-1)?.id ?? "");
  const { items } = await client.inspect.timeline("harbour", { limit: 1_000 });
  const item = items.find((each) => each.kind === "turn" && each.turnId === turn);
  const entry = item?.kind === "turn" ? encodeURIComponent(item.inputEntryId ?? "") : "";
  const at = (rest: string): string => `#/s/main/harbour${rest}`;
  return [
    { name: "board", hash: "#/board", ready: (page) => page.getByText("Oldest open work").waitFor() },
    { name: "sessions", hash: "#/sessions", ready: list("Sessions") },
    { name: "search", hash: "#/search/berth", ready: list("Found messages") },
    { name: "time", hash: at(""), ready: (page) => page.locator(".uplot canvas").nth(1).waitFor() },
    {
      name: "turn",
      hash: at(`/e/${entry}`),
      ready: async (page) => {
        // It stays open where only the window has changed.
        if ((await page.getByRole("complementary", { name: "Inside the turn" }).count()) === 0)
          await page.getByRole("button", { name: "Look inside this turn" }).click();
        await list("Parts of the request")(page);
      },
    },
    { name: "request", hash: at(`/r/${request}`), ready: list("Parts of the request") },
    { name: "changes", hash: at(`/d/${request}`), ready: list("Changed parts") },
    { name: "compactions", hash: at("/c"), ready: list("Compactions and summaries") },
    { name: "preview", hash: at("/p"), ready: list("Parts that would be sent") },
  ];
}
