import { testStore } from "../../src/testkit/index.ts";
import { openStore, orphanLock } from "../session/fixtures.ts";

testStore("embedded store", {
  open: ({ dir }) => openStore(dir),
  abandon: (writer) => orphanLock(writer.record.file),
});
