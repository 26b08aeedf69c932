/** The connections to PostgreSQL, which make the tables first. */
import * as real from "../../../packages/postgres/src/connections.ts";
import { createTables } from "../../../packages/postgres/src/schema/create-tables.ts";

export * from "../../../packages/postgres/src/connections.ts";

export class Database extends real.Database {
  #made: Promise<unknown> | undefined;

  #make(): Promise<unknown> {
    this.#made ??= real.withDatabase(this.target, "store_write_failed", (db) =>
      createTables(db, { schema: this.target.schema }),
    );
    return this.#made;
  }

  override async session<T>(...call: Parameters<real.Database["session"]>): Promise<T> {
    await this.#make();
    return (await super.session(...call)) as T;
  }

  override async once<R extends object>(...call: Parameters<real.Database["once"]>): Promise<R[]> {
    await this.#make();
    return super.once<R>(...call);
  }

  override async transaction<T>(...call: Parameters<real.Database["transaction"]>): Promise<T> {
    await this.#make();
    return (await super.transaction(...call)) as T;
  }
}
