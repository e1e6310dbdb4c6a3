/** The table of vendors' APIs of batches, from the dialects. */
import { profilesOf } from "../../src/catalogue/references.ts"
import { dialectOf } from "../../src/dialects/index.ts"
import { DialectName } from "../../src/protocol/catalogue/vendor.ts"

const google = { project: "p", location: "l" }

const rows: ReadonlyArray<string> = DialectName.literals.flatMap((dialect) =>
  [undefined, ...profilesOf(dialect).filter((profile) => profile !== "openai")].flatMap((profile) => {
    const { batch } = dialectOf({
      dialect,
      ...(profile !== undefined && { profile }),
      ...(profile === "vertex" && { google }),
    })
    if (batch === undefined) return []
    const { items, bytes } = batch.bounds
    const name = `\`${dialect}\`${profile === undefined ? "" : `, profile \`${profile}\``}`
    const lines = items.toLocaleString("en")
    return [`| ${name} | ${batch.kinds.join(", ")} | ${lines} | ${(bytes / 1_000_000).toLocaleString("en")} MB |`]
  }),
)

export const batchTable = (): string =>
  ["| dialect | kinds | lines of a submission | bytes |", "| --- | --- | --- | --- |", ...rows].join("\n")
