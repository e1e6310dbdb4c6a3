/** Files in a folder. */
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { Effect } from "effect"
import { afterAll, expect, it } from "vitest"
import { targetOf } from "../../../src/object-storage/target.ts"
import { VendorClient } from "../../../src/upstream/client.ts"

const folder = mkdtempSync(join(tmpdir(), "weir-target-"))
afterAll(() => rmSync(folder, { recursive: true }))
const client = VendorClient.of({
  start: () => {
    throw new Error("a folder asks nobody")
  },
})
const place = { entry: { to: pathToFileURL(folder).href }, identity: undefined, network: undefined }
const target = targetOf(place, client)

it("are read up to a length, and are gone with their folder", async () => {
  await Effect.runPromise(target.put("a/b/0", Buffer.from("12345")))
  const get = (mostBytes: number) => Effect.runPromise(target.get("a/b/0", mostBytes))
  expect((await get(5))?.toString()).toBe("12345")
  expect(await get(4)).toBeUndefined()
  await Effect.runPromise(target.remove("a/b/0"))
  expect([await get(5), existsSync(join(folder, "a/b"))]).toEqual([undefined, false])
})
