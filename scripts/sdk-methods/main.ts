/** `npm run sdk-methods`: calls every public method of the SDKs at a gateway, and writes the page of their outcomes. */
import { writeFileSync } from "node:fs"
import { Effect } from "effect"
import { startCalledGateway } from "./gateway.ts"
import { pageFile, pageOf } from "./page.ts"
import { makeTables } from "./table.ts"

const tables = await Effect.runPromise(
  Effect.scoped(Effect.flatMap(startCalledGateway, (gateway) => Effect.promise(() => makeTables(gateway)))),
)
writeFileSync(pageFile, pageOf(tables))
for (const { sdk, rows, ofAccount } of tables) {
  console.log(`${sdk.name}: ${rows.length} methods, and ${ofAccount.length} of the vendor's account`)
  for (const { id, route, outcome } of [...rows, ...ofAccount])
    if (outcome.kind === "missing") console.log(`  ${id} (${route}): ${outcome.why}`)
}
// A socket that a gateway refuses keeps the process alive in some SDKs.
process.exit()
