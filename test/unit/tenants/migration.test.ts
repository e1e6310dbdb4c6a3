/** Tenants of the catalogue that is in force when a database is upgraded become rows, and stay those of the file. */
import { readdirSync, readFileSync } from "node:fs"
import { PGlite } from "@electric-sql/pglite"
import { expect, it } from "vitest"
import { emptyDatabase } from "../../../src/store/embedded-files.ts"
import { startParameters } from "../../../src/store/embedded-parameters.ts"

const migrations = new URL("../../../migrations/", import.meta.url)
const asRows = "0020_tenants.sql"

it("become rows of the newest revision, with their documents", async () => {
  const db = await PGlite.create({ loadDataDir: emptyDatabase(), startParams: startParameters })
  const apply = async (wanted: (file: string) => boolean) => {
    for (const file of readdirSync(migrations)
      .filter((name) => name.endsWith(".sql"))
      .sort()
      .filter(wanted)) {
      await db.exec(`do $migration$ begin ${readFileSync(new URL(file, migrations), "utf8")} end $migration$`)
    }
  }
  await apply((file) => file < asRows)
  const org = { id: "o", name: "Acme", currency: "USD", models: [] }
  const user = { id: "u", email: "Ada@Example.com", org: "o", role: "owner" }
  const documents = [
    { version: 1, orgs: [{ ...org, id: "gone" }] },
    {
      version: 1,
      orgs: [org],
      users: [user],
      teams: [{ id: "t", org: "o", members: ["u"] }],
      apps: [{ id: "a", org: "o" }],
    },
  ]
  for (const document of documents) {
    await db.query("insert into catalogue_revisions (fingerprint, document) values ('f', $1)", [document])
  }
  await apply((file) => file >= asRows)
  const { rows } = await db.query(
    "select kind, id, org_id, document, is_declared, status, label from tenants order by kind",
  )
  const row = { org_id: "o", is_declared: true, status: "active" }
  expect(rows).toEqual([
    { ...row, kind: "app", id: "a", label: "a", document: { id: "a", org: "o" } },
    { ...row, kind: "org", id: "o", label: "acme", document: org },
    { ...row, kind: "team", id: "t", label: "t", document: { id: "t", org: "o", members: ["u"] } },
    { ...row, kind: "user", id: "u", label: "ada@example.com", document: user },
  ])
  await db.close()
})
