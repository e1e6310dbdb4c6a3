/**
 * The tables of src/docs/reference/dialects.md, from the dialects themselves: the kinds of calls that a vendor can do, how it is
 * signed in to, the parameters that it has, and the profiles.
 */
import { fileURLToPath } from "node:url"
import { profilesOf } from "../../src/catalogue/references.ts"
import { dialectOf } from "../../src/dialects/index.ts"
import { DialectName, type Vendor } from "../../src/protocol/catalogue/vendor.ts"
import { ModelKind } from "../../src/protocol/kinds/call-kind.ts"
import { batchTable } from "./batch-table.ts"
import { parameterTable } from "./parameter-table.ts"
import { profileTable } from "./profile-table.ts"

export const page = fileURLToPath(new URL("../../src/docs/reference/dialects.md", import.meta.url))

type Place = Pick<Vendor, "dialect" | "profile">

/** Profiles that are a cloud, or an address of one's own, in rows of their own; the others differ in details. */
const clouds: ReadonlyArray<NonNullable<Vendor["profile"]>> = ["azure", "vertex", "bedrock"]

const places: ReadonlyArray<Place> = DialectName.literals.flatMap(
  (dialect): ReadonlyArray<Place> => [
    { dialect },
    ...profilesOf(dialect)
      .filter((profile) => clouds.includes(profile))
      .map((profile) => ({ dialect, profile })),
  ],
)

const google = { project: "p", location: "l" }

const waysOf = ({ dialect, profile }: Place): string => {
  if (dialect === "bedrock" || profile === "bedrock") {
    return "Bedrock API key; `aws`: access keys, `credentials: default`, either with `assumeRole`"
  }
  if (profile === "vertex") return "token; `google`: service account, federation, `credentials: default`"
  if (profile === "azure") return "API key; `azure`: application, `credentials: default`"
  return "API key"
}

const rowOf = (place: Place): string => {
  const { dialect, profile } = place
  const kinds = dialectOf({ ...place, ...(profile === "vertex" && { google }) })
  const marks = ModelKind.literals.map((kind) => (kinds[kind] === undefined ? "" : "yes"))
  return `| \`${dialect}\`${profile === undefined ? "" : `, profile \`${profile}\``} | ${marks.join(" | ")} | ${waysOf(place)} |`
}

export const vendorTable = (): string =>
  [
    `| dialect | ${ModelKind.literals.join(" | ")} | signs in with |`,
    `| --- | ${ModelKind.literals.map(() => "---").join(" | ")} | --- |`,
    ...places.map(rowOf),
  ].join("\n")

const tables: ReadonlyArray<readonly [name: string, table: () => string]> = [
  ["vendors", vendorTable],
  ["batches", batchTable],
  ["parameters", parameterTable],
  ["profiles", profileTable],
]

const begin = (name: string) => `<!-- Made by npm run docs from the dialects: ${name}. -->`
const end = "<!-- End of the table. -->"

/** The page with the tables of the code. */
export const withTables = (text: string): string =>
  tables.reduce((page, [name, table]) => {
    const [before = "", rest = ""] = page.split(begin(name))
    return `${before}${begin(name)}\n\n${table()}\n\n${rest.slice(rest.indexOf(end))}`
  }, text)
