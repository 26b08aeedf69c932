import { testStore } from "../../packages/testkit/src/index.ts";
import { openStore, orphanLock } from "./files/fixtures.ts";

testStore("embedded store", {
  open: ({ dir }) => openStore(dir),
  abandon: (writer) => orphanLock(writer.record.file),
});
