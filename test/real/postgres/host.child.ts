/** A host that is killed in a turn, after a tool call. Arguments: its folder, and the store's settings as JSON. */
import { setInterval } from "node:timers";
import type { PostgresSettings } from "../../../packages/postgres/src/settings.ts";
import { assistant, sayTurn, user } from "../../stores/files/fixtures.ts";
import { openHost } from "./hosts.ts";

const [, , folder = "", settings = ""] = process.argv;
const store = openHost(folder, JSON.parse(settings) as PostgresSettings);
const writer = store.openWriter("talk", { cwd: "/work" });
sayTurn(writer, "t1", "before");
writer.append({ type: "message", turnId: "t2", message: user("asked") });
writer.append({ type: "message", turnId: "t2", message: assistant("calling", ["call-1"]) });
// A durable step: all before it is in the database.
writer.append({ type: "rewind", targetId: writer.leafId, turnId: "t2" });
process.stdout.write("in a turn\n");
setInterval(() => undefined, 1_000);
